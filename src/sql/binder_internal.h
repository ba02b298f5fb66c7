#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sql/binder.h"
#include "sql/cast.h"

namespace sluice::sql {

/// Bytes of SQL that the engine is given for one query or expression: a name that stands for much
/// (views, WITH, functions that use an argument twice) can multiply without end.
inline constexpr uint64_t kEngineTextMax = 8u << 20;
/// Queries inside one another in expressions (EXISTS, IN, scalar): the engine's planning time
/// doubles with each.
inline constexpr int kSubqueryDepthMax = 16;

/// One subquery's boundary: which columns of the queries around it does it take?
struct Frame {
  Frame* parent = nullptr;
  std::set<std::string> outer_columns;
};

/// A column that expressions can name.
struct ScopeColumn {
  std::vector<std::string> qualifier;  ///< Alias, or catalog, database, table.
  std::string name;
  BoundPtr value;
  bool hidden = false;  ///< Not part of `*`.
  bool merged = false;  ///< The side of USING that gave way: named only with its qualifier.
  int scan =
      -1;  ///< Scan that the value is a column of, when conditions on it may go into the scan.
  int scan_column = -1;
};

/// Are the first `parts` of `names` the table of the column? None always are, of a column that can
/// be named so.
bool IsTableOf(const ScopeColumn& column, const std::vector<ast::Name>& names, size_t parts);

/// The names with dots between them.
std::string Joined(const std::vector<ast::Name>& names);

struct Scope {
  std::vector<ScopeColumn> columns;
  Scope* outer = nullptr;
  Frame* frame = nullptr;
};

/// What a FROM clause gives: a FROM item for the engine and its columns.
struct BoundRelation {
  std::string sql;
  std::vector<ScopeColumn> columns;
};

/// TUMBLE or HOP of a GROUP BY.
struct GroupWindow {
  std::string kind;
  BoundPtr time;
  std::vector<int64_t> intervals_ms;
  BoundPtr start;  ///< Columns of the relation that the window was put on.
  BoundPtr end;
};

/// How a clause reads expressions.
struct ExprContext {
  Scope* scope = nullptr;
  std::string_view clause = "expression";
  bool aggregates = false;  ///< Aggregates and OVER are allowed.
  bool in_aggregate = false;
  bool grouped = false;  ///< There is a GROUP BY; without it aggregates of no rows are NULL.
  const std::map<std::string, BoundPtr>* aliases =
      nullptr;  ///< ORDER BY: names of the select list come first.
  const GroupWindow* window = nullptr;
  const std::map<std::string, ast::WindowSpec>* windows = nullptr;
};

/// Times inside one window of a group or table function.
struct WindowColumns {
  BoundPtr start;
  BoundPtr end;
  std::string sql;  ///< The relation with the two columns added.
};

class Binder::Impl {
 public:
  explicit Impl(const BindContext& context) : context_(context) {}

  // bind_query.cc
  Result<BoundQuery> Query(const ast::Query& query, Scope* outer, Frame* frame);
  Result<BoundQuery> Body(const ast::Body& body, const std::vector<ast::SortKey>* order,
                          Scope* outer, Frame* frame);
  Result<BoundQuery> SetOperation(const ast::SetOperation& operation, Scope* outer, Frame* frame);
  Result<BoundQuery> Values(const ast::Values& values, Scope* outer, Frame* frame);
  Result<std::string> OutputOrder(const BoundQuery& query, const std::vector<ast::SortKey>& order);
  Result<std::string> Limits(const ast::Query& query);

  // bind_select.cc
  Result<BoundQuery> Select(const ast::Select& select, const std::vector<ast::SortKey>* order,
                            Scope* outer, Frame* frame);

  // bind_from.cc, bind_join.cc
  Result<BoundRelation> From(const ast::Relation& relation, Scope* outer, Frame* frame);
  Result<BoundRelation> Table(const ast::Relation& relation, Frame* frame);
  Result<BoundRelation> CommonTable(size_t position, const ast::Relation& relation, Frame* frame);
  Result<BoundRelation> Derived(BoundQuery query, const std::string& alias);
  Result<BoundRelation> View(const ViewInfo& view, const ast::Relation& relation);
  Result<BoundRelation> Join(const ast::Relation& relation, Scope* outer, Frame* frame);
  Result<BoundRelation> Unnest(const ast::Relation& relation, Scope* outer, Frame* frame);
  Result<BoundRelation> WindowFunction(const ast::Relation& relation, Scope* outer, Frame* frame);
  Status ApplyAlias(const ast::Relation& relation, BoundRelation* bound);
  Status TimeTravel(const ast::Relation& relation, TableRef* ref);
  Status MergeUsing(const std::vector<ast::Name>& names, Position at, ast::JoinKind kind,
                    const BoundRelation& left, const BoundRelation& right,
                    std::vector<ScopeColumn>* columns, std::string* on);
  Result<ResolvedName> Resolve(const std::vector<ast::Name>& parts, Position at) const;
  void PushPredicates(const BoundPtr& condition, const std::vector<ScopeColumn>& columns);

  // bind_window.cc
  Result<WindowColumns> AddWindow(const std::string& kind, const BoundPtr& time,
                                  const std::vector<int64_t>& intervals_ms, Position at,
                                  const BoundRelation& input, const std::string& where);
  Result<std::vector<int64_t>> WindowIntervals(const std::string& kind,
                                               const std::vector<ast::ExprPtr>& arguments,
                                               size_t from, Position at, ExprContext& context);
  Result<std::optional<GroupWindow>> FindGroupWindow(const ast::Select& select,
                                                     ExprContext& context, size_t* position);
  Result<BoundPtr> WindowProperty(const ast::Expr& call, ExprContext& context);

  // bind_expression.cc, bind_name.cc, bind_literal.cc
  Result<BoundPtr> Expression(const ast::Expr& expr, ExprContext& context);
  Result<BoundPtr> ExpressionOf(const ast::Expr& expr, ExprContext& context);
  Result<BoundPtr> Condition(const ast::Expr& expr, ExprContext& context);
  Result<BoundPtr> Column(const ast::Expr& expr, ExprContext& context);
  BoundPtr Use(const ScopeColumn& column, const Scope& scope, const ExprContext& context);
  Result<BoundPtr> Literal(const ast::Expr& expr);
  Result<BoundPtr> Interval(const ast::Expr& expr, ExprContext& context);
  Result<BoundPtr> Case(const ast::Expr& expr, ExprContext& context);
  Result<BoundPtr> In(const ast::Expr& expr, ExprContext& context);
  Result<BoundPtr> Subquery(const ast::Expr& expr, ExprContext& context);
  Result<BoundQuery> InnerQuery(const ast::Expr& expr, ExprContext& context, Frame* frame);
  Result<BoundPtr> Collection(const ast::Expr& expr, ExprContext& context);
  Result<BoundPtr> IndexOf(const ast::Expr& expr, ExprContext& context);
  Result<BoundPtr> Field(BoundPtr row, const std::string& name, Position at);
  Result<std::vector<BoundPtr>> Arguments(const std::vector<ast::ExprPtr>& args,
                                          ExprContext& context);

  // bind_operator.cc
  Result<BoundPtr> Operator(const ast::Expr& call, std::vector<BoundPtr> args, bool* matched);
  Result<BoundPtr> Arithmetic(sql::Arithmetic op, BoundPtr a, BoundPtr b, Position at);
  Result<BoundPtr> TimeArithmetic(sql::Arithmetic op, BoundPtr a, BoundPtr b, Position at);
  Status Unify(std::vector<BoundPtr>* values, Position at, std::string_view what);
  Status UnifyForComparison(BoundPtr* a, BoundPtr* b, Position at, bool lenient);
  Result<BoundPtr> Like(const ast::Expr& call, std::vector<BoundPtr> args);
  Result<BoundPtr> AddMillis(BoundPtr time, const BoundPtr& millis, bool negate, Position at);
  Result<BoundPtr> AddMonths(BoundPtr time, const BoundPtr& months, bool negate, Position at);

  // bind_compare.cc
  Result<BoundPtr> Compare(const std::string& op, BoundPtr a, BoundPtr b, Position at);
  /// args[0] = args[1] OR args[0] = args[2] …, or its opposite.
  Result<BoundPtr> AnyEqual(const std::vector<BoundPtr>& args, bool negated);

  // bind_function.cc, bind_numeric_function.cc, bind_value_function.cc, bind_time_function.cc
  Result<BoundPtr> Call(const ast::Expr& call, ExprContext& context);
  Result<BoundPtr> Function(const ast::Expr& call, std::vector<BoundPtr> args);
  Result<BoundPtr> NumericFunction(const ast::Expr& call, std::vector<BoundPtr>& args,
                                   bool* matched);
  Result<BoundPtr> Round(const ast::Expr& call, std::vector<BoundPtr>& args);
  Result<BoundPtr> ConditionalFunction(const ast::Expr& call, std::vector<BoundPtr>& args,
                                       bool* matched);
  Result<BoundPtr> TextFunction(const ast::Expr& call, std::vector<BoundPtr>& args, bool* matched);
  Result<BoundPtr> CollectionFunction(const ast::Expr& call, std::vector<BoundPtr>& args,
                                      bool* matched);
  Result<BoundPtr> TimeFunction(const ast::Expr& call, std::vector<BoundPtr>& args, bool* matched);
  Result<BoundPtr> TimeTextFunction(const ast::Expr& call, std::vector<BoundPtr>& args,
                                    bool* matched);
  Result<BoundPtr> DateFormat(const ast::Expr& call, std::vector<BoundPtr>& args);
  Result<BoundPtr> TimestampOfEpoch(const ast::Expr& call, std::vector<BoundPtr>& args);
  Result<BoundPtr> FromUnixTime(const ast::Expr& call, std::vector<BoundPtr>& args);
  Result<BoundPtr> UnixTimestamp(const ast::Expr& call, std::vector<BoundPtr>& args);
  Result<BoundPtr> Extract(const std::string& unit, BoundPtr time, Position at);
  Result<BoundPtr> FloorTo(const ast::Expr& call, BoundPtr time);
  Result<BoundPtr> TimestampDiff(const ast::Expr& call, std::vector<BoundPtr>& args);
  Result<BoundPtr> TimestampAdd(const ast::Expr& call, std::vector<BoundPtr>& args);
  Result<BoundPtr> Now(const std::string& name);

  // bind_aggregate.cc, bind_over.cc
  Result<BoundPtr> Aggregate(const ast::Expr& call, ExprContext& context);
  Result<BoundPtr> ListText(const Bound& like, const ast::Expr& call, std::vector<BoundPtr> args,
                            ExprContext& inner);
  Result<BoundPtr> Average(const Bound& like, const BoundPtr& value, bool nullable);
  Result<BoundPtr> Variance(const std::string& name, const Bound& call, BoundPtr value,
                            Position at);
  Result<BoundPtr> Over(const ast::Expr& call, ExprContext& context);
  Result<std::string> EdgeText(const ast::WindowSpec& window, const ast::WindowSpec::Bound& edge,
                               const std::vector<SqlType>& keys, ExprContext& context);
  Result<std::string> WindowText(const ast::WindowSpec& window, ExprContext& context,
                                 std::vector<BoundPtr>* args);

  // Shared.
  Result<BoundPtr> Cast(BoundPtr value, const SqlType& to, CastMode mode, Position at,
                        const std::string& column = "");
  /// A conversion that keeps the value; cannot fail for types from CommonType.
  Result<BoundPtr> Widen(BoundPtr value, const SqlType& to, Position at) {
    return Cast(std::move(value), to, CastMode::kWiden, at);
  }
  /// The value with its place noted, for what fails while the statement runs. A value that has a
  /// place keeps it.
  BoundPtr Placed(BoundPtr value, std::string operation, Position at,
                  const std::string& column = "");
  BoundPtr DecimalCall(sql::Arithmetic op, BoundPtr a, BoundPtr b, const SqlType& result);
  std::string NextName() { return "c" + std::to_string(++names_); }
  std::string Typed(const Bound& expr) const;

  const BindContext& context_;
  std::vector<ScanUse> scans_;
  std::set<DecimalFunction> decimal_functions_;
  std::vector<TableMention> mentions_;
  std::vector<Place> places_;
  std::vector<const ast::CommonTable*> common_tables_;  // In sight; the last of a name wins.
  int names_ = 0;
  int view_depth_ = 0;
  Position view_at_;  // Where the statement names the view that is being expanded.
  int subquery_depth_ = 0;
};

/// NOT `condition`. Comparisons of floating numbers turn into their opposites, as in Flink: NaN
/// meets neither.
BoundPtr NotOf(const BoundPtr& condition);
/// A condition on rows of several relations: where it equates floating columns of two, these are
/// keys of a join, of which NaN matches NaN.
BoundPtr WithJoinKeys(const BoundPtr& condition, const std::vector<ScopeColumn>& columns);
/// Is one of them of a floating type and no constant number?
bool AnyMayBeNan(const std::vector<BoundPtr>& values);
/// Is it the name of an aggregate function?
bool IsAggregateName(const std::string& upper);
/// Is it one of a variance or standard deviation?
bool IsVariance(const std::string& name);
/// Does the expression hold an aggregate call outside subqueries?
bool HasAggregateCall(const ast::Expr& expr);
/// ASC NULLS FIRST and the like, Flink's default filled in.
std::string SortDirection(const ast::SortKey& key);

}  // namespace sluice::sql
