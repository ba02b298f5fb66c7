#include "sql/parser_internal.h"

namespace sluice::sql {

Result<ast::Statement> Parser::Statement() {
  const Position at = Peek().at;
  ASSIGN_OR_RAISE(ast::Statement statement, StatementNode());
  statement.at = at;
  return statement;
}

Result<ast::Statement> Parser::StatementNode() {
  ast::Statement out;
  const Token token = Peek();
  if (token.kind == TokenKind::kEnd || PeekSymbol(";")) return out;
  if (StartsQuery()) {
    ASSIGN_OR_RAISE(ast::QueryPtr query, Query());
    out.node = std::move(query);
    return out;
  }
  if (token.kind != TokenKind::kWord) return Unexpected("a statement");
  const std::string& word = token.upper;
  Status done;
  if (word == "INSERT") {
    ASSIGN_OR_RAISE(ast::Insert insert, Insert());
    out.node = std::move(insert);
    return out;
  }
  if (word == "CREATE") {
    done = Create(&out);
  } else if (word == "DROP") {
    done = Drop(&out);
  } else if (word == "USE") {
    done = Use(&out);
  } else if (word == "ALTER") {
    done = Alter(&out);
  } else if (word == "SHOW") {
    done = Show(&out);
  } else if (word == "DESCRIBE" || word == "DESC") {
    Take();
    AcceptWord("TABLE");
    AcceptWord("EXTENDED");
    ASSIGN_OR_RAISE(ast::ObjectName name, ObjectName("a table"));
    out.node = ast::Describe{std::move(name)};
  } else if (word == "DELETE") {
    done = Delete(&out);
  } else if (word == "UPDATE") {
    done = Update(&out);
  } else if (word == "SET" || word == "RESET") {
    done = SetOrReset(&out, word == "RESET");
  } else if (word == "EXPLAIN") {
    done = Explain(&out);
  } else if (word == "EXECUTE" || word == "BEGIN" || word == "TRUNCATE" || word == "ANALYZE" ||
             word == "LOAD" || word == "UNLOAD" || word == "CALL" || word == "COMPILE" ||
             word == "ADD" || word == "REMOVE" || word == "STOP" || word == "MERGE") {
    return NotCovered(token.at, "statement " + word);
  } else {
    return Unexpected("a statement");
  }
  RETURN_NOT_OK(done);
  return out;
}

Result<bool> Parser::IfExists(bool negated) {
  if (!PeekWord("IF")) return false;
  Take();
  if (negated) RETURN_NOT_OK(ExpectWord("NOT"));
  RETURN_NOT_OK(ExpectWord("EXISTS"));
  return true;
}

// --- USE, SHOW, EXPLAIN, SET ---

Status Parser::Use(ast::Statement* out) {
  Take();
  if (PeekWord("MODULES")) return NotCovered(Peek().at, "USE MODULES");
  ast::Use use;
  if (PeekWord("CATALOG") && PeekIdentifier(1)) {
    Take();
    use.catalog = true;
  }
  ASSIGN_OR_RAISE(use.name, ObjectName("a name"));
  out->node = std::move(use);
  return Status::OK();
}

Status Parser::Show(ast::Statement* out) {
  using What = ast::Show::What;
  Take();
  ast::Show show{.at = Peek().at};
  const Position at = Peek().at;
  if (AcceptWord("CATALOGS")) {
    show.what = What::kCatalogs;
  } else if (AcceptWord("DATABASES")) {
    show.what = What::kDatabases;
  } else if (AcceptWord("TABLES")) {
    show.what = What::kTables;
  } else if (AcceptWord("VIEWS")) {
    show.what = What::kViews;
  } else if (AcceptWords({"CURRENT", "CATALOG"})) {
    show.what = What::kCurrentCatalog;
  } else if (AcceptWords({"CURRENT", "DATABASE"})) {
    show.what = What::kCurrentDatabase;
  } else if (PeekWords({"CREATE", "TABLE"}) || PeekWords({"CREATE", "VIEW"})) {
    Take();
    show.what = Take().upper == "TABLE" ? What::kCreateTable : What::kCreateView;
    ASSIGN_OR_RAISE(show.name, ObjectName("a name"));
  } else if (AcceptWord("PARTITIONS")) {
    show.what = What::kPartitions;
    ASSIGN_OR_RAISE(show.name, ObjectName("a table"));
    if (AcceptWord("PARTITION")) {
      ASSIGN_OR_RAISE(show.partition, Partition());
    }
  } else if (AcceptWord("COLUMNS")) {
    show.what = What::kColumns;
    if (!AcceptWord("FROM")) RETURN_NOT_OK(ExpectWord("IN"));
    ASSIGN_OR_RAISE(show.name, ObjectName("a table"));
  } else {
    return NotCovered(at, "SHOW " + Peek().text);
  }
  RETURN_NOT_OK(ShowWhich(&show));
  out->node = std::move(show);
  return Status::OK();
}

// FROM … LIKE …, of a SHOW that gives a list.
Status Parser::ShowWhich(ast::Show* show) {
  using What = ast::Show::What;
  const bool in_other =
      show->what == What::kTables || show->what == What::kViews || show->what == What::kDatabases;
  if (in_other && (AcceptWord("FROM") || AcceptWord("IN"))) {
    ASSIGN_OR_RAISE(show->name, ObjectName("a name"));
  }
  if (!in_other && show->what != What::kCatalogs && show->what != What::kColumns)
    return Status::OK();
  show->not_like = PeekWord("NOT") && PeekWord("LIKE", 1) && AcceptWord("NOT");
  const size_t ilike = PeekWord("NOT") ? 1 : 0;
  if (PeekWord("ILIKE", ilike)) return NotCovered(Peek(ilike).at, "ILIKE");
  if (AcceptWord("LIKE")) {
    show->has_like = true;
    ASSIGN_OR_RAISE(show->like, StringLiteral("a 'pattern'"));
  }
  return Status::OK();
}

Status Parser::Explain(ast::Statement* out) {
  Take();
  AcceptWords({"PLAN", "FOR"});
  while (PeekWord("ESTIMATED_COST") || PeekWord("CHANGELOG_MODE") ||
         PeekWord("JSON_EXECUTION_PLAN") || PeekWord("PLAN_ADVICE")) {
    return NotCovered(Peek().at, "EXPLAIN " + Peek().upper);
  }
  RETURN_NOT_OK(CheckDepth());
  const Depth depth(*this);
  ASSIGN_OR_RAISE(ast::Statement inner, Statement());
  out->node = ast::Explain{std::make_shared<ast::Statement>(std::move(inner))};
  return Status::OK();
}

// SET 'key' = 'value', SET key = value, SET; RESET 'key', RESET.
Status Parser::SetOrReset(ast::Statement* out, bool reset) {
  ast::Set set{.reset = reset, .at = Take().at};
  const auto word = [this](std::string* text) -> Status {
    if (Peek().kind == TokenKind::kString) {
      *text = Take().text;
      return Status::OK();
    }
    const size_t begin = Peek().begin;
    size_t end = begin;
    while (Peek().kind != TokenKind::kEnd && !PeekSymbol(";") && !PeekSymbol("=")) end = Take().end;
    if (end == begin) return Unexpected("a 'text'");
    *text = std::string(text_.substr(begin, end - begin));
    return Status::OK();
  };
  if (Peek().kind != TokenKind::kEnd && !PeekSymbol(";")) {
    set.at = Peek().at;
    RETURN_NOT_OK(word(&set.key));
    if (!reset) {
      RETURN_NOT_OK(ExpectSymbol("="));
      RETURN_NOT_OK(word(&set.value));
    }
  }
  out->node = std::move(set);
  return Status::OK();
}

// --- INSERT, DELETE, UPDATE ---

Result<ast::Insert> Parser::Insert() {
  Take();
  ast::Insert insert;
  insert.overwrite = AcceptWord("OVERWRITE");
  if (!insert.overwrite) {
    RETURN_NOT_OK(ExpectWord("INTO"));
  }
  AcceptWord("TABLE");
  ASSIGN_OR_RAISE(insert.name, ObjectName("a table"));
  RETURN_NOT_OK(RefuseHint("on the target of INSERT"));
  if (PeekWord("PARTITION")) return NotCovered(Peek().at, "INSERT with PARTITION");
  if (PeekSymbol("(") && !StartsQuery()) {
    Take();
    do {
      insert.column_positions.push_back(Peek().at);
      ASSIGN_OR_RAISE(std::string column, Identifier("a column name"));
      insert.columns.push_back(std::move(column));
    } while (AcceptSymbol(","));
    RETURN_NOT_OK(ExpectSymbol(")"));
  }
  if (PeekWord("ON")) return NotCovered(Peek().at, "INSERT ON CONFLICT");
  ASSIGN_OR_RAISE(insert.query, Query());
  return insert;
}

Status Parser::Delete(ast::Statement* out) {
  Take();
  RETURN_NOT_OK(ExpectWord("FROM"));
  ast::Delete statement;
  ASSIGN_OR_RAISE(statement.name, ObjectName("a table"));
  RETURN_NOT_OK(RefuseHint("on the target of DELETE"));
  if (AcceptWord("WHERE")) {
    ASSIGN_OR_RAISE(statement.where, Expression());
  }
  out->node = std::move(statement);
  return Status::OK();
}

Status Parser::Update(ast::Statement* out) {
  Take();
  ast::Update update;
  ASSIGN_OR_RAISE(update.name, ObjectName("a table"));
  RETURN_NOT_OK(RefuseHint("on the target of UPDATE"));
  RETURN_NOT_OK(ExpectWord("SET"));
  do {
    ASSIGN_OR_RAISE(std::string column, Identifier("a column name"));
    RETURN_NOT_OK(ExpectSymbol("="));
    ASSIGN_OR_RAISE(ast::ExprPtr value, Expression());
    update.set.emplace_back(std::move(column), std::move(value));
  } while (AcceptSymbol(","));
  if (AcceptWord("WHERE")) {
    ASSIGN_OR_RAISE(update.where, Expression());
  }
  out->node = std::move(update);
  return Status::OK();
}

}  // namespace sluice::sql
