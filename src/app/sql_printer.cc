#include "app/sql_printer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "app/visible_text.h"

namespace sluice::app {
namespace {

using nlohmann::json;

// Text of a cell: strings as they are, all else as JSON.
std::string CellText(const json& cell) {
  if (cell.is_string()) return cell.get<std::string>();
  return cell.dump();
}

bool TakeStart(std::string_view* type, std::string_view start) {
  if (!type->starts_with(start)) return false;
  type->remove_prefix(start.size());
  return true;
}

// Takes a type without parts off the front: up to the next comma or bracket outside parentheses.
std::string_view TakePlainType(std::string_view* type) {
  size_t end = 0;
  for (int depth = 0; end < type->size(); ++end) {
    const char c = (*type)[end];
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth == 0 && (c == ',' || c == '>')) break;
  }
  const std::string_view plain = type->substr(0, end);
  type->remove_prefix(end);
  return plain;
}

// Text of a cell as Flink's shell shows its type: [a, b] for ARRAY, {k=v} for MAP, (a, b) for ROW,
// x'00ff' for bytes. Takes the type off the front of `type`, also when the cell is NULL.
std::string TypedText(const json& cell, std::string_view* type) {
  const json none;
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (TakeStart(type, "ARRAY<")) {
    const std::string_view element = *type;
    TypedText(none, type);
    for (const json& item : cell.is_array() ? cell : json::array()) {
      std::string_view of = element;
      add(TypedText(item, &of));
    }
    text = "[" + text + "]";
  } else if (TakeStart(type, "MAP<")) {
    const std::string_view key = *type;
    TypedText(none, type);
    TakeStart(type, ", ");
    const std::string_view value = *type;
    TypedText(none, type);
    for (const json& pair : cell.is_array() ? cell : json::array()) {
      if (!pair.is_array() || pair.size() != 2) continue;
      std::string_view key_of = key;
      std::string_view value_of = value;
      const std::string first = TypedText(pair.at(0), &key_of);
      add(first + "=" + TypedText(pair.at(1), &value_of));
    }
    text = "{" + text + "}";
  } else if (TakeStart(type, "ROW<")) {
    while (TakeStart(type, "`")) {
      const size_t end = std::min(type->find("` "), type->size());
      const std::string name(type->substr(0, end));
      type->remove_prefix(std::min(end + 2, type->size()));
      add(TypedText(cell.is_object() && cell.contains(name) ? cell[name] : none, type));
      TakeStart(type, ", ");
    }
    text = "(" + text + ")";
  } else {
    const std::string_view plain = TakePlainType(type);
    if (cell.is_null()) return "NULL";
    text = CellText(cell);
    const bool bytes =
        plain.starts_with("BYTES") || plain.starts_with("BINARY") || plain.starts_with("VARBINARY");
    return bytes && text.starts_with("0x") ? "x'" + text.substr(2) + "'" : text;
  }
  TakeStart(type, ">");
  TakeStart(type, " NOT NULL");
  return cell.is_null() ? "NULL" : text;
}

Status CheckWidth(const json& row, size_t columns) {
  if (row.size() == columns) return Status::OK();
  return Error(ErrorCode::kNetwork,
               "a row of the answer does not fit its columns columns=", columns,
               " got=", row.size());
}

// Columns on a terminal: continuation bytes take none, wide East Asian characters two.
size_t DisplayWidth(const std::string& text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xc0) == 0x80) continue;
    const bool wide = byte >= 0xe3 && byte <= 0xef;  // U+3000 to U+FFFF, near enough.
    width += wide ? 2 : 1;
  }
  return width;
}

class TablePrinter : public SqlPrinter {
 public:
  // Rows that decide the widths; later ones may stick out.
  static constexpr size_t kMeasuredRows = 1000;

  explicit TablePrinter(std::ostream& out) : out_(out) {}

  void Columns(const json& columns) override {
    for (const json& column : columns) {
      names_.push_back(VisibleText(column["name"].get<std::string>()));
      widths_.push_back(DisplayWidth(names_.back()));
      types_.push_back(column["type"].get<std::string>());
      right_.push_back(IsNumeric(types_.back()));
    }
  }

  Status Rows(const json& rows) override {
    for (const json& row : rows) {
      RETURN_NOT_OK(CheckWidth(row, names_.size()));
      std::vector<std::string> cells;
      for (size_t i = 0; i < row.size(); ++i) {
        std::string_view type = types_[i];
        cells.push_back(VisibleLines(TypedText(row[i], &type)));
      }
      count_ += 1;
      if (header_printed_) {
        Row(cells);
        continue;
      }
      for (size_t i = 0; i < cells.size(); ++i)
        widths_[i] = std::max(widths_[i], CellWidth(cells[i]));
      measured_.push_back(std::move(cells));
      if (measured_.size() == kMeasuredRows) Header();
    }
    return Status::OK();
  }

  void End(int64_t written) override {
    if (!names_.empty()) {
      if (!header_printed_) Header();
      Rule();
      out_ << count_ << (count_ == 1 ? " row\n" : " rows\n");
    } else if (written >= 0) {
      out_ << written << (written == 1 ? " row written\n" : " rows written\n");
    } else {
      out_ << "OK\n";
    }
  }

 private:
  static bool IsNumeric(const std::string& type) {
    for (const char* start :
         {"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"}) {
      if (type.starts_with(start)) return true;
    }
    return false;
  }

  void Header() {
    header_printed_ = true;
    Rule();
    Line(names_);
    Rule();
    for (const auto& cells : measured_) Row(cells);
    measured_.clear();
  }

  void Rule() {
    for (const size_t width : widths_) out_ << '+' << std::string(width + 2, '-');
    out_ << "+\n";
  }

  // A cell of several lines (EXPLAIN, SHOW CREATE TABLE) is printed as several lines of the table.
  void Row(const std::vector<std::string>& cells) {
    std::vector<std::vector<std::string>> lines;
    for (size_t i = 0; i < cells.size(); ++i) {
      std::istringstream text(cells[i]);
      std::string line;
      for (size_t n = 0; std::getline(text, line) || n == 0; ++n) {
        if (n == lines.size()) lines.emplace_back(cells.size());
        lines[n][i] = line;
      }
    }
    for (const auto& line : lines) Line(line);
  }

  static size_t CellWidth(const std::string& cell) {
    std::istringstream text(cell);
    size_t widest = 0;
    for (std::string line; std::getline(text, line);) widest = std::max(widest, DisplayWidth(line));
    return widest;
  }

  void Line(const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) {
      const size_t width = DisplayWidth(cells[i]);
      const std::string padding(widths_[i] > width ? widths_[i] - width : 0, ' ');
      out_ << "| " << (right_[i] ? padding + cells[i] : cells[i] + padding) << ' ';
    }
    out_ << "|\n";
  }

  std::ostream& out_;
  std::vector<std::string> names_;
  std::vector<std::string> types_;  // As Flink prints them.
  std::vector<size_t> widths_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> measured_;
  bool header_printed_ = false;
  int64_t count_ = 0;
};

class CsvPrinter : public SqlPrinter {
 public:
  explicit CsvPrinter(std::ostream& out) : out_(out) {}
  void Columns(const json& columns) override {
    width_ = columns.size();
    for (size_t i = 0; i < columns.size(); ++i)
      out_ << (i == 0 ? "" : ",") << Quoted(columns[i]["name"].get<std::string>());
    out_ << "\n";
  }
  Status Rows(const json& rows) override {
    for (const json& row : rows) {
      RETURN_NOT_OK(CheckWidth(row, width_));
      for (size_t i = 0; i < row.size(); ++i) {
        // NULL is nothing between the commas, an empty string is "".
        out_ << (i == 0 ? "" : ",") << (row[i].is_null() ? "" : Quoted(CellText(row[i])));
      }
      out_ << "\n";
    }
    return Status::OK();
  }
  void End(int64_t) override {}

 private:
  static std::string Quoted(const std::string& text) {
    if (!text.empty() && text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) {
      if (c == '"') quoted += '"';
      quoted += c;
    }
    return quoted + "\"";
  }

  std::ostream& out_;
  size_t width_ = 0;
};

// The columns' names, each once: a later column of a name has the first of `name_1`, `name_2` …
// that no column has.
std::vector<std::string> DistinctNames(const json& columns) {
  std::set<std::string> taken;
  for (const json& column : columns) taken.insert(column["name"].get<std::string>());
  std::set<std::string> seen;
  std::vector<std::string> names;
  for (const json& column : columns) {
    const auto own = column["name"].get<std::string>();
    std::string name = own;
    const bool again = !seen.insert(own).second;
    for (int i = 1; again && !taken.insert(name).second; ++i) name = own + "_" + std::to_string(i);
    names.push_back(std::move(name));
  }
  return names;
}

class JsonPrinter : public SqlPrinter {
 public:
  explicit JsonPrinter(std::ostream& out) : out_(out) {}
  void Columns(const json& columns) override {
    for (const std::string& name : DistinctNames(columns)) names_.push_back(json(name).dump());
  }
  Status Rows(const json& rows) override {
    for (const json& row : rows) {
      RETURN_NOT_OK(CheckWidth(row, names_.size()));
      // Written by hand: their order is the query's.
      out_ << '{';
      for (size_t i = 0; i < row.size(); ++i)
        out_ << (i == 0 ? "" : ",") << names_[i] << ':' << row[i].dump();
      out_ << "}\n";
    }
    return Status::OK();
  }
  void End(int64_t) override {}

 private:
  std::ostream& out_;
  std::vector<std::string> names_;
};

}  // namespace

Result<std::unique_ptr<SqlPrinter>> SqlPrinter::Make(const std::string& format, std::ostream& out) {
  if (format == "table") return std::make_unique<TablePrinter>(out);
  if (format == "csv") return std::make_unique<CsvPrinter>(out);
  if (format == "json") return std::make_unique<JsonPrinter>(out);
  return Error(ErrorCode::kInvalidConfig,
               "unknown output format, known are table, csv, json format=", format);
}

}  // namespace sluice::app
