#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <atomic>
#include <climits>

#include "io/local_descriptor_internal.h"
#include "io/local_file_internal.h"

namespace sluice::io::internal {
namespace {

class LocalFile : public File {
 public:
  LocalFile(std::string path, Descriptor descriptor, uint64_t size_bytes)
      : path_(std::move(path)), descriptor_(std::move(descriptor)), size_bytes_(size_bytes) {}

  Status Append(std::span<const std::string_view> parts) override {
    std::vector<iovec> vectors;
    vectors.reserve(parts.size());
    for (const std::string_view part : parts) {
      if (!part.empty()) vectors.push_back({const_cast<char*>(part.data()), part.size()});
    }
    const uint64_t start = size_bytes_.load(std::memory_order_relaxed);
    uint64_t end = start;
    for (size_t first = 0; first < vectors.size();) {
      const int count = static_cast<int>(std::min<size_t>(vectors.size() - first, IOV_MAX));
      const ssize_t wrote = Retried(
          [&] { return ::pwritev(descriptor(), &vectors[first], count, static_cast<off_t>(end)); });
      if (wrote < 0) {
        const int error = errno;
        // Take the partial write back, so that the file ends where size_bytes() says.
        if (end != start && ::ftruncate(descriptor(), static_cast<off_t>(start)) != 0) {
          size_bytes_.store(end, std::memory_order_release);
        }
        return ErrnoStatus("append", path_, error);
      }
      end += static_cast<uint64_t>(wrote);
      first = SkipWritten(&vectors, first, static_cast<size_t>(wrote));
    }
    size_bytes_.store(end, std::memory_order_release);
    return Status::OK();
  }

  Status WriteAt(uint64_t position_bytes, std::string_view bytes) override {
    const uint64_t end = position_bytes + bytes.size();
    while (!bytes.empty()) {
      const ssize_t wrote = Retried([&] {
        return ::pwrite(descriptor(), bytes.data(), bytes.size(),
                        static_cast<off_t>(position_bytes));
      });
      if (wrote < 0) return ErrnoStatus("write", path_, errno);
      bytes.remove_prefix(static_cast<size_t>(wrote));
      position_bytes += static_cast<uint64_t>(wrote);
    }
    if (end > size_bytes()) size_bytes_.store(end, std::memory_order_release);
    return Status::OK();
  }

  Result<size_t> ReadAt(uint64_t position_bytes, size_t size, char* out) const override {
    size_t got = 0;
    while (got < size) {
      const ssize_t part = Retried([&] {
        return ::pread(descriptor(), out + got, size - got,
                       static_cast<off_t>(position_bytes + got));
      });
      if (part < 0) return ErrnoStatus("read", path_, errno);
      if (part == 0) break;
      got += static_cast<size_t>(part);
    }
    return got;
  }

  Result<bool> TryReadAt(uint64_t position_bytes, size_t size, char* out) const override {
    size_t got = 0;
    while (got < size) {
      iovec vector{out + got, size - got};
      const ssize_t part = Retried([&] {
        return ::preadv2(descriptor(), &vector, 1, static_cast<off_t>(position_bytes + got),
                         RWF_NOWAIT);
      });
      if (part < 0 && errno == EAGAIN) return false;
      if (part < 0 && errno == EOPNOTSUPP) return ReadWhole(position_bytes, size, out);
      if (part < 0) return ErrnoStatus("read", path_, errno);
      if (part == 0) return PastEnd(position_bytes, size);
      got += static_cast<size_t>(part);
    }
    return true;
  }

  Status Truncate(uint64_t size_bytes) override {
    if (Retried([&] { return ::ftruncate(descriptor(), static_cast<off_t>(size_bytes)); }) != 0) {
      return ErrnoStatus("truncate", path_, errno);
    }
    size_bytes_.store(size_bytes, std::memory_order_release);
    return Status::OK();
  }

  Status Sync() override {
    if (Retried([&] { return ::fdatasync(descriptor()); }) != 0)
      return ErrnoStatus("sync", path_, errno);
    return Status::OK();
  }

  uint64_t size_bytes() const override { return size_bytes_.load(std::memory_order_acquire); }
  const std::string& path() const override { return path_; }
  int descriptor() const override { return descriptor_.number(); }

 private:
  // Drops `wrote` bytes from vectors[first...]; returns the first one with bytes left.
  static size_t SkipWritten(std::vector<iovec>* vectors, size_t first, size_t wrote) {
    for (; first < vectors->size() && wrote >= (*vectors)[first].iov_len; ++first) {
      wrote -= (*vectors)[first].iov_len;
    }
    if (wrote > 0) {
      auto& partial = (*vectors)[first];
      partial.iov_base = static_cast<char*>(partial.iov_base) + wrote;
      partial.iov_len -= wrote;
    }
    return first;
  }

  Status PastEnd(uint64_t position_bytes, size_t size) const {
    return Status::IOError("file ends before the read path=", path_, " position=", position_bytes,
                           " size=", size);
  }

  Result<bool> ReadWhole(uint64_t position_bytes, size_t size, char* out) const {
    ASSIGN_OR_RAISE(const size_t got, ReadAt(position_bytes, size, out));
    if (got != size) return PastEnd(position_bytes, size);
    return true;
  }

  const std::string path_;
  const Descriptor descriptor_;
  std::atomic<uint64_t> size_bytes_;
};

int OpenFlags(FileSystem::Mode mode) {
  switch (mode) {
    case FileSystem::Mode::kRead:
      return O_RDONLY;
    case FileSystem::Mode::kReadWrite:
      return O_RDWR;
    case FileSystem::Mode::kCreate:
      return O_RDWR | O_CREAT;
    case FileSystem::Mode::kCreateNew:
      return O_RDWR | O_CREAT | O_EXCL;
  }
  return O_RDONLY;
}

}  // namespace

Result<std::unique_ptr<File>> OpenLocalFile(const std::string& path, FileSystem::Mode mode) {
  ASSIGN_OR_RAISE(Descriptor descriptor, OpenDescriptor(path, OpenFlags(mode)));
  struct stat info;
  if (::fstat(descriptor.number(), &info) != 0) return ErrnoStatus("stat", path, errno);
  if (S_ISDIR(info.st_mode)) return ErrnoStatus("open", path, EISDIR);
  return std::make_unique<LocalFile>(path, std::move(descriptor),
                                     static_cast<uint64_t>(info.st_size));
}

}  // namespace sluice::io::internal
