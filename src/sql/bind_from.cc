#include <algorithm>
#include <charconv>

#include "sql/binder_internal.h"
#include "sql/parser.h"
#include "sql/pushdown.h"

namespace sluice::sql {

namespace {
constexpr int kViewDepthMax = 32;
constexpr std::string_view kLakeSuffix = "$lake";

// A query has no past of its own.
Status RefuseTravel(const ast::Relation& relation, std::string_view what, std::string_view name) {
  if (relation.as_of != nullptr)
    return InvalidAt(relation.at, "AS OF does not apply to ", what, ", name=", name);
  if (!relation.options.empty()) {
    return InvalidAt(relation.options[0].at, "OPTIONS do not apply to ", what, ", name=", name);
  }
  return Status::OK();
}

// The options of a table's hint: which snapshot of the lake to read.
Status ApplyOptions(const ast::Relation& relation, TableRef* ref) {
  for (const ast::TableOption& option : relation.options) {
    const bool snapshot = option.key == "scan.snapshot-id";
    if (!snapshot && option.key != "scan.timestamp-millis") {
      return ErrorAt(ErrorCode::kUnsupportedVersion, option.at,
                     "option is not supported, key=", Shown(option.key),
                     " known=scan.snapshot-id, scan.timestamp-millis");
    }
    if (relation.as_of != nullptr || ref->as_of_ms || ref->as_of_snapshot)
      return InvalidAt(option.at, "a table is read at one point only, key=", option.key);
    if (ref->part == TablePart::kLakeSnapshots || ref->part == TablePart::kLakeTiering)
      return InvalidAt(option.at,
                       "option does not apply to this part of a table, key=", option.key);
    int64_t value = 0;
    const char* last = option.value.data() + option.value.size();
    const auto [end, error] = std::from_chars(option.value.data(), last, value);
    if (error != std::errc() || end != last) {
      return InvalidAt(option.at, "option needs a whole number, key=", option.key, " value='",
                       Shown(option.value), "'");
    }
    (snapshot ? ref->as_of_snapshot : ref->as_of_ms) = value;
    ref->part = TablePart::kLake;  // Only the lake keeps its past.
  }
  return Status::OK();
}
}  // namespace

Result<ResolvedName> Binder::Impl::Resolve(const std::vector<ast::Name>& parts, Position at) const {
  ResolvedName name{.catalog = parts.size() == 3 ? parts[0] : context_.catalog};
  if (!context_.catalogs.contains(name.catalog))
    return ErrorAt(ErrorCode::kDatabaseNotExist, at, "catalog does not exist, name=", name.catalog);
  name.ref.path.database = parts.size() >= 2 ? parts[parts.size() - 2] : context_.database;
  std::string table = parts.back();
  if (const size_t dollar = table.find('$'); dollar != std::string::npos && dollar > 0) {
    const std::string suffix = table.substr(dollar);
    if (suffix == kLakeSuffix) {
      name.ref.part = TablePart::kLake;
    } else if (suffix == "$lake$snapshots") {
      name.ref.part = TablePart::kLakeSnapshots;
    } else if (suffix == "$lake$tiering") {
      name.ref.part = TablePart::kLakeTiering;
    } else {
      return ErrorAt(ErrorCode::kTableNotExist, at, "no such part of a table, name=", table,
                     " known=$lake, $lake$snapshots, $lake$tiering");
    }
    table.resize(dollar);
  }
  name.ref.path.table = std::move(table);
  return name;
}

Result<BoundRelation> Binder::Impl::From(const ast::Relation& relation, Scope* outer,
                                         Frame* frame) {
  switch (relation.kind) {
    case ast::Relation::Kind::kTable:
      return Table(relation, frame);
    case ast::Relation::Kind::kJoin:
      return Join(relation, outer, frame);
    case ast::Relation::Kind::kUnnest:
      return Unnest(relation, outer, frame);
    case ast::Relation::Kind::kWindow:
      return WindowFunction(relation, outer, frame);
    case ast::Relation::Kind::kSubquery:
      break;
  }
  ASSIGN_OR_RAISE(BoundQuery query, Query(*relation.query, outer, frame));
  ASSIGN_OR_RAISE(BoundRelation bound, Derived(std::move(query), relation.alias));
  RETURN_NOT_OK(ApplyAlias(relation, &bound));
  return bound;
}

// A query as a relation.
Result<BoundRelation> Binder::Impl::Derived(BoundQuery query, const std::string& alias) {
  BoundRelation bound{.sql = "(" + query.sql + ")"};
  for (OutputColumn& column : query.columns) {
    ScopeColumn scope{.name = column.name, .value = MakeColumn(column.internal, column.type)};
    if (!alias.empty()) scope.qualifier = {alias};
    bound.columns.push_back(std::move(scope));
  }
  return bound;
}

Status Binder::Impl::ApplyAlias(const ast::Relation& relation, BoundRelation* bound) {
  if (!relation.alias.empty()) {
    for (ScopeColumn& column : bound->columns) column.qualifier = {relation.alias};
  }
  if (relation.column_aliases.empty()) return Status::OK();
  std::vector<ScopeColumn*> visible;
  for (ScopeColumn& column : bound->columns) {
    if (!column.hidden && !column.merged) visible.push_back(&column);
  }
  if (relation.column_aliases.size() != visible.size()) {
    return InvalidAt(relation.at, "alias names another number of columns, alias=", relation.alias,
                     " names=", relation.column_aliases.size(), " columns=", visible.size());
  }
  for (size_t i = 0; i < visible.size(); ++i) visible[i]->name = relation.column_aliases[i];
  return Status::OK();
}

// A common table is bound anew where it is used. It sees those before it, and nothing of that
// place.
Result<BoundRelation> Binder::Impl::CommonTable(size_t position, const ast::Relation& relation,
                                                Frame* frame) {
  const ast::CommonTable& table = *common_tables_[position];
  RETURN_NOT_OK(RefuseTravel(relation, "a table of WITH", table.name));
  std::vector<const ast::CommonTable*> earlier(
      common_tables_.begin(), common_tables_.begin() + static_cast<ptrdiff_t>(position));
  std::swap(earlier, common_tables_);
  Result<BoundQuery> query = Query(*table.query, nullptr, frame);
  std::swap(earlier, common_tables_);
  RETURN_NOT_OK(query.status());
  if (!table.columns.empty() && table.columns.size() != query->columns.size()) {
    return InvalidAt(table.at, "WITH names another number of columns, name=", table.name,
                     " names=", table.columns.size(), " columns=", query->columns.size());
  }
  for (size_t i = 0; i < table.columns.size(); ++i) query->columns[i].name = table.columns[i];
  ASSIGN_OR_RAISE(BoundRelation bound, Derived(std::move(query).ValueUnsafe(), table.name));
  RETURN_NOT_OK(ApplyAlias(relation, &bound));
  return bound;
}

Result<BoundRelation> Binder::Impl::Table(const ast::Relation& relation, Frame* frame) {
  for (size_t i = common_tables_.size(); relation.names.size() == 1 && i-- > 0;) {
    if (common_tables_[i]->name == relation.names[0]) return CommonTable(i, relation, frame);
  }
  ASSIGN_OR_RAISE(ResolvedName name, Resolve(relation.names, relation.at));
  if (relation.end > relation.begin && view_depth_ == 0) {
    mentions_.push_back({relation.begin, relation.end,
                         "`" + name.catalog + "`.`" + name.ref.path.database + "`.`" +
                             relation.names.back() + "`"});
  }
  if (name.ref.part == TablePart::kUnion) {
    const auto temporary = context_.temporary_views.find(name.ref.path);
    if (temporary != context_.temporary_views.end()) return View(temporary->second, relation);
    ASSIGN_OR_RAISE(const std::optional<ViewInfo> view, context_.tables->FindView(name.ref.path));
    if (view) return View(*view, relation);
  }
  RETURN_NOT_OK(TimeTravel(relation, &name.ref));
  Result<std::vector<SourceColumn>> columns = context_.tables->Columns(name.ref);
  if (!columns.ok()) {
    return ErrorAt(CodeOf(columns.status()), relation.at, columns.status().message());
  }
  ScanUse scan{
      .id = context_.next_scan(), .ref = name.ref, .source = std::move(columns).ValueUnsafe()};
  BoundRelation bound{.sql = "sluice_scan(" + std::to_string(scan.id) + ")"};
  for (size_t i = 0; i < scan.source.size(); ++i) {
    const SourceColumn& column = scan.source[i];
    scan.internals.push_back(NextName());
    scan.types.push_back(SqlType::FromColumn(*column.type));
    bound.columns.push_back(
        {.qualifier = {name.catalog, name.ref.path.database, relation.names.back()},
         .name = column.name,
         .value = MakeColumn(scan.internals.back(), scan.types.back()),
         .hidden = column.hidden,
         .scan = static_cast<int>(scans_.size()),
         .scan_column = static_cast<int>(i)});
  }
  scans_.push_back(std::move(scan));
  RETURN_NOT_OK(ApplyAlias(relation, &bound));
  return bound;
}

Result<BoundRelation> Binder::Impl::View(const ViewInfo& view, const ast::Relation& relation) {
  RETURN_NOT_OK(RefuseTravel(relation, "a view", view.path.ToString()));
  if (view_depth_ >= kViewDepthMax)
    return InvalidAt(relation.at, "views refer to each other, name=", view.path.ToString());
  const auto inside = [&](const Status& status) {
    return Error(CodeOf(status), "view cannot be expanded, name=", view.path.ToString(), ": ",
                 status.message());
  };
  Result<ast::QueryPtr> parsed = ParseQuery(view.query);
  if (!parsed.ok()) return inside(parsed.status());
  if (view_depth_++ == 0) view_at_ = relation.at;
  std::vector<const ast::CommonTable*> outside;
  std::swap(outside, common_tables_);
  Frame frame;
  Result<BoundQuery> query = Query(**parsed, nullptr, &frame);
  std::swap(outside, common_tables_);
  --view_depth_;
  if (!query.ok()) return inside(query.status());
  if (!view.columns.empty() && view.columns.size() == query->columns.size()) {
    for (size_t i = 0; i < view.columns.size(); ++i) query->columns[i].name = view.columns[i];
  }
  ASSIGN_OR_RAISE(BoundRelation bound,
                  Derived(std::move(query).ValueUnsafe(), relation.names.back()));
  RETURN_NOT_OK(ApplyAlias(relation, &bound));
  return bound;
}

Status Binder::Impl::TimeTravel(const ast::Relation& relation, TableRef* ref) {
  RETURN_NOT_OK(ApplyOptions(relation, ref));
  if (relation.as_of == nullptr) return Status::OK();
  if (ref->part == TablePart::kLakeSnapshots || ref->part == TablePart::kLakeTiering)
    return InvalidAt(relation.at, "AS OF does not apply to this part of a table");
  ref->part = TablePart::kLake;  // Only the lake keeps its past.
  Frame frame;
  Scope scope{.frame = &frame};
  ExprContext context{.scope = &scope, .clause = "AS OF"};
  if (relation.as_of_version) {
    if (relation.as_of->kind != ast::ExprKind::kNumber ||
        relation.as_of->number_kind != TokenKind::kInteger) {
      return InvalidAt(relation.as_of->at, "VERSION AS OF needs the number of a snapshot");
    }
    ref->as_of_snapshot = std::strtoll(relation.as_of->text.c_str(), nullptr, 10);
    return Status::OK();
  }
  ASSIGN_OR_RAISE(BoundPtr time, Expression(*relation.as_of, context));
  if (!time->type.is_text() && !time->type.is_timestamp() && time->type.kind != SqlKind::kDate) {
    return InvalidAt(relation.as_of->at, "AS OF needs a timestamp, type=", time->type.ToString());
  }
  ASSIGN_OR_RAISE(
      time, Cast(std::move(time), SqlType::TimestampLtz(6), CastMode::kCast, relation.as_of->at));
  Result<int64_t> millis = context_.evaluate_time(Typed(*time));
  if (!millis.ok()) return InvalidAt(relation.as_of->at, "AS OF: ", millis.status().message());
  ref->as_of_ms = *millis;
  return Status::OK();
}

Result<BoundRelation> Binder::Impl::Unnest(const ast::Relation& relation, Scope* outer,
                                           Frame* frame) {
  Scope scope{.outer = outer, .frame = frame};
  ExprContext context{.scope = &scope, .clause = "UNNEST"};
  ASSIGN_OR_RAISE(const BoundPtr argument, Expression(*relation.arguments[0], context));
  if (argument->type.kind != SqlKind::kArray) {
    return InvalidAt(relation.at, "UNNEST needs an ARRAY, type=", argument->type.ToString());
  }
  if (relation.ordinality)
    return ErrorAt(ErrorCode::kUnsupportedVersion, relation.at,
                   "WITH ORDINALITY is not supported yet");
  const SqlType& element = argument->type.children[0];
  const std::string item = NextName();
  BoundRelation bound{.sql = "(SELECT unnest(" + Emit(*argument) + ") AS " + item + ")"};
  const BoundPtr value = MakeColumn(item, element);
  if (element.kind == SqlKind::kRow) {
    for (size_t i = 0; i < element.children.size(); ++i) {
      ASSIGN_OR_RAISE(BoundPtr field, Field(value, element.names[i], relation.at));
      bound.columns.push_back({.name = element.names[i], .value = std::move(field)});
    }
  } else {
    bound.columns.push_back({.name = "EXPR$0", .value = value});
  }
  RETURN_NOT_OK(ApplyAlias(relation, &bound));
  return bound;
}

// Conditions that hold for every row of the result go into the scans that they concern.
void Binder::Impl::PushPredicates(const BoundPtr& condition,
                                  const std::vector<ScopeColumn>& columns) {
  if (condition->name == "AND") {
    for (const BoundPtr& arg : condition->args) PushPredicates(arg, columns);
    return;
  }
  const auto scan_column = [&](const std::string& internal) -> const ScopeColumn* {
    const auto found = std::ranges::find_if(columns, [&](const ScopeColumn& column) {
      return column.scan >= 0 && column.value->text == internal;
    });
    return found == columns.end() ? nullptr : &*found;
  };
  const Bound* column = PushedColumn(*condition);
  const ScopeColumn* scope = column == nullptr ? nullptr : scan_column(column->text);
  if (scope == nullptr) return;
  ScanUse& scan = scans_[static_cast<size_t>(scope->scan)];
  const SourceColumn& source = scan.source[static_cast<size_t>(scope->scan_column)];
  if (std::optional<Predicate> predicate = MakePredicate(*condition, source)) {
    scan.predicates.push_back(std::move(*predicate));
  }
}

}  // namespace sluice::sql
