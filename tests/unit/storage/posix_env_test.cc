#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>

#include "storage/env.h"
#include "storage/file_error.h"
#include "tests/testing/temporary_directory.h"

namespace retort::storage {
namespace {

using ::testing::HasSubstr;

TEST(PosixEnv, AFullDiskIsNamedWithItsRemedy) {
  auto file = PosixEnv().OpenAppend("/dev/full");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const Status status = (*file)->Append("x");
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("'/dev/full': No space left on device"));
  EXPECT_THAT(status.message(), HasSubstr("free some space"));
}

TEST(PosixEnv, AFolderWhereAFileLiesIsRefused) {
  const retort::testing::TemporaryDirectory folder;
  ASSERT_TRUE(PosixEnv().WriteFileAtomically(folder / "file", "x").ok());
  EXPECT_THAT(PosixEnv().CreateDirectories(folder / "file/below").message(),
              HasSubstr("is a file and not a folder"));
  EXPECT_THAT(PosixEnv().CreateDirectories(folder / "file").message(), HasSubstr("Not a directory"));
}

TEST(PosixEnv, OnlyPlainFilesAreReadAndAPipeIsNotWaitedFor) {
  const retort::testing::TemporaryDirectory folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder / "pipe", std::string("/dev/zero")}) {
    const auto bytes = PosixEnv().ReadFile(path);
    EXPECT_EQ(bytes.status().code(), StatusCode::environment);
    EXPECT_THAT(bytes.status().message(), HasSubstr("'" + path + "' is no plain file"));
  }
  EXPECT_THAT(PosixEnv().ReadFile(folder.path()).status().message(), HasSubstr("Is a directory"));
}

TEST(PosixEnv, ASecondProcessIsToldWhoHoldsTheLock) {
  const retort::testing::TemporaryDirectory folder;
  const auto lock = PosixEnv().Lock(folder / "lock");
  ASSERT_TRUE(lock.ok());
  const pid_t child = ::fork();
  if (child == 0) {
    const auto second = PosixEnv().Lock(folder / "lock");
    const std::string holder = "process " + std::to_string(::getppid());
    ::_exit(!second.ok() && second.status().message().find(holder) != std::string::npos ? 0 : 1);
  }
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, 0), child);
  EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0);
}

TEST(PosixEnv, TheLockOfADeadProcessIsFree) {
  const retort::testing::TemporaryDirectory folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = PosixEnv().Lock(folder / "lock");
    ::_exit(lock.ok() ? 0 : 1);
  }
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
  EXPECT_TRUE(PosixEnv().Lock(folder / "lock").ok());
}

TEST(PosixEnv, TheNameOfARemovedLargeFileIsFreeAtOnceAndItsBlocksSoon) {
  const retort::testing::TemporaryDirectory folder;
  const std::string path = folder / "large";
  ASSERT_TRUE(PosixEnv().WriteFileAtomically(path, std::string(std::size_t{8} << 20, 'x')).ok());
  const auto opened = [&path] {  // what this process holds open, by the names that the system knows
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      count += std::filesystem::read_symlink(entry, gone).string().rfind(path, 0) == 0 ? 1U : 0U;
    }
    return count;
  };
  ASSERT_TRUE(PosixEnv().Remove(path).ok());
  EXPECT_FALSE(PosixEnv().Exists(path));
  ASSERT_TRUE(PosixEnv().WriteFileAtomically(path, "small").ok());
  EXPECT_EQ(PosixEnv().ReadFile(path).value(), "small");
  for (int wait = 0; opened() > 0 && wait < 1000; ++wait) ::usleep(10'000);
  EXPECT_EQ(opened(), 0U) << "the blocks are held";
}

// Another user of a shared folder can put links and pipes at the names that are written next.
TEST(PosixEnv, NothingIsWrittenThroughALink) {
  const retort::testing::TemporaryDirectory folder;
  const std::string mine = folder / "mine";
  for (const std::string name : {"view.tmp", "lock", "log"}) {
    ASSERT_TRUE(PosixEnv().WriteFileAtomically(mine, "precious").ok());
    ASSERT_EQ(::chmod(mine.c_str(), 0600), 0);
    std::filesystem::create_symlink(mine, folder / name);
  }
  EXPECT_TRUE(PosixEnv().WriteFileAtomically(folder / "view", "new").ok());
  EXPECT_EQ(PosixEnv().ReadFile(folder / "view").value(), "new");
  EXPECT_THAT(PosixEnv().Lock(folder / "lock").status().message(), HasSubstr("is a link"));
  EXPECT_THAT(PosixEnv().OpenAppend(folder / "log").status().message(), HasSubstr("is a link"));
  EXPECT_EQ(PosixEnv().ReadFile(mine).value(), "precious");
}

TEST(PosixEnv, PipesAreNeitherWrittenToNorWaitedFor) {
  const retort::testing::TemporaryDirectory folder;
  for (const std::string name : {"view.tmp", "lock", "log"})
    ASSERT_EQ(::mkfifo((folder / name).c_str(), 0600), 0);
  EXPECT_TRUE(PosixEnv().WriteFileAtomically(folder / "view", "new").ok());
  EXPECT_EQ(PosixEnv().ReadFile(folder / "view").value(), "new");
  EXPECT_THAT(PosixEnv().Lock(folder / "lock").status().message(), HasSubstr("is no plain file"));
  EXPECT_THAT(PosixEnv().OpenAppend(folder / "log").status().message(), HasSubstr("is no plain file"));
}

TEST(FileError, EveryCauseThatUsersMeetHasItsOwnRemedy) {
  std::set<std::string> messages;
  for (const int error : {ENOSPC, EDQUOT, EROFS, EACCES, ENOENT, ENOTDIR, EMFILE, EIO, ENOLCK}) {
    const Status status = FileError(error, "write", "/results/x");
    EXPECT_EQ(status.code(), StatusCode::environment);
    EXPECT_THAT(status.message(), HasSubstr("Cannot write '/results/x': "));
    EXPECT_GE(status.message().size(), std::string("Cannot write '/results/x': ").size() + 40) << error;
    EXPECT_TRUE(messages.insert(status.message()).second);
  }
  EXPECT_THAT(FileError(EROFS, "write", "x").message(), HasSubstr("read-only"));
  EXPECT_THAT(FileError(EACCES, "write", "x").message(), HasSubstr("owner or the mode"));
}

TEST(FileError, FullDiskIsNamedByTheFolderThatIsThereAndItsFreeSpace) {
  const retort::testing::TemporaryDirectory folder;
  EXPECT_THAT(FileError(ENOSPC, "write", folder / "not/yet/there").message(),
              ::testing::ContainsRegex("[0-9.]+ MiB are free in '" + folder.path() + "'\\.$"));
  EXPECT_THAT(FileError(EIO, "write", folder / "x").message(), ::testing::Not(HasSubstr("MiB")));
}

}  // namespace
}  // namespace retort::storage
