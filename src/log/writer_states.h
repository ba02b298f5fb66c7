#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "wire/log_batch.h"

namespace sluice::log {

/// What a log remembers about its idempotent writers: the last batches of each, to tell a retry
/// from news.
///
/// Source: WriterStateManager of the Java server. Threads: confined to the shard that owns the
/// bucket.
class WriterStates {
 public:
  /// Clients keep at most this many batches of a bucket in flight.
  static constexpr size_t kBatchesKept = 5;
  /// Writers of one bucket. Beyond it the eighth that has been silent longest is forgotten: whoever
  /// invents ids must not fill memory and snapshots.
  static constexpr size_t kWritersMax = 1 << 14;

  struct Batch {
    int32_t sequence;
    int64_t base_offset;
    int32_t last_offset_delta;
    int64_t timestamp_ms;
    bool operator==(const Batch&) const = default;
  };
  using Writer = std::vector<Batch>;  // Oldest first, never empty.

  /// Find `sequence` among the batches kept of a writer; none when it is news.
  static std::optional<Batch> FindDuplicate(const Writer* writer, int32_t sequence);
  /// Sequence after `sequence`: it wraps from the largest int32 to 0.
  static int32_t NextSequence(int32_t sequence) { return sequence == INT32_MAX ? 0 : sequence + 1; }

  /// State of a writer, null when unknown. Valid until the next change.
  const Writer* Find(int64_t writer_id) const;
  /// Remember an appended batch; one without a writer id changes nothing.
  void Add(const wire::LogBatchHeader& header);
  /// Set the state of a writer.
  void Put(int64_t writer_id, Writer writer) { writers_[writer_id] = std::move(writer); }
  /// Forget writers whose last batch is older than `timestamp_ms`.
  void Expire(int64_t timestamp_ms);
  void Clear() { writers_.clear(); }
  size_t size() const { return writers_.size(); }
  /// All of them, by writer id.
  const std::unordered_map<int64_t, Writer>& writers() const { return writers_; }

  /// Content of a `.writer_snapshot` file.
  ///
  /// Format: JSON (docs/formats/log.md); our field `earlier_batches` keeps what Java's snapshots
  /// forget.
  std::string ToJson() const;
  /// Errors: kCorruptRecord when `json` is not such a document.
  static Result<WriterStates> FromJson(std::string_view json);

 private:
  void ForgetOldest();

  std::unordered_map<int64_t, Writer> writers_;
};

}  // namespace sluice::log
