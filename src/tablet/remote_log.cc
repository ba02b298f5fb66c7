#include "tablet/remote_log.h"

#include <algorithm>

#include "types/kv_snapshot.h"
#include "wire/proto/log.pb.h"

namespace sluice::tablet {
namespace {

Status Expired(const RemoteLog& remote, int64_t offset) {
  return Error(ErrorCode::kLogOffsetOutOfRange,
               "offset is not in the remote log any more offset=", offset,
               " start=", remote.record().start_offset, " ", remote.options().id);
}

// The path of a folder as clients take it: with a scheme.
std::string UriOf(const std::string& path) {
  const bool has_scheme = path.find(":/") != std::string::npos;
  return has_scheme ? path : "file://" + path;
}

// Clients are told sizes as i32.
bool IsNameable(const log::RemoteSegment& segment) { return segment.size_bytes <= INT32_MAX; }

Result<log::RemoteManifest> ReadManifest(io::FileSystem& files, const std::string& path,
                                         const types::BucketId& id) {
  const auto text = files.ReadFile(path);
  if (!text.ok()) {
    return Error(ErrorCode::kLogStorage, "remote log manifest cannot be read file=", path,
                 " cause=", text.status().message());
  }
  ASSIGN_OR_RAISE(log::RemoteManifest manifest, log::RemoteManifest::FromJson(*text));
  if (manifest.bucket != id)
    return Corrupt("remote log manifest is of another bucket file=", path, " ", manifest.bucket);
  return manifest;
}

using RemoteReader = std::shared_ptr<const log::RemoteSegmentReader>;

// Closing a file may wait for the storage too: wherever the last user lets go of it, the pool
// closes it.
RemoteReader ClosedByPool(RemoteReader reader, io::Pool* pool) {
  const auto* opened = reader.get();
  auto close = [reader = std::move(reader),
                pool](const log::RemoteSegmentReader* /*opened*/) mutable {
    // A pool that is full or has ended leaves it to this thread.
    (void)pool->TryPost([last = std::move(reader)] {});
  };
  return RemoteReader(opened, std::move(close));
}

// Runs on the pool.
Result<RemoteLog::Records> RecordsOf(const log::Log::Slice& slice, const RemoteLog::Cut& cut) {
  RemoteLog::Records records{.bytes = nullptr, .next_offset = slice.next_offset};
  CutBatches found;
  if (cut != nullptr) {
    ASSIGN_OR_RAISE(found, cut(slice));
    records.filtered_end = found.filtered_end();
    records.batches_skipped = found.batches_skipped;
  } else {
    for (const auto& range : slice.ranges) found.records.Add(range);
  }
  ASSIGN_OR_RAISE(std::string bytes, found.records.Flatten());
  records.bytes = std::make_shared<const std::string>(std::move(bytes));
  return records;
}

Result<RemoteLog::Records> ReadRecords(const log::RemoteSegmentReader& reader, int64_t offset,
                                       uint64_t max_bytes, const RemoteLog::Cut& cut) {
  ASSIGN_OR_RAISE(const log::Log::Slice slice, reader.Read(offset, max_bytes));
  auto records = RecordsOf(slice, cut);
  if (!records.status().IsIOError()) return records;
  return Error(ErrorCode::kLogStorage, "remote segment cannot be read offset=", offset,
               " cause=", records.status().message());
}

}  // namespace

void RemoteLog::Refresh() {
  const std::string known = record_.manifest_path;
  record_ = options_.server->tables->RemoteLogOf(options_.id);
  if (record_.manifest_path != known) manifest_ = nullptr;
}

int64_t RemoteLog::StartOffset(int64_t local_start) const {
  // A gap between the two parts, as after a time without remote storage: the remote one is of no
  // use then, since nobody can read on from it.
  const bool joins = record_.start_offset >= 0 && record_.end_offset >= local_start;
  return joins ? std::min(record_.start_offset, local_start) : local_start;
}

std::string RemoteLog::folder() const {
  return log::RemoteBucketFolder(types::RemotePath(record_.root), options_.path,
                                 options_.partition_name, options_.id);
}

log::RemoteManifest RemoteLog::EmptyManifest() const {
  log::RemoteManifest manifest;
  manifest.path = options_.path;
  manifest.partition_name = options_.partition_name;
  manifest.bucket = options_.id;
  return manifest;
}

io::Task<Status> RemoteLog::Load(std::shared_ptr<RemoteLog> self) {
  while (self->manifest_ == nullptr) {
    const std::string path = self->record_.manifest_path;
    if (path.empty()) {
      self->manifest_ = std::make_shared<const log::RemoteManifest>(self->EmptyManifest());
      break;
    }
    const TabletOptions& server = *self->options_.server;
    auto read = [files = server.files, path, id = self->options_.id] {
      return ReadManifest(*files, types::RemotePath(path), id);
    };
    auto manifest = co_await server.remote_pool->Run(*self->options_.loop, std::move(read));
    // Another one may be on record by now.
    if (self->record_.manifest_path != path) continue;
    CO_RETURN_NOT_OK(manifest.status());
    self->manifest_ = std::make_shared<const log::RemoteManifest>(*std::move(manifest));
  }
  co_return Status::OK();
}

void RemoteLog::Adopt(RemoteLogRecord record, log::RemoteManifest manifest) {
  record_ = std::move(record);
  manifest_ = std::make_shared<const log::RemoteManifest>(std::move(manifest));
}

void RemoteLog::Forget() {
  Refresh();
  manifest_ = nullptr;
}

Result<log::RemoteSegment> RemoteLog::SegmentAt(int64_t offset) const {
  const size_t index = manifest_->IndexOf(offset);
  if (index == manifest_->segments.size()) return Expired(*this, offset);
  return manifest_->segments[index];
}

io::Task<Result<RemoteLog::Reader>> RemoteLog::Open(std::shared_ptr<RemoteLog> self,
                                                    log::RemoteSegment segment) {
  self->read_since_ = true;
  if (self->open_ != nullptr && self->open_->segment() == segment) co_return self->open_;
  const TabletOptions& server = *self->options_.server;
  auto open = [files = server.files, folder = self->folder(), segment] {
    return log::RemoteSegmentReader::Open(*files, folder, segment);
  };
  CO_ASSIGN_OR_RETURN(Reader reader,
                      co_await server.remote_pool->Run(*self->options_.loop, std::move(open)));
  self->open_ = ClosedByPool(std::move(reader), server.remote_pool);
  co_return self->open_;
}

io::Task<Result<std::string>> RemoteLog::FetchInfo(std::shared_ptr<RemoteLog> self,
                                                   int64_t offset) {
  CO_RETURN_NOT_OK(co_await Load(self));
  const std::shared_ptr<const log::RemoteManifest> manifest = self->manifest_;
  CO_ASSIGN_OR_RETURN(const log::RemoteSegment first, self->SegmentAt(offset));
  if (!IsNameable(first)) co_return "";
  CO_ASSIGN_OR_RETURN(const Reader reader, co_await Open(self, first));
  wire::PbRemoteLogFetchInfo info;
  info.set_remote_log_tablet_dir(UriOf(self->folder()));
  if (self->options_.id.partition_id) info.set_partition_name(self->options_.partition_name);
  info.set_first_start_pos(static_cast<int32_t>(reader->PositionOf(offset)));
  for (size_t i = manifest->IndexOf(offset); i < manifest->segments.size(); ++i) {
    const log::RemoteSegment& segment = manifest->segments[i];
    if (!IsNameable(segment)) break;
    auto* entry = info.add_remote_log_segments();
    entry->set_remote_log_segment_id(segment.id);
    entry->set_remote_log_start_offset(segment.start_offset);
    entry->set_remote_log_end_offset(segment.end_offset);
    entry->set_segment_size_in_bytes(static_cast<int32_t>(segment.size_bytes));
    entry->set_max_timestamp(segment.largest_timestamp_ms);
  }
  co_return info.SerializeAsString();
}

io::Task<Result<RemoteLog::Records>> RemoteLog::Read(std::shared_ptr<RemoteLog> self,
                                                     int64_t offset, uint64_t max_bytes, Cut cut) {
  CO_RETURN_NOT_OK(co_await Load(self));
  CO_ASSIGN_OR_RETURN(const log::RemoteSegment segment, self->SegmentAt(offset));
  CO_ASSIGN_OR_RETURN(const Reader reader, co_await Open(self, segment));
  auto read = [reader, offset, max_bytes, cut = std::move(cut)] {
    return ReadRecords(*reader, offset, max_bytes, cut);
  };
  const TabletOptions& server = *self->options_.server;
  co_return co_await server.remote_pool->Run(*self->options_.loop, std::move(read));
}

io::Task<Result<std::optional<int64_t>>> RemoteLog::OffsetOfTimestamp(
    std::shared_ptr<RemoteLog> self, int64_t timestamp_ms, int64_t local) {
  CO_RETURN_NOT_OK(co_await Load(self));
  const size_t index = self->manifest_->IndexOfTimestamp(timestamp_ms);
  if (index == self->manifest_->segments.size()) co_return std::nullopt;
  const log::RemoteSegment segment = self->manifest_->segments[index];
  if (segment.start_offset >= local) co_return std::nullopt;
  CO_ASSIGN_OR_RETURN(const Reader reader, co_await Open(self, segment));
  auto find = [reader, timestamp_ms] { return reader->OffsetOfTimestamp(timestamp_ms); };
  const TabletOptions& server = *self->options_.server;
  CO_ASSIGN_OR_RETURN(const int64_t offset,
                      co_await server.remote_pool->Run(*self->options_.loop, std::move(find)));
  if (offset >= local) co_return std::nullopt;
  co_return offset;
}

void RemoteLog::ForgetUnread() {
  if (!std::exchange(read_since_, false)) open_ = nullptr;
}

RemoteLog::Numbers RemoteLog::numbers() const {
  Numbers numbers = counted_;
  if (manifest_ != nullptr) {
    numbers.segments = manifest_->segments.size();
    numbers.size_bytes = manifest_->size_bytes();
  }
  return numbers;
}

}  // namespace sluice::tablet
