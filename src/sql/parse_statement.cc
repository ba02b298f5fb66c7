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

// --- CREATE ---

Status Parser::Create(ast::Statement* out) {
  Take();
  const Position at = Peek().at;
  if (PeekWords({"OR", "REPLACE"})) return NotCovered(at, "CREATE OR REPLACE");
  const bool temporary = AcceptWord("TEMPORARY");
  if (AcceptWord("VIEW")) return CreateView(out, temporary);
  if (PeekWord("FUNCTION") || PeekWords({"SYSTEM", "FUNCTION"}))
    return NotCovered(at, "CREATE FUNCTION");
  if (PeekWord("MATERIALIZED")) return NotCovered(at, "CREATE MATERIALIZED TABLE");
  if (PeekWord("MODEL")) return NotCovered(at, "CREATE MODEL");
  if (temporary) return NotCovered(at, "CREATE TEMPORARY other than VIEW");
  if (AcceptWord("TABLE")) return CreateTable(out);
  if (AcceptWord("DATABASE")) return CreateDatabase(out);
  if (AcceptWord("CATALOG")) return CreateCatalog(out);
  return Unexpected("TABLE, VIEW, DATABASE or CATALOG");
}

Status Parser::CreateTable(ast::Statement* out) {
  ast::CreateTable table;
  ASSIGN_OR_RAISE(table.if_not_exists, IfExists(/*negated=*/true));
  ASSIGN_OR_RAISE(table.name, ObjectName("a table name"));
  if (AcceptSymbol("(")) RETURN_NOT_OK(TableElements(&table));
  RETURN_NOT_OK(TableTail(&table));
  out->node = std::move(table);
  return Status::OK();
}

Status Parser::TableElements(ast::CreateTable* table) {
  do {
    const Position at = Peek().at;
    if (PeekWord("WATERMARK") && PeekWord("FOR", 1)) return NotCovered(at, "WATERMARK");
    if (AcceptWord("CONSTRAINT")) RETURN_NOT_OK(Identifier("a constraint name").status());
    if (PeekWords({"PRIMARY", "KEY"})) {
      Take();
      Take();
      ASSIGN_OR_RAISE(std::vector<ast::Name> columns, NameList("a column name"));
      RETURN_NOT_OK(PrimaryKey(table, std::move(columns), at));
      continue;
    }
    if (PeekWord("UNIQUE") && PeekSymbol("(", 1)) return NotCovered(at, "UNIQUE");
    ASSIGN_OR_RAISE(ast::ColumnDefinition column, Column(table));
    table->columns.push_back(std::move(column));
  } while (AcceptSymbol(","));
  return ExpectSymbol(")");
}

Result<ast::ColumnDefinition> Parser::Column(ast::CreateTable* table) {
  ast::ColumnDefinition column{.at = Peek().at};
  ASSIGN_OR_RAISE(column.name, Identifier("a column name"));
  if (PeekWord("AS")) return NotCovered(Peek().at, "computed column");
  ASSIGN_OR_RAISE(column.type, Type());
  while (true) {
    const Position at = Peek().at;
    if (PeekWord("METADATA")) return NotCovered(at, "METADATA column");
    if (PeekWord("DEFAULT")) return NotCovered(at, "DEFAULT");
    if (table != nullptr && PeekWords({"PRIMARY", "KEY"})) {
      Take();
      Take();
      RETURN_NOT_OK(PrimaryKey(table, {column.name}, at));
    } else if (AcceptWord("COMMENT")) {
      ASSIGN_OR_RAISE(column.comment, StringLiteral("a 'comment'"));
    } else {
      return column;
    }
  }
}

Status Parser::PrimaryKey(ast::CreateTable* table, std::vector<ast::Name> columns, Position at) {
  if (!table->primary_key.empty()) return InvalidAt(at, "table has a second primary key");
  if (!AcceptWords({"NOT", "ENFORCED"})) {
    return InvalidAt(Peek().at, "primary key needs NOT ENFORCED");
  }
  table->primary_key = std::move(columns);
  table->primary_key_at = at;
  return Status::OK();
}

Status Parser::TableTail(ast::CreateTable* table) {
  while (true) {
    const Position at = Peek().at;
    if (AcceptWord("COMMENT")) {
      ASSIGN_OR_RAISE(table->comment, StringLiteral("a 'comment'"));
    } else if (AcceptWords({"PARTITIONED", "BY"})) {
      ASSIGN_OR_RAISE(table->partitioned_by, NameList("a column name"));
    } else if (AcceptWord("DISTRIBUTED")) {
      if (AcceptWord("BY")) {
        if (!AcceptWord("HASH") && PeekWord("RANGE"))
          return NotCovered(Peek().at, "DISTRIBUTED BY RANGE");
        ASSIGN_OR_RAISE(table->distributed_by, NameList("a column name"));
      }
      if (AcceptWord("INTO")) {
        ASSIGN_OR_RAISE(table->buckets, IntegerLiteral("a number of buckets"));
        RETURN_NOT_OK(ExpectWord("BUCKETS"));
      }
    } else if (AcceptWord("WITH")) {
      ASSIGN_OR_RAISE(table->options, OptionList());
    } else if (AcceptWord("LIKE")) {
      ASSIGN_OR_RAISE(ast::ObjectName like, ObjectName("a table"));
      table->like = std::move(like);
      if (PeekSymbol("(")) return NotCovered(Peek().at, "LIKE with options");
    } else if (AcceptWord("AS")) {
      ASSIGN_OR_RAISE(table->as, Query());
      return Status::OK();
    } else {
      if (table->columns.empty() && !table->like) return InvalidAt(at, "table has no columns");
      return Status::OK();
    }
  }
}

Status Parser::CreateDatabase(ast::Statement* out) {
  ast::CreateDatabase database;
  ASSIGN_OR_RAISE(database.if_not_exists, IfExists(true));
  ASSIGN_OR_RAISE(database.name, ObjectName("a database name"));
  if (AcceptWord("COMMENT")) {
    ASSIGN_OR_RAISE(database.comment, StringLiteral("a 'comment'"));
  }
  if (AcceptWord("WITH")) {
    ASSIGN_OR_RAISE(database.options, OptionList());
  }
  out->node = std::move(database);
  return Status::OK();
}

Status Parser::CreateCatalog(ast::Statement* out) {
  ast::CreateCatalog catalog{.at = Peek().at};
  ASSIGN_OR_RAISE(catalog.if_not_exists, IfExists(true));
  ASSIGN_OR_RAISE(catalog.name, Identifier("a catalog name"));
  if (AcceptWord("COMMENT")) RETURN_NOT_OK(StringLiteral("a 'comment'").status());
  if (AcceptWord("WITH")) {
    ASSIGN_OR_RAISE(catalog.options, OptionList());
  }
  out->node = std::move(catalog);
  return Status::OK();
}

Status Parser::CreateView(ast::Statement* out, bool temporary) {
  ast::CreateView view;
  view.temporary = temporary;
  ASSIGN_OR_RAISE(view.if_not_exists, IfExists(true));
  ASSIGN_OR_RAISE(view.name, ObjectName("a view name"));
  if (PeekSymbol("(")) {
    ASSIGN_OR_RAISE(view.columns, NameList("a column name"));
  }
  if (AcceptWord("COMMENT")) {
    ASSIGN_OR_RAISE(view.comment, StringLiteral("a 'comment'"));
  }
  RETURN_NOT_OK(ExpectWord("AS"));
  view.query_begin = Peek().begin;
  ASSIGN_OR_RAISE(view.query, Query());
  view.query_end = tokens_[next_ - 1].end;
  out->node = std::move(view);
  return Status::OK();
}

// --- DROP, USE, ALTER ---

Status Parser::Drop(ast::Statement* out) {
  Take();
  ast::Drop drop;
  const bool temporary = AcceptWord("TEMPORARY");
  if (AcceptWord("CATALOG")) {
    drop.what = ast::Drop::What::kCatalog;
  } else if (AcceptWord("DATABASE")) {
    drop.what = ast::Drop::What::kDatabase;
  } else if (AcceptWord("VIEW")) {
    drop.what = ast::Drop::What::kView;
  } else if (!temporary && AcceptWord("TABLE")) {
    drop.what = ast::Drop::What::kTable;
  } else if (PeekWord("FUNCTION") || PeekWord("MATERIALIZED")) {
    return NotCovered(Peek().at, "DROP " + Peek().upper);
  } else {
    return Unexpected("TABLE, VIEW, DATABASE or CATALOG");
  }
  ASSIGN_OR_RAISE(drop.if_exists, IfExists(false));
  ASSIGN_OR_RAISE(drop.name, ObjectName("a name"));
  drop.cascade = AcceptWord("CASCADE");
  if (!drop.cascade) AcceptWord("RESTRICT");
  out->node = std::move(drop);
  return Status::OK();
}

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

Status Parser::Alter(ast::Statement* out) {
  Take();
  if (!PeekWord("TABLE")) return NotCovered(Peek().at, "ALTER other than ALTER TABLE");
  Take();
  ast::AlterTable alter;
  ASSIGN_OR_RAISE(alter.if_exists, IfExists(false));
  ASSIGN_OR_RAISE(alter.name, ObjectName("a table"));
  RETURN_NOT_OK(AlterTableAction(&alter));
  out->node = std::move(alter);
  return Status::OK();
}

Status Parser::AlterTableAction(ast::AlterTable* alter) {
  const Position at = Peek().at;
  if (AcceptWord("SET")) {
    ASSIGN_OR_RAISE(alter->set, OptionList());
    return Status::OK();
  }
  if (AcceptWord("RESET")) {
    RETURN_NOT_OK(ExpectSymbol("("));
    do {
      ASSIGN_OR_RAISE(std::string key, StringLiteral("an option 'key'"));
      alter->reset.push_back(std::move(key));
    } while (AcceptSymbol(","));
    return ExpectSymbol(")");
  }
  if (AcceptWord("ADD")) return AlterAdd(alter);
  if (AcceptWord("DROP")) return AlterDrop(alter);
  if (AcceptWord("RENAME")) {
    if (PeekWord("TO")) return NotCovered(at, "ALTER TABLE RENAME TO");
    AcceptWord("COLUMN");
    ASSIGN_OR_RAISE(std::string from, Identifier("a column name"));
    RETURN_NOT_OK(ExpectWord("TO"));
    ASSIGN_OR_RAISE(std::string to, Identifier("a column name"));
    alter->rename.emplace_back(std::move(from), std::move(to));
    return Status::OK();
  }
  if (PeekWord("MODIFY")) return NotCovered(at, "ALTER TABLE MODIFY");
  return Unexpected("SET, RESET, ADD, DROP or RENAME");
}

Status Parser::AlterAdd(ast::AlterTable* alter) {
  ASSIGN_OR_RAISE(alter->partition_condition, IfExists(true));
  if (AcceptWord("PARTITION")) {
    ASSIGN_OR_RAISE(alter->add_partition, Partition());
    return Status::OK();
  }
  for (const std::string_view other : {"CONSTRAINT", "PRIMARY", "WATERMARK", "DISTRIBUTION"}) {
    if (PeekWord(other)) return NotCovered(Peek().at, "ALTER TABLE ADD " + std::string(other));
  }
  AcceptWord("COLUMN");
  const bool several = AcceptSymbol("(");
  do {
    ASSIGN_OR_RAISE(ast::ColumnDefinition column, Column(nullptr));
    if (PeekWord("FIRST") || PeekWord("AFTER"))
      return NotCovered(Peek().at, "placing a new column other than last");
    alter->add.push_back(std::move(column));
  } while (several && AcceptSymbol(","));
  return several ? ExpectSymbol(")") : Status::OK();
}

Status Parser::AlterDrop(ast::AlterTable* alter) {
  ASSIGN_OR_RAISE(alter->partition_condition, IfExists(false));
  if (AcceptWord("PARTITION")) {
    ASSIGN_OR_RAISE(alter->drop_partition, Partition());
    return Status::OK();
  }
  for (const std::string_view other : {"CONSTRAINT", "PRIMARY", "WATERMARK", "DISTRIBUTION"}) {
    if (PeekWord(other)) return NotCovered(Peek().at, "ALTER TABLE DROP " + std::string(other));
  }
  AcceptWord("COLUMN");
  if (PeekSymbol("(")) {
    ASSIGN_OR_RAISE(alter->drop, NameList("a column name"));
    return Status::OK();
  }
  ASSIGN_OR_RAISE(std::string name, Identifier("a column name"));
  alter->drop.push_back(std::move(name));
  return Status::OK();
}

Result<ast::PartitionSpec> Parser::Partition() {
  ast::PartitionSpec spec;
  RETURN_NOT_OK(ExpectSymbol("("));
  do {
    ASSIGN_OR_RAISE(std::string name, Identifier("a partition column"));
    RETURN_NOT_OK(ExpectSymbol("="));
    if (Peek().kind != TokenKind::kString && Peek().kind != TokenKind::kInteger)
      return Unexpected("a 'value'");
    spec.values.emplace_back(std::move(name), Take().text);
  } while (AcceptSymbol(","));
  RETURN_NOT_OK(ExpectSymbol(")"));
  return spec;
}

// --- SHOW, EXPLAIN, SET ---

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
  } else if (AcceptWord("JOBS")) {
    show.what = What::kJobs;
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
  } else if (AcceptWord("COLUMNS")) {
    show.what = What::kColumns;
    if (!AcceptWord("FROM")) RETURN_NOT_OK(ExpectWord("IN"));
    ASSIGN_OR_RAISE(show.name, ObjectName("a table"));
  } else {
    return NotCovered(at, "SHOW " + Peek().text);
  }
  if ((show.what == What::kTables || show.what == What::kViews || show.what == What::kDatabases) &&
      (AcceptWord("FROM") || AcceptWord("IN"))) {
    ASSIGN_OR_RAISE(show.name, ObjectName("a name"));
  }
  show.not_like = PeekWord("NOT") && PeekWord("LIKE", 1) && AcceptWord("NOT");
  if (PeekWord("ILIKE")) return NotCovered(Peek().at, "ILIKE");
  if (AcceptWord("LIKE")) {
    show.has_like = true;
    ASSIGN_OR_RAISE(show.like, StringLiteral("a 'pattern'"));
  }
  if (PeekWord("PARTITION")) return NotCovered(Peek().at, "SHOW PARTITIONS with a partition");
  out->node = std::move(show);
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
