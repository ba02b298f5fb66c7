#pragma once
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

// What all files of the machine's file system share.
namespace sluice::io::internal {

/// "cannot {what} path=… reason=…"; IsNotFound for ENOENT.
Status ErrnoStatus(std::string_view what, const std::string& path, int error);

/// Repeat a system call that a signal interrupted.
template <typename Call>
auto Retried(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// Owns one descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

Result<Descriptor> OpenDescriptor(const std::string& path, int flags);

}  // namespace sluice::io::internal
