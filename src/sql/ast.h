#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sql/lexer.h"
#include "sql/sql_type.h"

// What the parser makes of a statement: shapes and places, no meaning yet.
namespace sluice::sql::ast {

struct Query;
struct Expr;
using ExprPtr = std::unique_ptr<Expr>;
using QueryPtr = std::unique_ptr<Query>;

/// One part of a name, as written.
using Name = std::string;

/// ORDER BY item.
struct SortKey {
  ExprPtr expr;
  bool descending = false;
  std::optional<bool> nulls_first;  ///< Nullopt = Flink's default: first on ASC, last on DESC.
};

/// OVER (…).
struct WindowSpec {
  std::string reference;  ///< OVER w; empty for an inline window.
  std::vector<ExprPtr> partition_by;
  std::vector<SortKey> order_by;
  struct Bound {
    enum class Kind {
      kUnboundedPreceding,
      kPreceding,
      kCurrentRow,
      kFollowing,
      kUnboundedFollowing
    } kind;
    ExprPtr offset;
  };
  bool rows = false;  ///< ROWS, else RANGE.
  std::optional<Bound> from;
  std::optional<Bound> to;
  Position at;
};

enum class ExprKind {
  kNull,
  kBoolean,     ///< text TRUE or FALSE
  kNumber,      ///< text as written; number_kind says which
  kString,      ///< text
  kBinary,      ///< text = bytes
  kTemporal,    ///< name DATE, TIME or TIMESTAMP; text
  kInterval,    ///< text = literal; name = start unit, name2 = end unit or empty; args[0] when the
                ///< amount is an expression
  kColumn,      ///< names
  kStar,        ///< names = qualifier
  kCall,        ///< name (upper case) with args; operators too: "+", "IS NULL", "LIKE", …; "AND",
                ///< "OR" and "||" have two args or more
  kCase,        ///< args: [operand] when `simple`, then WHEN, THEN pairs, then ELSE when `has_else`
  kCast,        ///< args[0], type, name CAST or TRY_CAST
  kIn,          ///< args[0] IN args[1..] or query; negated
  kExists,      ///< query
  kSubquery,    ///< query
  kArray,       ///< args
  kMap,         ///< args: key, value, key, value …
  kRow,         ///< args
  kIndex,       ///< args[0][args[1]]
  kField,       ///< args[0].names[0]
  kDescriptor,  ///< DESCRIPTOR(names[0])
};

struct Expr {
  ExprKind kind = ExprKind::kNull;
  Position at;
  std::string name;
  std::string name2;
  std::string text;
  std::vector<Name> names;
  std::vector<ExprPtr> args;
  TokenKind number_kind = TokenKind::kInteger;
  bool negated = false;
  bool simple = false;
  bool has_else = false;
  bool distinct = false;
  bool star = false;  ///< COUNT(*).
  ExprPtr filter;     ///< FILTER (WHERE …).
  std::unique_ptr<WindowSpec> over;
  std::vector<SortKey> within_group;
  std::optional<SqlType> type;
  QueryPtr query;
};

enum class JoinKind { kInner, kLeft, kRight, kFull, kCross, kSemi, kAnti };

/// What stands in FROM.
/// One 'key' = 'value' of a table's hint.
struct TableOption {
  std::string key;
  std::string value;
  Position at;
};

struct Relation {
  enum class Kind {
    kTable,     ///< names, as_of, options
    kSubquery,  ///< query
    kJoin,      ///< left, right, join, on, using_columns
    kWindow,    ///< TABLE(TUMBLE(TABLE t, DESCRIPTOR(c), size …)): left, window, time_column,
                ///< arguments
    kUnnest,    ///< UNNEST(expr) [WITH ORDINALITY]
  } kind = Kind::kTable;
  Position at;
  std::vector<Name> names;
  size_t begin = 0;  ///< Byte range of `names` in the text, for the expanded text of views.
  size_t end = 0;
  ExprPtr as_of;                     ///< FOR SYSTEM_TIME AS OF / FOR TIMESTAMP AS OF.
  bool as_of_version = false;        ///< FOR SYSTEM_VERSION AS OF / VERSION AS OF.
  std::vector<TableOption> options;  ///< Of /*+ OPTIONS(…) */.
  QueryPtr query;
  std::unique_ptr<Relation> left;
  std::unique_ptr<Relation> right;
  JoinKind join = JoinKind::kInner;
  bool natural = false;
  ExprPtr on;
  std::vector<Name> using_columns;
  std::string window;
  Name time_column;
  Position time_at;
  std::vector<ExprPtr> arguments;
  bool ordinality = false;
  Name alias;
  std::vector<Name> column_aliases;
};

struct SelectItem {
  ExprPtr expr;
  Name alias;
};

struct Select {
  Position at;
  bool distinct = false;
  std::vector<SelectItem> items;
  std::unique_ptr<Relation> from;
  ExprPtr where;
  bool grouped = false;
  std::vector<ExprPtr> group_by;
  /// GROUPING SETS, CUBE, ROLLUP: each set as positions in group_by; empty when GROUP BY is a plain
  /// list.
  std::vector<std::vector<size_t>> grouping_sets;
  ExprPtr having;
  std::map<std::string, WindowSpec> windows;  ///< WINDOW w AS (…).
};

struct Body;
struct SetOperation {
  enum class Op { kUnion, kIntersect, kExcept } op = Op::kUnion;
  bool all = false;
  Position at;
  /// Two; a chain of the same UNION is one node with all its queries.
  std::vector<std::unique_ptr<Body>> operands;
};
struct Values {
  Position at;
  std::vector<std::vector<ExprPtr>> rows;
};
/// A query without WITH, ORDER BY and LIMIT.
struct Body {
  std::variant<Select, SetOperation, Values, QueryPtr> node;
};

struct CommonTable {
  Name name;
  std::vector<Name> columns;
  std::shared_ptr<Query> query;
  Position at;
};

struct Query {
  Position at;
  std::vector<CommonTable> with;
  std::unique_ptr<Body> body;
  std::vector<SortKey> order_by;
  ExprPtr limit;
  ExprPtr offset;
};

/// A possibly qualified name with its place.
struct ObjectName {
  std::vector<Name> parts;
  Position at;
};
using Options = std::vector<std::pair<std::string, std::string>>;

struct ColumnDefinition {
  Name name;
  SqlType type;
  std::string comment;
  Position at;
};

/// What a table takes over from the one that it is LIKE.
struct LikeOptions {
  enum class Mode { kIncluding, kExcluding, kOverwriting };
  Mode constraints = Mode::kIncluding;   ///< The primary key.
  Mode distribution = Mode::kIncluding;  ///< Buckets.
  Mode partitions = Mode::kIncluding;
  Mode options = Mode::kOverwriting;  ///< Including: an option that both name is refused.
};

struct CreateTable {
  ObjectName name;
  bool if_not_exists = false;
  std::vector<ColumnDefinition> columns;
  std::vector<Name> primary_key;
  Position primary_key_at;
  std::string comment;
  std::vector<Name> partitioned_by;
  std::vector<Name> distributed_by;
  std::optional<int32_t> buckets;
  Options options;
  std::optional<ObjectName> like;
  LikeOptions like_options;
  QueryPtr as;  ///< CREATE TABLE … AS query.
};
struct CreateDatabase {
  ObjectName name;
  bool if_not_exists = false;
  std::string comment;
  Options options;
};
struct CreateCatalog {
  Name name;
  bool if_not_exists = false;
  Options options;
  Position at;
};
struct CreateView {
  ObjectName name;
  bool if_not_exists = false;
  bool temporary = false;
  std::vector<Name> columns;
  std::string comment;
  QueryPtr query;
  size_t query_begin = 0;  ///< Byte range of the query in the statement.
  size_t query_end = 0;
};
struct Drop {
  enum class What { kCatalog, kDatabase, kTable, kView } what = What::kTable;
  ObjectName name;
  bool if_exists = false;
  bool cascade = false;
};
struct Use {
  bool catalog = false;
  ObjectName name;
};
struct PartitionSpec {
  std::vector<std::pair<Name, std::string>> values;
  Position at;
};
struct AlterTable {
  ObjectName name;
  bool if_exists = false;
  Options set;
  std::vector<std::string> reset;
  std::vector<ColumnDefinition> add;
  std::vector<Name> drop;
  std::vector<std::pair<Name, Name>> rename;
  std::optional<PartitionSpec> add_partition;
  std::optional<PartitionSpec> drop_partition;
  bool partition_condition = false;  ///< IF NOT EXISTS, IF EXISTS of the partition.
};
struct Show {
  enum class What {
    kCatalogs,
    kDatabases,
    kTables,
    kViews,
    kCurrentCatalog,
    kCurrentDatabase,
    kCreateTable,
    kCreateView,
    kPartitions,
    kColumns,
  } what = What::kTables;
  std::optional<ObjectName> name;  ///< FROM db, or the table.
  std::string like;
  bool has_like = false;
  bool not_like = false;
  std::optional<PartitionSpec> partition;  ///< SHOW PARTITIONS t PARTITION (…).
  Position at;
};
struct Describe {
  ObjectName name;
};
struct Insert {
  ObjectName name;
  std::vector<Name> columns;
  std::vector<Position> column_positions;
  bool overwrite = false;
  QueryPtr query;
};
struct Delete {
  ObjectName name;
  ExprPtr where;
};
struct Update {
  ObjectName name;
  std::vector<std::pair<Name, ExprPtr>> set;
  ExprPtr where;
};
struct Set {
  std::string key;  ///< Empty: list all.
  std::string value;
  bool reset = false;
  Position at;
};
struct Statement;
struct Explain {
  std::shared_ptr<Statement> statement;
};
struct StatementSet {
  std::vector<Insert> inserts;
};
struct Nothing {};

struct Statement {
  Position at;
  std::variant<Nothing, QueryPtr, Insert, Delete, Update, CreateTable, CreateDatabase,
               CreateCatalog, CreateView, Drop, Use, AlterTable, Show, Describe, Set, Explain,
               StatementSet>
      node;
};

}  // namespace sluice::sql::ast
