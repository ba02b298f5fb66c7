#pragma once
#include <arrow/io/interfaces.h>

#include <memory>

#include "io/file.h"

namespace sluice::lake::paimon {

/// Arrow's streams over our files, so that Parquet sees the file system that everything else sees.
Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenArrowInput(io::FileSystem& files,
                                                                    const std::string& path);

class ArrowOutput : public arrow::io::OutputStream {
 public:
  explicit ArrowOutput(std::unique_ptr<io::File> file) : file_(std::move(file)) {}
  Status Write(const void* data, int64_t size_bytes) override;
  using arrow::io::OutputStream::Write;
  Status Close() override;
  Result<int64_t> Tell() const override { return position_; }
  bool closed() const override { return file_ == nullptr; }
  /// Make what was written durable. Before Close.
  Status Sync() { return file_->Sync(); }

 private:
  std::unique_ptr<io::File> file_;
  int64_t position_ = 0;
};

}  // namespace sluice::lake::paimon
