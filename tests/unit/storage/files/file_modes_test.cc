#include "storage/files/file_modes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "storage/files/env.h"
#include "storage/results/hdf5_writer.h"
#include "tests/testing/temporary_directory.h"

namespace retort::storage {
namespace {

namespace fs = std::filesystem;

mode_t ReadMode(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 ? facts.st_mode & 07777 : 0;
}

void WriteWithMode(const std::string& path, mode_t mode) {
  std::ofstream(path) << "x";
  ASSERT_EQ(::chmod(path.c_str(), mode), 0);
}

class FileModes : public ::testing::Test {
 protected:
  retort::testing::TemporaryDirectory folder_;
  UmaskScope usual_{022};
};

TEST_F(FileModes, EveryWayToMakeAFileFollowsTheChosenMask) {
  for (const auto& [umask, file, directory] :
       {std::tuple{kPrivateUmask, 0600U, 0700U}, {022U, 0644U, 0755U}, {027U, 0640U, 0750U}, {0U, 0644U, 0755U}}) {
    const UmaskScope scope(umask);
    const std::string in = folder_ / std::to_string(umask);
    ASSERT_TRUE(PosixEnv().CreateDirectories(in + "/below").ok());
    EXPECT_EQ(ReadMode(in), directory);
    EXPECT_EQ(ReadMode(in + "/below"), directory);
    ASSERT_TRUE(PosixEnv().OpenAppend(in + "/log").ok());
    EXPECT_EQ(ReadMode(in + "/log"), file);
    ASSERT_TRUE(PosixEnv().WriteFileAtomically(in + "/whole", "x").ok());
    EXPECT_EQ(ReadMode(in + "/whole"), file);
    const auto tensors = [](const std::string& path) {
      Hdf5Writer writer("tensors", path);
      return writer.Close().status();
    };
    ASSERT_TRUE(PosixEnv().PublishFile(in + "/tensors.h5", tensors).ok());
    EXPECT_EQ(ReadMode(in + "/tensors.h5"), file);
  }
}

TEST_F(FileModes, ReplacedFileIsAsOpenAsItWas) {
  WriteWithMode(folder_ / "open", 0644);
  WriteWithMode(folder_ / "closed", 0600);
  for (const mode_t umask : {022U, kPrivateUmask}) {
    const UmaskScope scope(umask);
    ASSERT_TRUE(PosixEnv().WriteFileAtomically(folder_ / "open", "new").ok());
    ASSERT_TRUE(PosixEnv().WriteFileAtomically(folder_ / "closed", "new").ok());
    EXPECT_EQ(ReadMode(folder_ / "open"), 0644U);
    EXPECT_EQ(ReadMode(folder_ / "closed"), 0600U);
  }
}

// Of a run that was killed, and had other modes.
TEST_F(FileModes, LeftoverAtTheTemporaryNameOpensNothing) {
  WriteWithMode(folder_ / "checkpoint.tmp", 0644);
  const UmaskScope scope(kPrivateUmask);
  ASSERT_TRUE(PosixEnv().WriteFileAtomically(folder_ / "checkpoint", "x").ok());
  EXPECT_EQ(ReadMode(folder_ / "checkpoint"), 0600U);
}

TEST_F(FileModes, LockFileIsTheOwnersAloneWhateverTheMask) {
  const UmaskScope scope(0);
  WriteWithMode(folder_ / "old", 0644);
  for (const char* const name : {"old", "new"}) {
    const auto lock = PosixEnv().Lock(folder_ / name);
    ASSERT_TRUE(lock.ok());
    EXPECT_EQ(ReadMode(folder_ / name) & 077U, 0U) << name;
  }
}

TEST_F(FileModes, SharedFolderIsReadAndNeverWrittenByOthers) {
  ASSERT_EQ(::mkdir((folder_ / "r").c_str(), 0700), 0);
  ASSERT_EQ(::mkdir((folder_ / "r/trials").c_str(), 0700), 0);
  WriteWithMode(folder_ / "outside", 0600);
  for (const char* const name : {"r/journal.log", "r/trials/attempt.h5", "r/lock", "r/x.lock"})
    WriteWithMode(folder_ / name, 0600);
  fs::create_symlink("../outside", folder_ / "r/link");
  ASSERT_TRUE(ShareFolder(folder_ / "r", 027).ok());
  EXPECT_EQ(ReadMode(folder_ / "r"), 0750U);
  EXPECT_EQ(ReadMode(folder_ / "r/trials"), 0750U);
  EXPECT_EQ(ReadMode(folder_ / "r/trials/attempt.h5"), 0640U);
  EXPECT_FALSE(IsReadableByOthers(folder_ / "outside"));
  ASSERT_TRUE(ShareFolder(folder_ / "r", 0).ok());
  EXPECT_EQ(ReadMode(folder_ / "r/journal.log"), 0644U);
  EXPECT_TRUE(IsReadableByOthers(folder_ / "r/journal.log"));
  EXPECT_EQ(ReadMode(folder_ / "r/lock"), 0600U);
  EXPECT_EQ(ReadMode(folder_ / "r/x.lock"), 0600U);
  EXPECT_EQ(ReadMode(folder_ / "outside"), 0600U);
}

TEST_F(FileModes, ChosenModesAreTheUsersOnlyWhereTheyAreShared) {
  EXPECT_EQ(ChooseFileModes(false), 022U);
  EXPECT_EQ(::umask(022), 077U);
  EXPECT_EQ(ChooseFileModes(true), 022U);
  EXPECT_EQ(::umask(022), 022U);
}

}  // namespace
}  // namespace retort::storage
