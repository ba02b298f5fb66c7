#include "log/log_state.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sluice::log {
namespace {
using Json = nlohmann::json;
}  // namespace

Result<LogState> LogState::Load(io::FileSystem& files, const std::string& folder) {
  LogState state(files, io::JoinPath(folder, kLogStateFile));
  auto content = files.ReadFile(state.path_);
  if (io::IsNotFound(content.status())) return state;
  ASSIGN_OR_RAISE(const std::string text, std::move(content));
  const auto document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool whole = document.is_object() && document.contains("start_offset") &&
                     document.contains("restarting") &&
                     document["start_offset"].is_number_integer() &&
                     document["restarting"].is_boolean() && document.contains("epochs") &&
                     document["epochs"].is_array();
  if (!whole) return Corrupt("log state is damaged file=", state.path_);
  state.start_offset_ = document["start_offset"].get<int64_t>();
  state.restarting_ = document["restarting"].get<bool>();
  if (document.contains("cutting_at") && document["cutting_at"].is_number_integer()) {
    state.cutting_at_ = document["cutting_at"].get<int64_t>();
  }
  for (const Json& pair : document["epochs"]) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_integer() ||
        !pair[1].is_number_integer()) {
      return Corrupt("log state has a damaged epoch file=", state.path_);
    }
    state.epochs_.push_back({pair[0].get<int32_t>(), pair[1].get<int64_t>()});
  }
  return state;
}

Status LogState::Save() const {
  Json epochs = Json::array();
  for (const LeaderEpoch& epoch : epochs_)
    epochs.push_back(Json::array({epoch.epoch, epoch.start_offset}));
  Json document = {{"version", 1},
                   {"start_offset", start_offset_},
                   {"restarting", restarting_},
                   {"epochs", std::move(epochs)}};
  if (cutting_at_.has_value()) document["cutting_at"] = *cutting_at_;
  return files_->ReplaceFile(path_, document.dump());
}

// Of a change that was not saved nothing stays here, else the next one would save it too. The file
// may have it all the same.
Status LogState::BeginCut(int64_t offset) {
  cutting_at_ = offset;
  const Status saved = Save();
  if (!saved.ok()) cutting_at_.reset();
  return saved;
}

Status LogState::EndCut() {
  cutting_at_.reset();
  return Save();
}

Status LogState::AddEpoch(int32_t epoch, int64_t start_offset) {
  const std::lock_guard lock(*mutex_);
  std::vector<LeaderEpoch> before = epochs_;
  if (!epochs_.empty() && epochs_.back().start_offset == start_offset) epochs_.pop_back();
  epochs_.push_back({epoch, start_offset});
  const Status saved = Save();
  if (!saved.ok()) epochs_ = std::move(before);
  return saved;
}

int32_t LogState::EpochAt(int64_t offset) const {
  const auto later = std::ranges::upper_bound(epochs_, offset, {}, &LeaderEpoch::start_offset);
  return later == epochs_.begin() ? 0 : std::prev(later)->epoch;
}

Status LogState::TruncateEpochs(int64_t offset) {
  const size_t before = epochs_.size();
  while (!epochs_.empty() && epochs_.back().start_offset >= offset) epochs_.pop_back();
  return epochs_.size() == before ? Status::OK() : Save();
}

Status LogState::BoundEpochs(int64_t end_offset) {
  if (epochs_.empty() || epochs_.back().start_offset <= end_offset) return Status::OK();
  const int32_t newest = epochs_.back().epoch;
  while (!epochs_.empty() && epochs_.back().start_offset >= end_offset) epochs_.pop_back();
  epochs_.push_back({newest, end_offset});
  return Save();
}

Status LogState::SetStart(int64_t start_offset) {
  const std::lock_guard lock(*mutex_);
  const int64_t before = std::exchange(start_offset_, start_offset);
  const Status saved = Save();
  if (!saved.ok()) start_offset_ = before;
  return saved;
}

Status LogState::BeginRestart(int64_t start_offset) {
  start_offset_ = start_offset;
  restarting_ = true;
  return Save();
}

Status LogState::EndRestart() {
  restarting_ = false;
  return Save();
}

}  // namespace sluice::log
