#include <map>

#include "sql/parser_internal.h"

// CREATE, ALTER and DROP.
namespace sluice::sql {

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
      if (PeekSymbol("(")) {
        ASSIGN_OR_RAISE(table->like_options, LikeOptions());
      }
    } else if (AcceptWord("AS")) {
      ASSIGN_OR_RAISE(table->as, Query());
      return Status::OK();
    } else {
      if (table->columns.empty() && !table->like) return InvalidAt(at, "table has no columns");
      return Status::OK();
    }
  }
}

// ( {INCLUDING | EXCLUDING | OVERWRITING} feature … ). ALL is what features have that are not
// named.
Result<ast::LikeOptions> Parser::LikeOptions() {
  using Mode = ast::LikeOptions::Mode;
  RETURN_NOT_OK(ExpectSymbol("("));
  std::map<std::string, Mode> modes;
  do {
    const Position at = Peek().at;
    const bool overwriting = AcceptWord("OVERWRITING");
    const bool excluding = !overwriting && AcceptWord("EXCLUDING");
    if (!overwriting && !excluding) RETURN_NOT_OK(ExpectWord("INCLUDING"));
    std::string feature;
    for (const char* word : {"ALL", "CONSTRAINTS", "DISTRIBUTION", "PARTITIONS", "OPTIONS",
                             "GENERATED", "METADATA", "WATERMARKS"}) {
      if (feature.empty() && AcceptWord(word)) feature = word;
    }
    if (feature.empty()) return InvalidAt(Peek().at, "LIKE needs a feature, as ALL or OPTIONS");
    const bool whole = feature == "ALL" || feature == "CONSTRAINTS" || feature == "DISTRIBUTION" ||
                       feature == "PARTITIONS";
    if (whole && overwriting)
      return InvalidAt(at, "feature cannot be overwritten, feature=", feature);
    const Mode mode = overwriting ? Mode::kOverwriting
                      : excluding ? Mode::kExcluding
                                  : Mode::kIncluding;
    if (!modes.emplace(feature, mode).second)
      return InvalidAt(at, "feature is named twice, feature=", feature);
  } while (!AcceptSymbol(")"));
  const auto mode_of = [&](const char* feature, Mode otherwise) {
    if (const auto named = modes.find(feature); named != modes.end()) return named->second;
    const auto all = modes.find("ALL");
    return all == modes.end() ? otherwise : all->second;
  };
  return ast::LikeOptions{.constraints = mode_of("CONSTRAINTS", Mode::kIncluding),
                          .distribution = mode_of("DISTRIBUTION", Mode::kIncluding),
                          .partitions = mode_of("PARTITIONS", Mode::kIncluding),
                          .options = mode_of("OPTIONS", Mode::kOverwriting)};
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

// --- DROP, ALTER ---

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
  ast::PartitionSpec spec{.values = {}, .at = Peek().at};
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

}  // namespace sluice::sql
