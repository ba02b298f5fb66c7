#include "sql/parser_internal.h"

namespace sluice::sql {

using ast::Relation;
using RelationPtr = std::unique_ptr<ast::Relation>;

namespace {

RelationPtr MakeRelation(Relation::Kind kind, Position at) {
  auto relation = std::make_unique<Relation>();
  relation->kind = kind;
  relation->at = at;
  return relation;
}

}  // namespace

Result<RelationPtr> Parser::FromClause() {
  const Subtree subtree(*this);
  ASSIGN_OR_RAISE(RelationPtr left, JoinedRelation());
  size_t joins = 0;
  while (PeekSymbol(",")) {
    RelationPtr join = MakeRelation(Relation::Kind::kJoin, Take().at);
    join->join = ast::JoinKind::kCross;
    join->left = std::move(left);
    ASSIGN_OR_RAISE(join->right, JoinedRelation());
    RETURN_NOT_OK(Raise());
    if (++joins >= kJoinsMax)
      return InvalidAt(join->at, "FROM has too many tables, limit=", kJoinsMax);
    left = std::move(join);
  }
  return left;
}

Result<RelationPtr> Parser::JoinedRelation() {
  const Subtree subtree(*this);
  ASSIGN_OR_RAISE(RelationPtr left, PrimaryRelation());
  size_t joins = 0;
  while (true) {
    RelationPtr join = MakeRelation(Relation::Kind::kJoin, Peek().at);
    ASSIGN_OR_RAISE(const bool found, JoinType(join.get()));
    if (!found) return left;
    join->left = std::move(left);
    ASSIGN_OR_RAISE(join->right, PrimaryRelation());
    RETURN_NOT_OK(JoinCondition(join.get()));
    RETURN_NOT_OK(Raise());
    if (++joins >= kJoinsMax)
      return InvalidAt(join->at, "FROM has too many tables, limit=", kJoinsMax);
    left = std::move(join);
  }
}

// The words up to JOIN; false when no join follows.
Result<bool> Parser::JoinType(Relation* join) {
  join->natural = AcceptWord("NATURAL");
  if (AcceptWord("CROSS")) {
    join->join = ast::JoinKind::kCross;
  } else if (AcceptWord("INNER")) {
    join->join = ast::JoinKind::kInner;
  } else if (PeekWord("LEFT") || PeekWord("RIGHT") || PeekWord("FULL")) {
    const std::string side = Take().upper;
    join->join = side == "LEFT"    ? ast::JoinKind::kLeft
                 : side == "RIGHT" ? ast::JoinKind::kRight
                                   : ast::JoinKind::kFull;
    if (side == "LEFT" && AcceptWord("SEMI")) {
      join->join = ast::JoinKind::kSemi;
    } else if (side == "LEFT" && AcceptWord("ANTI")) {
      join->join = ast::JoinKind::kAnti;
    } else {
      AcceptWord("OUTER");
    }
  } else if (!PeekWord("JOIN")) {
    return join->natural ? Result<bool>(Unexpected("JOIN")) : false;
  }
  RETURN_NOT_OK(ExpectWord("JOIN"));
  return true;
}

Status Parser::JoinCondition(Relation* join) {
  if (join->join == ast::JoinKind::kCross || join->natural) return Status::OK();
  if (AcceptWord("USING")) {
    ASSIGN_OR_RAISE(join->using_columns, NameList("a column name"));
    return Status::OK();
  }
  RETURN_NOT_OK(ExpectWord("ON"));
  ASSIGN_OR_RAISE(join->on, Expression());
  return Status::OK();
}

Result<RelationPtr> Parser::PrimaryRelation() {
  RETURN_NOT_OK(CheckDepth());
  const Depth depth(*this);
  const Position at = Peek().at;
  RelationPtr relation;
  if (PeekWord("LATERAL")) {
    if (PeekWord("TABLE", 1)) return NotCovered(at, "LATERAL TABLE");
    Take();
  }
  if (PeekSymbol("(")) {
    if (StartsQuery()) {
      // ((SELECT …) UNION (SELECT …)) as well as (SELECT …).
      Take();
      relation = MakeRelation(Relation::Kind::kSubquery, at);
      ASSIGN_OR_RAISE(relation->query, Query());
    } else {
      Take();
      ASSIGN_OR_RAISE(relation, FromClause());
    }
    RETURN_NOT_OK(ExpectSymbol(")"));
  } else if (PeekWord("VALUES")) {
    relation = MakeRelation(Relation::Kind::kSubquery, at);
    relation->query = std::make_unique<ast::Query>();
    relation->query->at = at;
    ASSIGN_OR_RAISE(ast::Values values, ValuesClause());
    relation->query->body = MakeBody(std::move(values));
  } else if (PeekWord("TABLE") && PeekSymbol("(", 1)) {
    ASSIGN_OR_RAISE(relation, TableFunction());
  } else if (PeekWord("UNNEST") && PeekSymbol("(", 1)) {
    Take();
    Take();
    relation = MakeRelation(Relation::Kind::kUnnest, at);
    ASSIGN_OR_RAISE(ast::ExprPtr argument, Expression());
    relation->arguments.push_back(std::move(argument));
    RETURN_NOT_OK(ExpectSymbol(")"));
    relation->ordinality = AcceptWords({"WITH", "ORDINALITY"});
  } else {
    relation = MakeRelation(Relation::Kind::kTable, at);
    relation->begin = Peek().begin;
    ASSIGN_OR_RAISE(ast::ObjectName name, ObjectName("a table"));
    relation->names = std::move(name.parts);
    relation->end = tokens_[next_ - 1].end;
    RETURN_NOT_OK(TableHints(relation.get()));
    RETURN_NOT_OK(AsOf(relation.get()));
    RETURN_NOT_OK(RefuseHint("here: it stands right after a table's name"));
  }
  if (PeekWord("MATCH_RECOGNIZE") || PeekWord("TABLESAMPLE") || PeekWord("PIVOT")) {
    return NotCovered(Peek().at, Peek().upper);
  }
  RETURN_NOT_OK(Alias(relation.get()));
  return relation;
}

// TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTES [, offset])), HOP and CUMULATE
// likewise.
Result<RelationPtr> Parser::TableFunction() {
  Take();
  RETURN_NOT_OK(ExpectSymbol("("));
  RelationPtr relation = MakeRelation(Relation::Kind::kWindow, Peek().at);
  if (Peek().kind != TokenKind::kWord) return Unexpected("a table function");
  relation->window = Take().upper;
  if (relation->window != "TUMBLE" && relation->window != "HOP" && relation->window != "CUMULATE") {
    return NotCovered(relation->at, "table function " + relation->window);
  }
  RETURN_NOT_OK(ExpectSymbol("("));
  if (PeekWord("TABLE")) {
    Take();
    relation->left = MakeRelation(Relation::Kind::kTable, Peek().at);
    relation->left->begin = Peek().begin;
    ASSIGN_OR_RAISE(ast::ObjectName name, ObjectName("a table"));
    relation->left->names = std::move(name.parts);
    relation->left->end = tokens_[next_ - 1].end;
    RETURN_NOT_OK(TableHints(relation->left.get()));
  } else if (PeekSymbol("(") && StartsQuery()) {
    relation->left = MakeRelation(Relation::Kind::kSubquery, Take().at);
    ASSIGN_OR_RAISE(relation->left->query, Query());
    RETURN_NOT_OK(ExpectSymbol(")"));
  } else {
    return Unexpected("TABLE name or a query in parentheses");
  }
  RETURN_NOT_OK(ExpectSymbol(","));
  relation->time_at = Peek().at;
  RETURN_NOT_OK(ExpectWord("DESCRIPTOR"));
  RETURN_NOT_OK(ExpectSymbol("("));
  ASSIGN_OR_RAISE(relation->time_column, Identifier("a time column"));
  RETURN_NOT_OK(ExpectSymbol(")"));
  while (AcceptSymbol(",")) {
    ASSIGN_OR_RAISE(ast::ExprPtr argument, Expression());
    relation->arguments.push_back(std::move(argument));
  }
  RETURN_NOT_OK(ExpectSymbol(")"));
  RETURN_NOT_OK(ExpectSymbol(")"));
  return relation;
}

// t /*+ OPTIONS('key' = 'value', …) */
Status Parser::TableHints(Relation* table) {
  while (AcceptSymbol("/*+")) {
    while (!AcceptSymbol("*/")) {
      const Token name = Peek();
      if (!AcceptWord("OPTIONS")) {
        RETURN_NOT_OK(Identifier("a hint").status());
        return NotCovered(name.at, "hint " + Shown(name.text) + " of a table");
      }
      RETURN_NOT_OK(ExpectSymbol("("));
      do {
        ast::TableOption option{.at = Peek().at};
        ASSIGN_OR_RAISE(option.key, StringLiteral("the key of an option"));
        RETURN_NOT_OK(ExpectSymbol("="));
        ASSIGN_OR_RAISE(option.value, StringLiteral("the value of an option"));
        table->options.push_back(std::move(option));
      } while (AcceptSymbol(","));
      RETURN_NOT_OK(ExpectSymbol(")"));
      AcceptSymbol(",");
    }
  }
  return Status::OK();
}

// SELECT /*+ BROADCAST(t), … */: how Flink runs joins, which changes no result.
Status Parser::SelectHints() {
  static constexpr std::string_view kKnown[] = {"BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE",
                                                "NEST_LOOP", "MULTI_JOIN",   "LOOKUP",
                                                "STATE_TTL"};
  while (AcceptSymbol("/*+")) {
    while (!AcceptSymbol("*/")) {
      const Token name = Peek();
      RETURN_NOT_OK(Identifier("a hint").status());
      if (std::ranges::find(kKnown, name.upper) == std::end(kKnown))
        return NotCovered(name.at, "hint " + Shown(name.text) + " of a query");
      if (AcceptSymbol("(")) {
        while (!PeekSymbol(")") && !PeekSymbol("*/") && Peek().kind != TokenKind::kEnd) Take();
        RETURN_NOT_OK(ExpectSymbol(")"));
      }
      AcceptSymbol(",");
    }
  }
  return Status::OK();
}

Status Parser::RefuseHint(std::string_view where) const {
  return PeekSymbol("/*+") ? InvalidAt(Peek().at, "a hint has no meaning ", where) : Status::OK();
}

// FOR SYSTEM_TIME AS OF t (Flink), FOR TIMESTAMP AS OF t, FOR [SYSTEM_]VERSION AS OF n, and Spark's
// without FOR.
Status Parser::AsOf(Relation* table) {
  const size_t lead = PeekWord("FOR") ? 1 : 0;
  const bool time = PeekWord("SYSTEM_TIME", lead) || PeekWord("TIMESTAMP", lead);
  const bool version = PeekWord("SYSTEM_VERSION", lead) || PeekWord("VERSION", lead);
  const bool follows = PeekWord("AS", lead + 1) && PeekWord("OF", lead + 2);
  if (!(time || version) || !follows) {
    return lead == 1 ? Unexpected("SYSTEM_TIME AS OF or TIMESTAMP AS OF after FOR") : Status::OK();
  }
  for (size_t i = 0; i < lead + 3; ++i) Take();
  table->as_of_version = version;
  ASSIGN_OR_RAISE(table->as_of, Concatenation());
  return Status::OK();
}

Status Parser::Alias(Relation* relation) {
  if (AcceptWord("AS")) {
    ASSIGN_OR_RAISE(relation->alias, Identifier("an alias"));
  } else if (PeekIdentifier() && !PeekWord("WINDOW")) {
    relation->alias = Take().text;
  } else {
    return Status::OK();
  }
  if (PeekSymbol("(")) {
    ASSIGN_OR_RAISE(relation->column_aliases, NameList("a column name"));
  }
  return Status::OK();
}

}  // namespace sluice::sql
