#include "app/load.h"

#include <arrow/record_batch.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/cluster_view.h"
#include "app/load_options.h"
#include "app/load_source.h"
#include "app/visible_text.h"
#include "base/json_text.h"
#include "client/append_writer.h"
#include "client/socket_servers.h"
#include "client/upsert_writer.h"
#include "io/clock.h"

namespace sluice::app {
namespace {

using Rows = std::shared_ptr<arrow::RecordBatch>;

/// 1234567 as "1,234,567".
std::string Grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (int64_t at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<size_t>(at), ",");
  return text;
}

/// Writes with whichever writer the table needs; blocks until the loop has taken the rows.
class TableWriter {
 public:
  static Result<std::unique_ptr<TableWriter>> Open(io::Loop& loop, client::ClusterPtr cluster,
                                                   const types::TablePath& path, bool primary_key,
                                                   bool remove,
                                                   const client::WriterOptions& options) {
    auto writer = std::unique_ptr<TableWriter>(new TableWriter(loop, remove));
    if (primary_key) {
      ASSIGN_OR_RAISE(
          writer->upsert_,
          io::SyncWait(loop, client::UpsertWriter::Open(loop, std::move(cluster), path, options)));
    } else {
      ASSIGN_OR_RAISE(
          writer->append_,
          io::SyncWait(loop, client::AppendWriter::Open(loop, std::move(cluster), path, options)));
    }
    return writer;
  }

  Status Write(Rows rows) {
    if (append_ != nullptr) return io::SyncWait(loop_, append_->Append(std::move(rows)));
    return io::SyncWait(
        loop_, remove_ ? upsert_->Delete(std::move(rows)) : upsert_->Upsert(std::move(rows)));
  }
  Status Flush() {
    return io::SyncWait(loop_, append_ != nullptr ? append_->Flush() : upsert_->Flush());
  }
  client::WriteCounts counts() { return io::SyncWait(loop_, CountsOf(this)); }

 private:
  TableWriter(io::Loop& loop, bool remove) : loop_(loop), remove_(remove) {}
  static io::Task<client::WriteCounts> CountsOf(TableWriter* self) {
    co_return self->append_ != nullptr ? self->append_->counts() : self->upsert_->counts();
  }

  io::Loop& loop_;
  bool remove_;
  std::unique_ptr<client::AppendWriter> append_;
  std::unique_ptr<client::UpsertWriter> upsert_;
};

/// A line on the terminal that says how far the load is.
class Progress {
 public:
  Progress(bool shown, std::string table)
      : shown_(shown && isatty(STDERR_FILENO) != 0),
        table_(std::move(table)),
        started_(io::SystemClock().Monotonic()) {}

  double seconds() const {
    return std::chrono::duration<double>(io::SystemClock().Monotonic() - started_).count();
  }

  void Show(double fraction, int64_t acked) {
    const double now = seconds();
    if (!shown_ || now - last_ < 0.2) return;
    last_ = now;
    Draw(fraction, acked, now);
  }
  /// What was drawn last stays on the terminal: of a load that got through, that it did.
  void End(bool whole, int64_t acked) {
    if (drawn_ && whole) Draw(1, acked, seconds());
    if (drawn_) std::fputs("\n", stderr);
  }

 private:
  void Draw(double fraction, int64_t acked, double now) {
    const auto filled = static_cast<size_t>(fraction * kWidth);
    const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
    const std::string line = fmt::format(
        "\r{} [{}] {:3.0f}%  {} rows  {} rows/s ", table_, bar, fraction * 100, Grouped(acked),
        Grouped(static_cast<int64_t>(static_cast<double>(acked) / std::max(now, 0.001))));
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
    drawn_ = true;
  }

  static constexpr size_t kWidth = 30;
  bool shown_;
  std::string table_;
  std::chrono::nanoseconds started_;
  double last_ = 0;
  bool drawn_ = false;
};

/// One run of the command.
class Load {
 public:
  explicit Load(const LoadOptions& options)
      : options_(options), progress_(!options.quiet, options.table) {}

  int Run() {
    Status status = Prepare();
    for (size_t i = 0; status.ok() && i < options_.files.size(); ++i) status = LoadFile(i);
    // Also after a mistake: what was taken gets through, so that the count is exact.
    client::WriteCounts counts;
    if (writer_ != nullptr) {
      const Status flushed = writer_->Flush();
      if (status.ok()) status = flushed;
      counts = writer_->counts();
    }
    progress_.End(status.ok(), counts.rows_acked);
    Report(status, counts);
    writer_.reset();
    if (servers_ != nullptr) servers_->Close();
    return status.ok() ? 0 : 1;
  }

 private:
  Status Prepare() {
    loops_ = io::LoopThreads::Start("load", 1);
    ASSIGN_OR_RAISE(client_, ClientSettingsOf(options_.client));
    client_.sockets.bootstrap_servers = options_.bootstrap_servers;
    ASSIGN_OR_RAISE(servers_,
                    client::SocketServers::Make(client_.network(), {&loop()}, client_.sockets));
    auto cluster = client::Cluster::Make(servers_, client::Cluster::Options{});
    const types::TablePath path = PathOf(options_.table);
    TellWhileUnanswered();
    const auto found = io::SyncWait(loop(), cluster->Table(loop(), path));
    answered_->store(true);
    ASSIGN_OR_RAISE(const auto table, found);
    const types::Schema& schema = table->info.descriptor.schema;
    client::WriterOptions writer;
    writer.batch_rows = options_.batch_rows;
    RETURN_NOT_OK(ChooseColumns(schema, &writer));
    ASSIGN_OR_RAISE(writer_, TableWriter::Open(loop(), cluster, path, schema.has_primary_key(),
                                               options_.remove, writer));
    return Status::OK();
  }

  /// Nobody shall wonder what a command does that is silent until it has tried enough.
  void TellWhileUnanswered() {
    const auto tell = [answered = answered_, servers = options_.bootstrap_servers] {
      if (answered->load()) return;
      std::fprintf(stderr, "sluice load: waiting for an answer of %s\n",
                   VisibleText(servers).c_str());
    };
    loop().Post([&loop = loop(), tell] { loop.After(kSilenceMax, tell); });
  }

  /// Which columns of the table the files bring.
  Status ChooseColumns(const types::Schema& schema, client::WriterOptions* writer) {
    columns_ = schema.columns;
    if ((options_.remove || options_.partial) && !schema.has_primary_key()) {
      return Error(ErrorCode::kNonPrimaryKeyTable,
                   "table has no primary key table=", options_.table);
    }
    if (options_.remove) {
      columns_.clear();
      for (const std::string& name : schema.primary_key)
        columns_.push_back(schema.columns[schema.IndexOf(name)]);
      options_.ignore_extra = true;
    } else if (options_.partial) {
      ASSIGN_OR_RAISE(const auto names, ColumnNamesOf(options_.files[0], options_));
      std::erase_if(columns_, [&](const types::Column& column) {
        return std::ranges::find(names, column.name) == names.end();
      });
      for (const types::Column& column : columns_) writer->target_columns.push_back(column.name);
    }
    return Status::OK();
  }

  Status LoadFile(size_t index) {
    ASSIGN_OR_RAISE(const auto source, LoadSource::Open(options_.files[index], columns_, options_));
    for (;;) {
      ASSIGN_OR_RAISE(Rows rows, source->Next());
      if (rows == nullptr) return Status::OK();
      rows_read_ += rows->num_rows();
      RETURN_NOT_OK(WritePaced(std::move(rows)));
      const double done = (static_cast<double>(index) + source->fraction()) /
                          static_cast<double>(options_.files.size());
      progress_.Show(done, writer_->counts().rows_acked);
    }
  }

  /// Write at the pace asked for: in pieces of a tenth of a second.
  Status WritePaced(Rows rows) {
    const int64_t rate = options_.rows_per_second;
    if (rate == 0) return writer_->Write(std::move(rows));
    const int64_t piece = std::max<int64_t>(1, rate / 10);
    for (int64_t from = 0; from < rows->num_rows(); from += piece) {
      const int64_t count = std::min(piece, rows->num_rows() - from);
      RETURN_NOT_OK(writer_->Write(rows->Slice(from, count)));
      rows_paced_ += count;
      const double due = static_cast<double>(rows_paced_) / static_cast<double>(rate);
      const double wait_ms = (due - progress_.seconds()) * 1000;
      if (wait_ms >= 1)
        io::SyncWait(loop(),
                     Pause(loop(), std::chrono::milliseconds(static_cast<int64_t>(wait_ms))));
    }
    return Status::OK();
  }

  static io::Task<void> Pause(io::Loop& loop, std::chrono::milliseconds delay) {
    co_await io::Sleep(loop, delay);
  }

  void Report(const Status& status, const client::WriteCounts& counts) const {
    const double seconds = progress_.seconds();
    const auto rate =
        static_cast<int64_t>(static_cast<double>(counts.rows_acked) / std::max(seconds, 0.001));
    if (!status.ok())
      std::fprintf(stderr, "sluice load: %s\n", VisibleText(status.message()).c_str());
    if (options_.json) {
      nlohmann::ordered_json line = {
          {"table", options_.table},     {"files", options_.files.size()},
          {"rows_read", rows_read_},     {"rows", counts.rows_acked},
          {"deleted", options_.remove},  {"batches", counts.batches_acked},
          {"bytes", counts.bytes_acked}, {"retries", counts.retries},
          {"seconds", seconds},          {"rows_per_second", rate}};
      if (!status.ok()) line["error"] = status.message();
      const std::string text = JsonText(line);
      std::printf("%s\n", text.c_str());
    } else {
      std::printf("%s %s acknowledged by %s in %.1f s (%s rows/s)\n",
                  Grouped(counts.rows_acked).c_str(), counts.rows_acked == 1 ? "row" : "rows",
                  options_.table.c_str(), seconds, Grouped(rate).c_str());
    }
  }

  io::Loop& loop() { return loops_->at(0); }

  static constexpr std::chrono::milliseconds kSilenceMax{500};

  LoadOptions options_;
  Progress progress_;
  std::shared_ptr<std::atomic<bool>> answered_ = std::make_shared<std::atomic<bool>>(false);
  ClientSettings client_;
  std::unique_ptr<io::LoopThreads> loops_;
  std::shared_ptr<client::SocketServers> servers_;
  std::unique_ptr<TableWriter> writer_;
  std::vector<types::Column> columns_;
  int64_t rows_read_ = 0;
  int64_t rows_paced_ = 0;
};

}  // namespace

int LoadMain(const std::vector<std::string>& args) {
  LoadOptions options;
  if (const auto answered = ParseLoadOptions(args, &options)) return *answered;
  return Load(options).Run();
}

}  // namespace sluice::app
