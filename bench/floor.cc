// The least that any server of this protocol must do per append: receive frames from loopback,
// check the CRC, stamp the batch, write it to a file, answer. One thread, blocking calls, no
// offsets kept, no indexes, no dispatch. What the real server reaches is read beside this
// (bench/README.md).
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <thread>

#include "base/bytes.h"
#include "base/check.h"
#include "bench/rows.h"
#include "wire/frame.h"
#include "wire/log_batch.h"
#include "wire/records.h"

namespace sluice::bench {
namespace {

constexpr int kInFlight = 5;  // As clients keep per bucket.
constexpr int16_t kProduceLog = 1014;

double ThreadCpuSeconds() {
  timespec now{};
  CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void ReadExactly(int fd, char* out, size_t size) {
  while (size > 0) {
    const ssize_t got = recv(fd, out, size, 0);
    CHECK(got > 0);
    out += got;
    size -= static_cast<size_t>(got);
  }
}

void WriteAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t sent = write(fd, data, size);
    CHECK(sent > 0);
    data += sent;
    size -= static_cast<size_t>(sent);
  }
}

// Serve `requests` frames on one connection; the CPU time it took.
double Serve(int connection, int file, int requests) {
  const double started = ThreadCpuSeconds();
  std::string frame;
  int64_t offset = 0;
  for (int i = 0; i < requests; ++i) {
    char length[wire::kFrameLengthBytes];
    ReadExactly(connection, length, sizeof(length));
    frame.resize(LoadBe<uint32_t>(length));
    ReadExactly(connection, frame.data(), frame.size());
    const auto header = wire::ParseRequestHeader(frame).ValueOrDie();
    const auto request =
        wire::ParseProduceLog(std::string_view(frame).substr(wire::kRequestHeaderBytes))
            .ValueOrDie();
    for (const auto& bucket : request.buckets) {
      const auto batch = wire::LogBatchView::Parse(bucket.records).ValueOrDie();
      CHECK(batch.CrcMatches());
      wire::StampBatch(const_cast<char*>(bucket.records.data()), offset, 1);
      offset += batch.header().record_count;
      WriteAll(file, bucket.records.data(), bucket.records.size());
    }
    char answer[9];
    StoreBe<uint32_t>(answer, 5);
    answer[4] = 0;
    StoreBe<int32_t>(answer + 5, header.request_id);
    WriteAll(connection, answer, sizeof(answer));
  }
  return ThreadCpuSeconds() - started;
}

int Listen(sockaddr_in* address) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(*address);
  CHECK(bind(listener, reinterpret_cast<sockaddr*>(address), size) == 0);
  CHECK(listen(listener, 1) == 0);
  CHECK(getsockname(listener, reinterpret_cast<sockaddr*>(address), &size) == 0);
  return listener;
}

void Send(const sockaddr_in& address, const std::string& frame, int requests) {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  const int on = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  char answer[9];
  for (int sent = 0, answered = 0; answered < requests;) {
    if (sent < requests && sent - answered < kInFlight) {
      WriteAll(connection, frame.data(), frame.size());
      ++sent;
    } else {
      ReadExactly(connection, answer, sizeof(answer));
      ++answered;
    }
  }
  close(connection);
}

int Main(int argc, char** argv) {
  int64_t rows = 3'000'000;
  int64_t batch_rows = 10'000;
  std::string compression = "zstd";
  std::string path = "/tmp/sluice-floor.log";
  CLI::App app("The bare receive-check-write loop");
  app.add_option("--rows", rows)->capture_default_str();
  app.add_option("--batch-rows", batch_rows)->capture_default_str();
  app.add_option("--compression", compression, "zstd or none")->capture_default_str();
  app.add_option("--file", path, "Written and removed")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  wire::LogBatchOptions options;
  options.compression =
      compression == "none" ? wire::ArrowCompression::kNone : wire::ArrowCompression::kZstd;
  const auto batch = MakeRows(0, batch_rows);
  const std::string records = wire::BuildLogBatch(options, *batch, {}).ValueOrDie();
  wire::ProduceLogView request{-1, 1, 30'000, {{std::nullopt, 0, records}}};
  const std::string frame =
      wire::EncodeRequest({kProduceLog, 0, 1}, wire::BuildProduceLog(request));
  const int requests = static_cast<int>((rows + batch_rows - 1) / batch_rows);

  sockaddr_in address{};
  const int listener = Listen(&address);
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
  CHECK(file >= 0);
  std::thread sender([&] { Send(address, frame, requests); });
  const int connection = accept(listener, nullptr, nullptr);
  const double cpu_seconds = Serve(connection, file, requests);
  sender.join();
  close(connection);
  close(listener);
  close(file);
  unlink(path.c_str());

  const double done = static_cast<double>(requests) * static_cast<double>(batch_rows);
  std::printf(
      "{\"workload\":\"floor_append_%s\",\"rows\":%.0f,\"bytes\":%.0f,\"server_cpu_s\":%.3f,"
      "\"rows_per_server_cpu_s\":%.0f}\n",
      compression.c_str(), done, static_cast<double>(frame.size()) * requests, cpu_seconds,
      done / cpu_seconds);
  return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) { return sluice::bench::Main(argc, argv); }
