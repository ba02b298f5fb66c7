#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"

namespace sluice::io {

class File;

/// Bytes to send: pieces of memory and ranges of files, in order. A file range goes to a socket
/// without a copy.
class Payload {
 public:
  struct FileRange {
    std::shared_ptr<const File> file;
    uint64_t position_bytes;
    uint64_t size_bytes;
  };
  using Part = std::variant<std::string, std::shared_ptr<const std::string>, FileRange>;

  Payload() = default;
  explicit Payload(std::string bytes) { Add(std::move(bytes)); }

  void Add(std::string bytes);
  void Add(std::shared_ptr<const std::string> bytes);
  void Add(FileRange range);
  void Add(Payload other);
  /// Put `bytes` in front of everything.
  void Prepend(std::string bytes);
  /// Let `owner` live as long as this, which is until everything was sent.
  void Keep(std::shared_ptr<const void> owner) { kept_.push_back(std::move(owner)); }

  uint64_t size_bytes() const { return size_bytes_; }
  const std::vector<Part>& parts() const { return parts_; }
  /// Everything as one string; reads the file ranges.
  Result<std::string> Flatten() const;

 private:
  std::vector<Part> parts_;
  std::vector<std::shared_ptr<const void>> kept_;
  uint64_t size_bytes_ = 0;
};

}  // namespace sluice::io
