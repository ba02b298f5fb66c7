#include <arrow/record_batch.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/admin.h"
#include "app/command_line.h"
#include "app/machine.h"
#include "app/segment_table.h"
#include "app/visible_text.h"
#include "base/json_text.h"
#include "log/log_state.h"
#include "log/segment.h"
#include "log/segment_walk.h"
#include "sql/format.h"
#include "wire/log_rows.h"

namespace sluice::app {
namespace {

using Json = nlohmann::ordered_json;

struct DumpOptions {
  std::string file;
  std::optional<int64_t> offset;
  bool rows = false;
  bool as_json = false;
  std::string schema;
  std::string log_format;
  std::string data_dir;
};

std::optional<int> ParseDumpOptions(const std::vector<std::string>& arguments, DumpOptions* out) {
  CLI::App parser(
      "Print the batches of a log segment, one a line. Reads the file alone, of a server that runs "
      "or does not, and changes nothing. The exit code is 1 when a batch is damaged.",
      "sluice admin dump");
  parser
      .add_option("SEGMENT", out->file,
                  "A .log file of a bucket, or any file of batches that follow each other")
      ->required();
  parser.add_option("--offset", out->offset, "Only the batch that holds this offset");
  parser.add_flag("--rows", out->rows,
                  "The rows of each batch, too; times with a time zone in UTC");
  parser.add_flag("--json", out->as_json, "One JSON object a line");
  parser.add_option("--schema", out->schema,
                    "Schema of the rows, as JSON or a file of it; else from the metadata of the "
                    "data folder that the file is in");
  parser
      .add_option("--log-format", out->log_format,
                  "With --schema: arrow, indexed or compacted; arrow when not given")
      ->check(CLI::IsMember({"arrow", "indexed", "compacted"}));
  parser.add_option("--data-dir", out->data_dir,
                    "Data folder whose metadata knows the table of the file");
  return ParseCommandLine(arguments, &parser);
}

types::LogFormat FormatNamed(const std::string& name) {
  if (name == "indexed") return types::LogFormat::kIndexed;
  if (name == "compacted") return types::LogFormat::kCompacted;
  return types::LogFormat::kArrow;
}

const char* NameOf(types::LogFormat format) {
  switch (format) {
    case types::LogFormat::kArrow:
      return "ARROW";
    case types::LogFormat::kIndexed:
      return "INDEXED";
    case types::LogFormat::kCompacted:
      return "COMPACTED";
  }
  return "";
}

const char* NameOf(wire::ArrowCompression compression) {
  switch (compression) {
    case wire::ArrowCompression::kNone:
      return "NONE";
    case wire::ArrowCompression::kLz4Frame:
      return "LZ4_FRAME";
    case wire::ArrowCompression::kZstd:
      return "ZSTD";
  }
  return "";
}

const char* NameOf(wire::ChangeType change) {
  switch (change) {
    case wire::ChangeType::kAppendOnly:
      return "+A";
    case wire::ChangeType::kInsert:
      return "+I";
    case wire::ChangeType::kUpdateBefore:
      return "-U";
    case wire::ChangeType::kUpdateAfter:
      return "+U";
    case wire::ChangeType::kDelete:
      return "-D";
  }
  return "?";
}

std::vector<sql::ResultColumn> ResultColumnsOf(const types::Schema& schema) {
  std::vector<sql::ResultColumn> columns;
  for (const types::Column& column : schema.columns)
    columns.push_back({column.name, column.type, column.type->ToString()});
  return columns;
}

// One dump.
class Dump {
 public:
  explicit Dump(const DumpOptions& options) : options_(options) {}

  // Whether all is whole.
  Result<bool> Run() {
    if (!options_.file.starts_with("/"))
      options_.file = io::JoinPath(CurrentFolder(), options_.file);
    RETURN_NOT_OK(LearnTable());
    const size_t slash = options_.file.rfind('/');
    const auto base = log::OffsetInName(options_.file.substr(slash + 1), log::kLogSuffix);
    // The epochs are known where the file is in its log's folder, "log-0".
    const std::string folder = io::FolderOf(options_.file);
    if (folder.substr(folder.rfind('/') + 1).starts_with("log-")) {
      auto state = log::LogState::Load(files_, folder);
      if (state.ok()) state_.emplace(std::move(*state));
    }
    const log::SegmentVisitor visitor{
        [this](const log::BatchScan::Batch& batch, std::string_view bytes, bool whole) {
          return OneBatch(batch, bytes, whole);
        },
        [this](const log::SegmentDamage& damage) {
          TellDamage(damage.offset, damage.position_bytes, damage.size_bytes,
                     damage.torn ? "last write did not end: " + damage.reason : damage.reason);
          return Status::OK();
        }};
    RETURN_NOT_OK(log::WalkSegment(files_, options_.file, base, visitor).status());
    if (options_.offset && !found_) {
      return Error(ErrorCode::kLogOffsetOutOfRange,
                   "no batch of the file holds the offset file=", options_.file,
                   " offset=", *options_.offset);
    }
    return damaged_ == 0;
  }

 private:
  Status LearnTable() {
    if (options_.schema.empty()) {
      ASSIGN_OR_RAISE(table_, TableOfSegment(files_, options_.file, options_.data_dir));
      if (options_.rows && !table_) {
        return Error(ErrorCode::kSchemaNotExist,
                     "no metadata knows the table of the file, give --schema or --data-dir file=",
                     options_.file);
      }
      return Status::OK();
    }
    std::string text = options_.schema;
    if (!text.starts_with("{")) {
      ASSIGN_OR_RAISE(text, files_.ReadFile(options_.schema));
    }
    ASSIGN_OR_RAISE(types::Schema schema, types::Schema::FromJson(text));
    given_schema_ = std::make_shared<const types::Schema>(std::move(schema));
    return Status::OK();
  }

  Status OneBatch(const log::BatchScan::Batch& batch, std::string_view bytes, bool whole) {
    const wire::LogBatchHeader& header = batch.header;
    if (options_.offset &&
        (*options_.offset < header.base_offset || *options_.offset > header.last_offset()))
      return Status::OK();
    found_ = true;
    Json line = HeaderLine(batch, whole);
    const auto view = wire::LogBatchView::Parse(bytes);
    if (view.ok()) AddBody(*view, &line);
    Json rows;
    Status decoded;
    if (options_.rows && whole && view.ok()) {
      auto read = RowsOf(*view);
      decoded = read.status();
      if (read.ok()) rows = *std::move(read);
    }
    if (options_.as_json && rows.is_array()) line["row_data"] = std::move(rows);
    PrintLine(line);
    if (!options_.as_json) {
      for (const Json& row : rows) PrintRow(row);
    }
    if (!whole) {
      TellDamage(header.base_offset, batch.position_bytes, header.size_bytes(), "wrong crc");
    } else if (!decoded.ok()) {
      if (CodeOf(decoded) != ErrorCode::kCorruptRecord) return decoded;
      TellDamage(header.base_offset, batch.position_bytes, header.size_bytes(),
                 "rows cannot be decoded: " + decoded.message());
    }
    return Status::OK();
  }

  Json HeaderLine(const log::BatchScan::Batch& batch, bool whole) const {
    const wire::LogBatchHeader& header = batch.header;
    Json line = {{"base_offset", header.base_offset},
                 {"last_offset", header.last_offset()},
                 {"rows", header.record_count},
                 {"schema_id", header.schema_id},
                 {"leader_epoch", state_ ? Json(state_->EpochAt(header.base_offset)) : Json()},
                 {"writer_id", header.writer_id},
                 {"sequence", header.batch_sequence},
                 {"timestamp_ms", header.commit_timestamp_ms},
                 {"magic", header.magic},
                 {"append_only", header.append_only()}};
    line["crc_ok"] = whole;
    line["position"] = batch.position_bytes;
    line["bytes"] = header.size_bytes();
    return line;
  }

  // What its body tells without a schema; where the table is known, its format.
  void AddBody(const wire::LogBatchView& view, Json* line) const {
    const auto compression = wire::CompressionOf(view);
    const bool empty = view.header().record_count == 0;
    Json format, codec;
    if (table_ || given_schema_ != nullptr) {
      format = NameOf(Format());
    } else if (!empty) {
      format = compression.ok() ? "ARROW" : "ROWS";
    }
    if (!empty && compression.ok()) codec = NameOf(*compression);
    (*line)["format"] = std::move(format);
    (*line)["compression"] = std::move(codec);
  }

  types::LogFormat Format() const {
    return given_schema_ != nullptr ? FormatNamed(options_.log_format) : table_->format;
  }

  // [offset, change, [values]] of each row.
  Result<Json> RowsOf(const wire::LogBatchView& view) const {
    Json rows = Json::array();
    const wire::LogBatchHeader& header = view.header();
    if (header.record_count == 0) return rows;
    std::shared_ptr<const types::Schema> schema = given_schema_;
    if (schema == nullptr) {
      ASSIGN_OR_RAISE(schema, table_->SchemaOf(header.schema_id));
    }
    ASSIGN_OR_RAISE(const auto decoded, wire::DecodeLogRows(view, Format(), *schema));
    std::string text;
    RETURN_NOT_OK(sql::AppendJsonRows(ResultColumnsOf(*schema), *decoded.rows, 0,
                                      decoded.rows->num_rows(), &text));
    Json values = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto change = decoded.changes.empty()
                              ? wire::ChangeType::kAppendOnly
                              : static_cast<wire::ChangeType>(decoded.changes[i]);
      rows.push_back({{"offset", header.base_offset + static_cast<int64_t>(i)},
                      {"change", NameOf(change)},
                      {"values", std::move(values[i])}});
    }
    return rows;
  }

  void PrintLine(const Json& line) const {
    if (options_.as_json) {
      std::printf("%s\n", TextOf(line).c_str());
      return;
    }
    std::string text;
    for (const auto& [name, value] : line.items()) {
      const std::string shown = value.is_null()     ? "-"
                                : value.is_string() ? value.get<std::string>()
                                                    : value.dump();
      text += (text.empty() ? "" : " ") + name + "=" + shown;
    }
    std::printf("%s\n", VisibleText(text).c_str());
  }

  static void PrintRow(const Json& row) {
    std::printf("  %s %s %s\n", row["offset"].dump().c_str(),
                row["change"].get<std::string>().c_str(),
                VisibleText(TextOf(row["values"])).c_str());
  }

  static std::string TextOf(const Json& json) { return JsonText(json); }

  void TellDamage(int64_t offset, uint64_t position, uint64_t bytes, const std::string& reason) {
    ++damaged_;
    if (options_.as_json) {
      PrintLine({{"damaged", true},
                 {"file", options_.file},
                 {"offset", offset},
                 {"position", position},
                 {"bytes", bytes},
                 {"reason", reason}});
    } else {
      std::printf("damaged file=%s offset=%lld position=%llu bytes=%llu: %s\n",
                  VisibleText(options_.file).c_str(), static_cast<long long>(offset),
                  static_cast<unsigned long long>(position), static_cast<unsigned long long>(bytes),
                  VisibleText(reason).c_str());
    }
  }

  DumpOptions options_;
  io::FileSystem& files_ = io::LocalFileSystem();
  std::optional<SegmentTable> table_;
  std::shared_ptr<const types::Schema> given_schema_;
  std::optional<log::LogState> state_;  // Of the folder that the file is in.
  bool found_ = false;
  uint64_t damaged_ = 0;
};

}  // namespace

int DumpMain(const std::vector<std::string>& args) {
  DumpOptions options;
  if (const auto answered = ParseDumpOptions(args, &options)) return *answered;
  const Result<bool> whole = Dump(options).Run();
  if (whole.ok()) return *whole ? 0 : 1;
  std::fprintf(stderr, "sluice admin dump: %s\n", VisibleText(whole.status().message()).c_str());
  return 1;
}

}  // namespace sluice::app
