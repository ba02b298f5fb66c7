#include "sql/parser_internal.h"

namespace sluice::sql {

using BodyPtr = std::unique_ptr<ast::Body>;

bool Parser::StartsQuery(size_t ahead) const {
  while (PeekSymbol("(", ahead)) ++ahead;
  return PeekWord("SELECT", ahead) || PeekWord("WITH", ahead) || PeekWord("VALUES", ahead);
}

Result<ast::QueryPtr> Parser::Query() {
  RETURN_NOT_OK(CheckDepth());
  const Depth depth(*this);
  auto query = std::make_unique<ast::Query>();
  query->at = Peek().at;
  if (AcceptWord("WITH")) {
    if (PeekWord("RECURSIVE")) return NotCovered(Peek().at, "WITH RECURSIVE");
    do {
      ASSIGN_OR_RAISE(ast::CommonTable table, CommonTable());
      query->with.push_back(std::move(table));
    } while (AcceptSymbol(","));
  }
  ASSIGN_OR_RAISE(query->body, SetBody(0));
  if (AcceptWords({"ORDER", "BY"})) {
    ASSIGN_OR_RAISE(query->order_by, SortKeys());
  }
  if (AcceptWord("LIMIT")) {
    if (!AcceptWord("ALL")) {
      ASSIGN_OR_RAISE(query->limit, Expression());
    }
  }
  if (AcceptWord("OFFSET")) {
    ASSIGN_OR_RAISE(query->offset, Expression());
    if (!AcceptWord("ROW")) AcceptWord("ROWS");
  }
  if (AcceptWord("FETCH")) {
    if (!AcceptWord("FIRST")) RETURN_NOT_OK(ExpectWord("NEXT"));
    ASSIGN_OR_RAISE(query->limit, Primary());
    if (!AcceptWord("ROW")) RETURN_NOT_OK(ExpectWord("ROWS"));
    RETURN_NOT_OK(ExpectWord("ONLY"));
  }
  return query;
}

Result<ast::CommonTable> Parser::CommonTable() {
  ast::CommonTable table{.at = Peek().at};
  ASSIGN_OR_RAISE(table.name, Identifier("a name"));
  if (PeekSymbol("(")) {
    ASSIGN_OR_RAISE(table.columns, NameList("a column name"));
  }
  RETURN_NOT_OK(ExpectWord("AS"));
  RETURN_NOT_OK(ExpectSymbol("("));
  ASSIGN_OR_RAISE(ast::QueryPtr query, Query());
  table.query = std::move(query);
  RETURN_NOT_OK(ExpectSymbol(")"));
  return table;
}

// UNION and EXCEPT bind alike, INTERSECT tighter.
Result<BodyPtr> Parser::SetBody(int least_precedence) {
  RETURN_NOT_OK(CheckDepth());
  const Depth depth(*this);
  const Subtree subtree(*this);
  ASSIGN_OR_RAISE(BodyPtr left, SimpleBody());
  while (true) {
    ast::SetOperation operation{.at = Peek().at};
    int precedence = 1;
    if (PeekWord("UNION")) {
      operation.op = ast::SetOperation::Op::kUnion;
    } else if (PeekWord("EXCEPT") || PeekWord("MINUS")) {
      operation.op = ast::SetOperation::Op::kExcept;
    } else if (PeekWord("INTERSECT")) {
      operation.op = ast::SetOperation::Op::kIntersect;
      precedence = 2;
    } else {
      return left;
    }
    if (precedence <= least_precedence) return left;
    Take();
    operation.all = AcceptWord("ALL");
    if (!operation.all) AcceptWord("DISTINCT");
    ASSIGN_OR_RAISE(BodyPtr right, SetBody(precedence));
    auto* chain = std::get_if<ast::SetOperation>(&left->node);
    if (chain != nullptr && chain->op == ast::SetOperation::Op::kUnion &&
        operation.op == chain->op && operation.all == chain->all) {
      if (chain->operands.size() >= kUnionMax) {
        return InvalidAt(operation.at, "UNION has too many queries, limit=", kUnionMax);
      }
      chain->operands.push_back(std::move(right));
      continue;
    }
    RETURN_NOT_OK(Raise());
    operation.operands.push_back(std::move(left));
    operation.operands.push_back(std::move(right));
    left = MakeBody(std::move(operation));
  }
}

Result<BodyPtr> Parser::SimpleBody() {
  if (AcceptSymbol("(")) {
    ASSIGN_OR_RAISE(ast::QueryPtr query, Query());
    RETURN_NOT_OK(ExpectSymbol(")"));
    return MakeBody(std::move(query));
  }
  if (PeekWord("VALUES")) {
    ASSIGN_OR_RAISE(ast::Values values, ValuesClause());
    return MakeBody(std::move(values));
  }
  if (PeekWord("TABLE") && PeekIdentifier(1)) return NotCovered(Peek().at, "TABLE as a query");
  ASSIGN_OR_RAISE(ast::Select select, SelectClause());
  return MakeBody(std::move(select));
}

Result<ast::Values> Parser::ValuesClause() {
  ast::Values values{.at = Peek().at};
  RETURN_NOT_OK(ExpectWord("VALUES"));
  do {
    std::vector<ast::ExprPtr> row;
    const bool worded = PeekWord("ROW") && PeekSymbol("(", 1);
    if (worded) Take();
    if (PeekSymbol("(") && (worded || !StartsQuery())) {
      ASSIGN_OR_RAISE(row, Arguments());
    } else {
      ASSIGN_OR_RAISE(ast::ExprPtr single, Expression());
      row.push_back(std::move(single));
    }
    values.rows.push_back(std::move(row));
  } while (AcceptSymbol(","));
  return values;
}

Result<ast::Select> Parser::SelectClause() {
  ast::Select select{.at = Peek().at};
  RETURN_NOT_OK(ExpectWord("SELECT"));
  RETURN_NOT_OK(SelectHints());
  select.distinct = AcceptWord("DISTINCT");
  if (!select.distinct) AcceptWord("ALL");
  do {
    ast::SelectItem item;
    ASSIGN_OR_RAISE(item.expr, Expression());
    if (AcceptWord("AS")) {
      // After AS any word that does not end the item serves as a name, reserved in Flink or not.
      ASSIGN_OR_RAISE(item.alias, Identifier("a column name"));
    } else if (PeekIdentifier()) {
      item.alias = Take().text;
    }
    select.items.push_back(std::move(item));
  } while (AcceptSymbol(","));
  if (AcceptWord("FROM")) {
    ASSIGN_OR_RAISE(select.from, FromClause());
  }
  if (AcceptWord("WHERE")) {
    ASSIGN_OR_RAISE(select.where, Expression());
  }
  if (AcceptWords({"GROUP", "BY"})) RETURN_NOT_OK(GroupBy(&select));
  if (AcceptWord("HAVING")) {
    ASSIGN_OR_RAISE(select.having, Expression());
  }
  if (PeekWord("QUALIFY")) return NotCovered(Peek().at, "QUALIFY");
  if (AcceptWord("WINDOW")) {
    do {
      ASSIGN_OR_RAISE(std::string name, Identifier("a window name"));
      RETURN_NOT_OK(ExpectWord("AS"));
      ASSIGN_OR_RAISE(ast::WindowSpec window, Window());
      select.windows.emplace(std::move(name), std::move(window));
    } while (AcceptSymbol(","));
  }
  return select;
}

Status Parser::GroupBy(ast::Select* select) {
  select->grouped = true;
  do {
    RETURN_NOT_OK(GroupingElement(select));
  } while (AcceptSymbol(","));
  return Status::OK();
}

// One element: an expression, or GROUPING SETS, ROLLUP or CUBE standing alone.
Status Parser::GroupingElement(ast::Select* select) {
  const Position at = Peek().at;
  const bool sets = PeekWords({"GROUPING", "SETS"});
  const bool rollup = PeekWord("ROLLUP") && PeekSymbol("(", 1);
  const bool cube = PeekWord("CUBE") && PeekSymbol("(", 1);
  if (!sets && !rollup && !cube) {
    if (!select->grouping_sets.empty())
      return NotCovered(at, "GROUP BY with an expression beside grouping sets");
    if (PeekSymbol("(") && PeekSymbol(")", 1)) {
      Take();
      Take();  // GROUP BY (): one group.
      return Status::OK();
    }
    ASSIGN_OR_RAISE(ast::ExprPtr expr, Expression());
    if (expr->kind == ast::ExprKind::kRow && expr->name.empty()) {
      for (ast::ExprPtr& part : expr->args) select->group_by.push_back(std::move(part));
    } else {
      select->group_by.push_back(std::move(expr));
    }
    return Status::OK();
  }
  if (!select->group_by.empty())
    return NotCovered(at, "GROUP BY with an expression beside grouping sets");
  Take();
  if (sets) Take();
  RETURN_NOT_OK(ExpectSymbol("("));
  std::vector<std::vector<size_t>> elements;
  do {
    std::vector<size_t> positions;
    if (AcceptSymbol("(")) {
      while (!PeekSymbol(")")) {
        ASSIGN_OR_RAISE(ast::ExprPtr expr, Expression());
        positions.push_back(select->group_by.size());
        select->group_by.push_back(std::move(expr));
        if (!AcceptSymbol(",")) break;
      }
      RETURN_NOT_OK(ExpectSymbol(")"));
    } else {
      ASSIGN_OR_RAISE(ast::ExprPtr expr, Expression());
      positions.push_back(select->group_by.size());
      select->group_by.push_back(std::move(expr));
    }
    elements.push_back(std::move(positions));
  } while (AcceptSymbol(","));
  RETURN_NOT_OK(ExpectSymbol(")"));
  if (sets) {
    select->grouping_sets = std::move(elements);
    return Status::OK();
  }
  if (cube && elements.size() > 12) return InvalidAt(at, "CUBE has too many elements, limit=12");
  const auto add = [&](auto&& chosen) {
    std::vector<size_t> set;
    for (size_t i = 0; i < elements.size(); ++i) {
      if (chosen(i)) set.insert(set.end(), elements[i].begin(), elements[i].end());
    }
    select->grouping_sets.push_back(std::move(set));
  };
  if (rollup) {
    for (size_t kept = elements.size() + 1; kept-- > 0;) add([kept](size_t i) { return i < kept; });
  } else {
    for (size_t mask = size_t{1} << elements.size(); mask-- > 0;)
      add([mask](size_t i) { return (mask >> i & 1) != 0; });
  }
  return Status::OK();
}

}  // namespace sluice::sql
