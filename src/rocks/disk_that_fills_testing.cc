#include "rocks/disk_that_fills_testing.h"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

namespace sluice::rocks {
namespace {

class FileOfFullDisk : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FileOfFullDisk(std::unique_ptr<rocksdb::FSWritableFile> real, const std::atomic<bool>* full)
      : FSWritableFileOwnerWrapper(std::move(real)), full_(full) {}
  rocksdb::IOStatus Append(const rocksdb::Slice& bytes, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* context) override {
    if (!*full_) return target()->Append(bytes, options, context);
    static_cast<void>(target()->Append({bytes.data(), bytes.size() / 2}, options, context));
    return rocksdb::IOStatus::NoSpace("disk is full");
  }
  using FSWritableFileOwnerWrapper::Append;

 private:
  const std::atomic<bool>* const full_;
};

class FilesOfFullDisk : public rocksdb::FileSystemWrapper {
 public:
  static const char* kClassName() { return "FilesOfFullDisk"; }
  const char* Name() const override { return kClassName(); }
  explicit FilesOfFullDisk(const std::atomic<bool>* full)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), full_(full) {}
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* context) override {
    std::unique_ptr<rocksdb::FSWritableFile> real;
    const rocksdb::IOStatus opened = target()->NewWritableFile(path, options, &real, context);
    if (opened.ok()) *file = std::make_unique<FileOfFullDisk>(std::move(real), full_);
    return opened;
  }

 private:
  const std::atomic<bool>* const full_;
};

}  // namespace

DiskThatFills::DiskThatFills()
    : env(rocksdb::NewCompositeEnv(std::make_shared<FilesOfFullDisk>(&full))) {}
DiskThatFills::~DiskThatFills() = default;

}  // namespace sluice::rocks
