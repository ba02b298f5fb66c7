#include "log/writer_states.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace sluice::log {
namespace {

using Json = nlohmann::json;

// The integer at `key`; nothing when it is missing or of another kind.
std::optional<int64_t> IntegerAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int64_t>();
}

std::optional<WriterStates::Batch> ParseBatch(const Json& object) {
  if (!object.is_object()) return std::nullopt;
  const auto sequence = IntegerAt(object, "last_batch_sequence");
  const auto base_offset = IntegerAt(object, "last_batch_base_offset");
  const auto delta = IntegerAt(object, "offset_delta");
  const auto timestamp = IntegerAt(object, "last_batch_timestamp");
  if (!sequence || !base_offset || !delta || !timestamp) return std::nullopt;
  return WriterStates::Batch{static_cast<int32_t>(*sequence), *base_offset,
                             static_cast<int32_t>(*delta), *timestamp};
}

Json ToObject(const WriterStates::Batch& batch) {
  return {{"last_batch_sequence", batch.sequence},
          {"last_batch_base_offset", batch.base_offset},
          {"offset_delta", batch.last_offset_delta},
          {"last_batch_timestamp", batch.timestamp_ms}};
}

std::optional<WriterStates::Writer> ParseWriter(const Json& entry) {
  WriterStates::Writer writer;
  if (const auto earlier = entry.find("earlier_batches"); earlier != entry.end()) {
    if (!earlier->is_array()) return std::nullopt;
    for (const Json& object : *earlier) {
      const auto batch = ParseBatch(object);
      if (!batch) return std::nullopt;
      writer.push_back(*batch);
    }
  }
  const auto last = ParseBatch(entry);
  if (!last) return std::nullopt;
  writer.push_back(*last);
  return writer;
}

}  // namespace

std::optional<WriterStates::Batch> WriterStates::FindDuplicate(const Writer* writer,
                                                               int32_t sequence) {
  if (writer == nullptr) return std::nullopt;
  const auto found = std::ranges::find(*writer, sequence, &Batch::sequence);
  if (found == writer->end()) return std::nullopt;
  return *found;
}

const WriterStates::Writer* WriterStates::Find(int64_t writer_id) const {
  const auto found = writers_.find(writer_id);
  return found == writers_.end() ? nullptr : &found->second;
}

void WriterStates::Add(const wire::LogBatchHeader& header) {
  if (header.writer_id < 0) return;
  Writer& writer = writers_[header.writer_id];
  writer.push_back({header.batch_sequence, header.base_offset, header.last_offset_delta,
                    header.commit_timestamp_ms});
  if (writer.size() > kBatchesKept) writer.erase(writer.begin());
  if (writers_.size() > kWritersMax) ForgetOldest();
}

void WriterStates::ForgetOldest() {
  const auto age = [](const Writer& writer) {
    return std::pair(writer.back().timestamp_ms, writer.back().base_offset);
  };
  std::vector<std::pair<int64_t, int64_t>> ages;
  ages.reserve(writers_.size());
  for (const auto& [writer_id, writer] : writers_) ages.push_back(age(writer));
  const auto first_kept = ages.begin() + kWritersMax / 8;
  std::ranges::nth_element(ages, first_kept);
  const auto oldest = *first_kept;
  std::erase_if(writers_, [&](const auto& entry) { return age(entry.second) < oldest; });
}

void WriterStates::Expire(int64_t timestamp_ms) {
  std::erase_if(writers_,
                [&](const auto& entry) { return entry.second.back().timestamp_ms < timestamp_ms; });
}

std::string WriterStates::ToJson() const {
  Json entries = Json::array();
  for (const auto& [writer_id, writer] : writers_) {
    Json entry = ToObject(writer.back());
    entry["writer_id"] = writer_id;
    Json earlier = Json::array();
    for (size_t i = 0; i + 1 < writer.size(); ++i) earlier.push_back(ToObject(writer[i]));
    entry["earlier_batches"] = std::move(earlier);
    entries.push_back(std::move(entry));
  }
  return Json{{"version", 1}, {"writer_id_entries", std::move(entries)}}.dump();
}

Result<WriterStates> WriterStates::FromJson(std::string_view json) {
  const Json document = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || IntegerAt(document, "version") != 1) {
    return Corrupt("writer snapshot is not a version 1 document");
  }
  const auto entries = document.find("writer_id_entries");
  if (entries == document.end() || !entries->is_array())
    return Corrupt("writer snapshot has no entries");
  WriterStates states;
  for (const Json& entry : *entries) {
    if (!entry.is_object()) return Corrupt("writer snapshot has an entry that is no object");
    const auto writer_id = IntegerAt(entry, "writer_id");
    auto writer = ParseWriter(entry);
    if (!writer_id || !writer) return Corrupt("writer snapshot has an incomplete entry");
    states.writers_[*writer_id] = std::move(*writer);
  }
  return states;
}

}  // namespace sluice::log
