#include "io/remote_folder.h"

#include "base/testing.h"
#include "io/sim/sim_file_system.h"
#include "io/sim/sim_world.h"

namespace sluice::io {
namespace {

TEST(RemoteFolderTest, AnEmptyMountPointIsNotTheFolder) {
  SimWorld world(1);
  SimFileSystem files(world.clock());
  const RemoteFolder folder("/r/remote/");
  ASSERT_OK(folder.Open(files, /*may_make=*/true));
  ASSERT_OK(folder.Check(files, "/r/remote"));
  ASSERT_OK(files.Rename("/r/remote", "/r/away"));
  ASSERT_OK(files.MakeFolders("/r/remote"));
  for (const char* path : {"/r/remote", "/r/remote/", "/r/remote/log/db"})
    EXPECT_CODE(ErrorCode::kStorage, folder.Check(files, path));
  EXPECT_OK(folder.Check(files, "/r/remote2/log"));  // Of another setting.
  EXPECT_OK(RemoteFolder().Check(files, "/r/remote"));
  EXPECT_OK(RemoteFolder("").Check(files, "/r/remote"));
  EXPECT_CODE(ErrorCode::kInvalidConfig, folder.Open(files, /*may_make=*/false));
}

}  // namespace
}  // namespace sluice::io
