#include "lake/paimon/arrow_file.h"

#include <arrow/buffer.h>

namespace sluice::lake::paimon {
namespace {

class ArrowInput : public arrow::io::RandomAccessFile {
 public:
  explicit ArrowInput(std::unique_ptr<io::File> file) : file_(std::move(file)) {}

  Status Close() override {
    file_.reset();
    return Status::OK();
  }
  bool closed() const override { return file_ == nullptr; }
  Result<int64_t> Tell() const override { return position_; }
  Status Seek(int64_t position) override {
    position_ = position;
    return Status::OK();
  }
  Result<int64_t> GetSize() override { return static_cast<int64_t>(file_->size_bytes()); }

  Result<int64_t> Read(int64_t size, void* out) override {
    ASSIGN_OR_RAISE(const int64_t read, ReadAt(position_, size, out));
    position_ += read;
    return read;
  }
  Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override {
    ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, size));
    position_ += buffer->size();
    return buffer;
  }
  Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override {
    ASSIGN_OR_RAISE(const size_t read,
                    file_->ReadAt(static_cast<uint64_t>(position), static_cast<size_t>(size),
                                  static_cast<char*>(out)));
    return static_cast<int64_t>(read);
  }
  Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t size) override {
    ASSIGN_OR_RAISE(std::unique_ptr<arrow::ResizableBuffer> buffer,
                    arrow::AllocateResizableBuffer(size));
    ASSIGN_OR_RAISE(const int64_t read, ReadAt(position, size, buffer->mutable_data()));
    RETURN_NOT_OK(buffer->Resize(read, /*shrink_to_fit=*/false));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }

 private:
  std::unique_ptr<io::File> file_;
  int64_t position_ = 0;
};

}  // namespace

Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenArrowInput(io::FileSystem& files,
                                                                    const std::string& path) {
  ASSIGN_OR_RAISE(auto file, files.Open(path, io::FileSystem::Mode::kRead));
  return std::make_shared<ArrowInput>(std::move(file));
}

Status ArrowOutput::Write(const void* data, int64_t size_bytes) {
  RETURN_NOT_OK(file_->Append(
      std::string_view(static_cast<const char*>(data), static_cast<size_t>(size_bytes))));
  position_ += size_bytes;
  return Status::OK();
}

Status ArrowOutput::Close() {
  file_.reset();
  return Status::OK();
}

}  // namespace sluice::lake::paimon
