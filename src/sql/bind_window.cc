#include "sql/binder_internal.h"

namespace sluice::sql {

namespace {

SqlType WindowTimeType() { return SqlType::Timestamp(3, false); }

bool IsGroupWindow(const ast::Expr& expr) {
  return expr.kind == ast::ExprKind::kCall &&
         (expr.name == "TUMBLE" || expr.name == "HOP" || expr.name == "SESSION");
}

std::string MicrosText(int64_t ms) { return "to_microseconds(" + std::to_string(ms * 1000) + ")"; }

// Windows of HOP and CUMULATE that a row may be in: each is a row of the engine's.
constexpr int64_t kWindowsOfRowMax = 1'000'000;

}  // namespace

// The constant intervals of a window call, in milliseconds.
Result<std::vector<int64_t>> Binder::Impl::WindowIntervals(
    const std::string& kind, const std::vector<ast::ExprPtr>& arguments, size_t from, Position at,
    ExprContext& context) {
  const size_t least = kind == "TUMBLE" ? 1 : 2;
  std::vector<int64_t> intervals;
  for (size_t i = from; i < arguments.size(); ++i) {
    ASSIGN_OR_RAISE(const BoundPtr value, Expression(*arguments[i], context));
    if (value->type.kind == SqlKind::kIntervalMonth) {
      return InvalidAt(arguments[i]->at, kind, " windows cannot be months or years long");
    }
    if (value->type.kind != SqlKind::kIntervalSecond || !value->number) {
      return InvalidAt(arguments[i]->at, kind, " needs constant intervals");
    }
    intervals.push_back(*value->number);
  }
  if (intervals.size() < least || intervals.size() > least + 1) {
    return InvalidAt(at, kind, " has a wrong number of arguments");
  }
  for (size_t i = 0; i < least; ++i) {
    if (intervals[i] <= 0) return InvalidAt(at, kind, " needs intervals above zero");
  }
  if (kind == "CUMULATE" && intervals[1] % intervals[0] != 0) {
    return InvalidAt(at, "CUMULATE needs a size that is a multiple of its step");
  }
  if (least == 2 && intervals[1] / intervals[0] > kWindowsOfRowMax) {
    return InvalidAt(at, kind,
                     " puts each row into too many windows, windows=", intervals[1] / intervals[0],
                     " limit=", kWindowsOfRowMax);
  }
  return intervals;
}

// Windows are aligned to 1970-01-01 00:00; rows without a time are in none.
Result<WindowColumns> Binder::Impl::AddWindow(const std::string& kind, const BoundPtr& time,
                                              const std::vector<int64_t>& intervals_ms, Position at,
                                              const BoundRelation& input,
                                              const std::string& where) {
  if (!time->type.is_timestamp()) {
    return InvalidAt(at, kind, " needs a TIMESTAMP column, type=", time->type.ToString());
  }
  ASSIGN_OR_RAISE(const BoundPtr local,
                  Cast(time, SqlType::Timestamp(6, time->type.nullable), CastMode::kWiden, at));
  const std::string at_time = Emit(*local);
  const int64_t step = intervals_ms[0];  // TUMBLE: the size.
  const int64_t size = kind == "TUMBLE" ? step : intervals_ms[1];
  const size_t least = kind == "TUMBLE" ? 1 : 2;
  const int64_t offset = intervals_ms.size() > least ? intervals_ms[least] : 0;
  const auto bucket = [&](int64_t width) {
    return "time_bucket(" + MicrosText(width) + ", " + at_time + ", TIMESTAMP '1970-01-01' + " +
           MicrosText(offset) + ")";
  };
  WindowColumns result;
  const std::string start = NextName();
  const std::string end = NextName();
  result.start = MakeColumn(start, WindowTimeType());
  result.end = MakeColumn(end, WindowTimeType());
  const std::string rows =
      "(SELECT * FROM " + input.sql + where + ") WHERE " + at_time + " IS NOT NULL";
  if (kind == "TUMBLE") {
    result.sql = "(SELECT *, " + start + " + " + MicrosText(size) + " AS " + end +
                 " FROM (SELECT *, " + bucket(size) + " AS " + start + " FROM " + rows + "))";
    return result;
  }
  // A row is in several windows: number them, newest first, and drop those that do not reach it.
  const std::string number = NextName();
  const std::string base = NextName();
  if (kind == "HOP") {
    const int64_t count = (size + step - 1) / step;
    result.sql = "(SELECT *, " + start + " + " + MicrosText(size) + " AS " + end +
                 " FROM (SELECT *, " + base + " - " + number + " * " + MicrosText(step) + " AS " +
                 start + " FROM (SELECT *, " + bucket(step) + " AS " + base + ", unnest(range(0, " +
                 std::to_string(count) + ")) AS " + number + " FROM " + rows + ")) WHERE " + start +
                 " + " + MicrosText(size) + " > " + at_time + ")";
    return result;
  }
  const int64_t count = size / step;
  result.sql = "(SELECT *, " + base + " AS " + start + " FROM (SELECT *, " + base + " + " + number +
               " * " + MicrosText(step) + " AS " + end + " FROM (SELECT *, " + bucket(size) +
               " AS " + base + ", unnest(range(1, " + std::to_string(count + 1) + ")) AS " +
               number + " FROM " + rows + ")) WHERE " + end + " > " + at_time + ")";
  return result;
}

// The one window of a GROUP BY.
Result<std::optional<GroupWindow>> Binder::Impl::FindGroupWindow(const ast::Select& select,
                                                                 ExprContext& context,
                                                                 size_t* position) {
  std::optional<GroupWindow> window;
  for (size_t i = 0; i < select.group_by.size(); ++i) {
    const ast::Expr& expr = *select.group_by[i];
    if (!IsGroupWindow(expr)) continue;
    if (window) return InvalidAt(expr.at, "GROUP BY takes one window only");
    if (expr.name == "SESSION")
      return ErrorAt(ErrorCode::kUnsupportedVersion, expr.at,
                     "SESSION windows are not supported yet");
    if (!select.grouping_sets.empty())
      return InvalidAt(expr.at, "a window cannot stand in grouping sets");
    if (expr.args.empty())
      return InvalidAt(expr.at, expr.name, " needs a time column and an interval");
    GroupWindow found{.kind = expr.name};
    ASSIGN_OR_RAISE(found.time, Expression(*expr.args[0], context));
    ASSIGN_OR_RAISE(found.intervals_ms, WindowIntervals(expr.name, expr.args, 1, expr.at, context));
    window = std::move(found);
    *position = i;
  }
  return window;
}

// TUMBLE_START, TUMBLE_END, TUMBLE_ROWTIME and those of HOP: they repeat the arguments of the
// window they mean.
Result<BoundPtr> Binder::Impl::WindowProperty(const ast::Expr& call, ExprContext& context) {
  const size_t mark = call.name.find('_');
  const std::string kind = call.name.substr(0, mark);
  const std::string property = call.name.substr(mark + 1);
  if (context.window == nullptr || context.window->kind != kind) {
    return InvalidAt(call.at, call.name, " needs GROUP BY ", kind, "(…)");
  }
  if (call.args.empty()) return InvalidAt(call.at, call.name, " repeats the arguments of ", kind);
  ExprContext plain{.scope = context.scope, .clause = context.clause};
  ASSIGN_OR_RAISE(const BoundPtr time, Expression(*call.args[0], plain));
  ASSIGN_OR_RAISE(const auto intervals, WindowIntervals(kind, call.args, 1, call.at, plain));
  if (!SameExpression(*time, *context.window->time) || intervals != context.window->intervals_ms) {
    return InvalidAt(call.at, call.name, " has other arguments than ", kind, " in GROUP BY");
  }
  if (property == "START") return context.window->start;
  if (property == "END") return context.window->end;
  if (property == "ROWTIME") {
    const SqlType type = context.window->time->type.kind == SqlKind::kTimestamp
                             ? context.window->time->type
                             : WindowTimeType();
    SqlType held = SqlType::Timestamp(std::min(type.precision, 6), type.nullable);
    return MakeTyped("ROWTIME", held, "($1 - to_microseconds(1000))", {context.window->end});
  }
  return ErrorAt(ErrorCode::kUnsupportedVersion, call.at, call.name, " is not supported yet");
}

// TABLE(TUMBLE(TABLE t, DESCRIPTOR(c), …)): the table with window_start, window_end and
// window_time.
Result<BoundRelation> Binder::Impl::WindowFunction(const ast::Relation& relation, Scope* outer,
                                                   Frame* frame) {
  ASSIGN_OR_RAISE(BoundRelation input, From(*relation.left, outer, frame));
  Scope scope{.columns = input.columns, .frame = frame};
  ExprContext context{.scope = &scope, .clause = "window"};
  ast::Expr column;
  column.kind = ast::ExprKind::kColumn;
  column.at = relation.time_at;
  column.names = {relation.time_column};
  ASSIGN_OR_RAISE(const BoundPtr time, Expression(column, context));
  ASSIGN_OR_RAISE(const auto intervals,
                  WindowIntervals(relation.window, relation.arguments, 0, relation.at, context));
  ASSIGN_OR_RAISE(WindowColumns window,
                  AddWindow(relation.window, time, intervals, relation.time_at, input, ""));
  BoundRelation bound{.sql = window.sql, .columns = input.columns};
  SqlType time_type = SqlType::Timestamp(
      time->type.kind == SqlKind::kTimestamp ? std::min(time->type.precision, 6) : 3, false);
  const BoundPtr window_time =
      MakeTyped("ROWTIME", time_type, "($1 - to_microseconds(1000))", {window.end});
  bound.columns.push_back({.name = "window_start", .value = window.start});
  bound.columns.push_back({.name = "window_end", .value = window.end});
  bound.columns.push_back({.name = "window_time", .value = window_time});
  RETURN_NOT_OK(ApplyAlias(relation, &bound));
  return bound;
}

}  // namespace sluice::sql
