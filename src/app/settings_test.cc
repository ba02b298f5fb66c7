#include "app/settings.h"

#include "app/machine.h"
#include "base/testing.h"
#include "io/file.h"
#include "io/open_files.h"

namespace sluice::app {
namespace {

std::string Told(const std::string& bind, const std::string& advertised, const std::string& bound) {
  Config config;
  EXPECT_OK(config.Set("bind.listeners=" + bind));
  EXPECT_OK(config.Set("advertised.listeners=" + advertised));
  const auto listeners = ListenersOf(config, "coordinator");
  EXPECT_OK(listeners.status());
  const auto endpoints = server::ParseEndpoints(bound);
  EXPECT_OK(endpoints.status());
  return server::FormatEndpoints(AdvertisedOf(*listeners, *endpoints, "10.0.0.7"));
}

TEST(MachineTest, CountsOpenFiles) {
  const uint64_t before = io::OpenFiles();
  io::FileSystem& files = io::LocalFileSystem();
  ASSERT_OK_AND_ASSIGN(const auto file,
                       files.Open("/proc/self/status", io::FileSystem::Mode::kRead));
  EXPECT_EQ(io::OpenFiles(), before + 1);
  EXPECT_GE(RaiseOpenFilesMax(), before);
}

TEST(MachineTest, LeavesRoomForConnections) {
  EXPECT_OK(CheckRoomForBuckets(10, 100, 160));
  EXPECT_CODE(ErrorCode::kBucketMaxNum, CheckRoomForBuckets(11, 100, 160));
}

TEST(SettingsTest, ClientsAreToldWhatTheyCanReach) {
  EXPECT_EQ(Told("CLIENT://localhost:9123", "", "CLIENT://localhost:9123"),
            "CLIENT://localhost:9123");
  EXPECT_EQ(Told("CLIENT://127.0.0.1:0", "", "CLIENT://127.0.0.1:4711"), "CLIENT://127.0.0.1:4711");
  EXPECT_EQ(Told("CLIENT://0.0.0.0:0", "", "CLIENT://0.0.0.0:4711"), "CLIENT://10.0.0.7:4711");
  EXPECT_EQ(Told("CLIENT://:9123", "", "CLIENT://:9123"), "CLIENT://10.0.0.7:9123");
  EXPECT_EQ(Told("CLIENT://[::]:9123", "", "CLIENT://[::]:9123"), "CLIENT://10.0.0.7:9123");
}

TEST(SettingsTest, WhatIsAdvertisedWinsByListener) {
  EXPECT_EQ(Told("A://0.0.0.0:1,B://127.0.0.1:2", "A://box:9123", "A://0.0.0.0:1,B://127.0.0.1:2"),
            "A://box:9123,B://127.0.0.1:2");
  EXPECT_EQ(Told("A://0.0.0.0:0", "A://box:0", "A://0.0.0.0:4711"), "A://box:4711");
}

TEST(SettingsTest, OnlyBoundListenersAreAdvertised) {
  Config config;
  ASSERT_OK(config.Set("bind.listeners=A://localhost:1"));
  ASSERT_OK(config.Set("advertised.listeners=B://box:1"));
  EXPECT_CODE(ErrorCode::kInvalidConfig, ListenersOf(config, "coordinator").status());
}

TEST(SettingsTest, TheInternalListenerIsBoundByOneRole) {
  Config config;
  ASSERT_OK(config.Set("internal.listener.name=INTERNAL"));
  EXPECT_CODE(ErrorCode::kInvalidConfig, CheckListeners(config));
  EXPECT_THAT(CheckListeners(config).message(), testing::HasSubstr("INTERNAL"));
  ASSERT_OK(config.Set("tablet-server.bind.listeners=CLIENT://localhost:1,INTERNAL://localhost:2"));
  EXPECT_OK(CheckListeners(config));
}

}  // namespace
}  // namespace sluice::app
