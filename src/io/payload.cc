#include "io/payload.h"

#include "io/file.h"

namespace sluice::io {

void Payload::Add(std::string bytes) {
  if (bytes.empty()) return;
  size_bytes_ += bytes.size();
  parts_.emplace_back(std::move(bytes));
}

void Payload::Add(std::shared_ptr<const std::string> bytes) {
  if (bytes->empty()) return;
  size_bytes_ += bytes->size();
  parts_.emplace_back(std::move(bytes));
}

void Payload::Add(FileRange range) {
  if (range.size_bytes == 0) return;
  size_bytes_ += range.size_bytes;
  parts_.emplace_back(std::move(range));
}

void Payload::Add(Payload other) {
  size_bytes_ += other.size_bytes_;
  kept_.insert(kept_.end(), std::make_move_iterator(other.kept_.begin()),
               std::make_move_iterator(other.kept_.end()));
  if (parts_.empty()) {
    parts_ = std::move(other.parts_);
    return;
  }
  parts_.insert(parts_.end(), std::make_move_iterator(other.parts_.begin()),
                std::make_move_iterator(other.parts_.end()));
}

void Payload::Prepend(std::string bytes) {
  if (bytes.empty()) return;
  size_bytes_ += bytes.size();
  parts_.emplace(parts_.begin(), std::move(bytes));
}

Result<std::string> Payload::Flatten() const {
  std::string out;
  out.reserve(size_bytes_);
  for (const Part& part : parts_) {
    if (const auto* bytes = std::get_if<std::string>(&part)) {
      out += *bytes;
    } else if (const auto* shared = std::get_if<std::shared_ptr<const std::string>>(&part)) {
      out += **shared;
    } else {
      const auto& range = std::get<FileRange>(part);
      const size_t start = out.size();
      out.resize(start + range.size_bytes);
      ASSIGN_OR_RAISE(const size_t got, range.file->ReadAt(range.position_bytes, range.size_bytes,
                                                           out.data() + start));
      if (got != range.size_bytes) {
        return Status::IOError("file ends inside a range path=", range.file->path(),
                               " position=", range.position_bytes, " size=", range.size_bytes);
      }
    }
  }
  return out;
}

}  // namespace sluice::io
