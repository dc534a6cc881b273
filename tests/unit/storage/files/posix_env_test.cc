#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <vector>

#include "storage/files/atomic_file.h"
#include "storage/files/env.h"
#include "tests/testing/temporary_directory.h"

namespace retort::storage {
namespace {

using ::testing::HasSubstr;

TEST(PosixEnv, AFullDiskIsNamedWithItsRemedy) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  const Status status = WriteAll(full, "x", "r/journal.log");
  ::close(full);
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("'r/journal.log': No space left on device"));
  EXPECT_THAT(status.message(), HasSubstr("free some space"));
}

// Names of what is there and is no plain file; each must be as it was after `use`.
class NoPlainFile : public ::testing::Test {
 protected:
  NoPlainFile() {
    EXPECT_TRUE(PosixEnv().WriteFileAtomically(folder_ / "target", "kept").ok());
    std::filesystem::create_symlink("target", folder_ / "link");
    std::filesystem::create_symlink("nowhere", folder_ / "dangling");
    EXPECT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
    std::filesystem::create_directory(folder_ / "folder");
    names_ = {"link", "dangling", "pipe", "folder"};
    if (::mknod((folder_ / "device").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0)
      names_.emplace_back("device");  // as root
  }
  void Refused(const std::function<Status(const std::string&)>& use) {
    const auto all = PosixEnv().List(folder_.path()).value();
    for (const std::string& name : names_) {
      struct stat before {
      }, after{};
      ASSERT_EQ(::lstat((folder_ / name).c_str(), &before), 0);
      const Status status = use(folder_ / name);
      EXPECT_EQ(status.code(), StatusCode::environment) << name;
      EXPECT_THAT(status.message(), ::testing::ContainsRegex("/" + name + "' is a (link|pipe|folder|device)")) << name;
      ASSERT_EQ(::lstat((folder_ / name).c_str(), &after), 0) << name;
      EXPECT_EQ(before.st_ino, after.st_ino) << name;
    }
    EXPECT_EQ(PosixEnv().ReadFile(folder_ / "target").value(), "kept");
    EXPECT_EQ(PosixEnv().List(folder_.path()).value(), all);
  }

  retort::testing::TemporaryDirectory folder_;
  std::vector<std::string> names_;
};

TEST_F(NoPlainFile, IsNotReplaced) {
  Refused([](const std::string& path) { return PosixEnv().WriteFileAtomically(path, "x"); });
  Refused([](const std::string& path) {
    return PosixEnv().PublishFile(path, [](const std::string&) { return Status(); });
  });
}

TEST_F(NoPlainFile, IsNotAppendedTo) {
  Refused([](const std::string& path) { return PosixEnv().OpenAppend(path).status(); });
}

TEST_F(NoPlainFile, IsNoLock) {
  Refused([](const std::string& path) { return PosixEnv().Lock(path).status(); });
}

TEST_F(NoPlainFile, NorAnythingElseIsReplacedByANewFile) {
  names_.emplace_back("target");
  for (const std::string& name : names_) {
    const Status status = WriteNewFile(folder_ / name, "x");
    EXPECT_EQ(status.code(), StatusCode::usage) << name;
    EXPECT_THAT(status.message(), HasSubstr("is there already")) << name;
  }
  EXPECT_EQ(PosixEnv().ReadFile(folder_ / "target").value(), "kept");
  ASSERT_TRUE(WriteNewFile(folder_ / "new", "x").ok());
  EXPECT_EQ(PosixEnv().ReadFile(folder_ / "new").value(), "x");
  EXPECT_THAT(PosixEnv().List(folder_.path()).value(), ::testing::Each(::testing::Not(HasSubstr(".tmp"))));
}

TEST(PosixEnv, AFileOfSomebodyElseBesideItIsNeverTheTemporaryOne) {
  const retort::testing::TemporaryDirectory folder;
  for (const bool publish : {false, true}) {
    ASSERT_TRUE(PosixEnv().WriteFileAtomically(folder / "y.npz.tmp", "notes").ok());
    ASSERT_TRUE(PosixEnv().WriteFileAtomically(folder / "imp", "important").ok());
    (void)PosixEnv().Remove(folder / "z.npz.tmp").ok();
    std::filesystem::create_symlink("imp", folder / "z.npz.tmp");
    for (const char* const name : {"y.npz", "z.npz"}) {
      const Status status = publish ? PosixEnv().PublishFile(folder / name,
                                                             [](const std::string& temporary) {
                                                               std::ofstream(temporary) << "new";
                                                               return Status();
                                                             })
                                    : PosixEnv().WriteFileAtomically(folder / name, "new");
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(PosixEnv().ReadFile(folder / name).value(), "new");
    }
    EXPECT_EQ(PosixEnv().ReadFile(folder / "y.npz.tmp").value(), "notes");
    EXPECT_EQ(PosixEnv().ReadFile(folder / "imp").value(), "important");
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "z.npz.tmp"));
  }
}

TEST(PosixEnv, TemporaryNamesDifferAndAreKnown) {
  const retort::testing::TemporaryDirectory folder;
  std::set<std::string> names;
  for (const std::string& name : {std::string("a"), std::string(255, 'n')}) {
    for (int i = 0; i < 8; ++i) {
      const Status status = PosixEnv().PublishFile(folder / name, [&](const std::string& temporary) {
        names.insert(std::filesystem::path(temporary).filename());
        return Status();
      });
      ASSERT_TRUE(status.ok()) << status.message();
    }
  }
  EXPECT_EQ(names.size(), 16U);
  for (const std::string& name : names) EXPECT_TRUE(IsTemporaryName(name)) << name;
  for (const char* const name :
       {"y.npz.tmp", ".0123456789abcdef.tmp", "y.0123456789ABCDEF.tmp", "y.0123456789abcdef", "tmp", ""})
    EXPECT_FALSE(IsTemporaryName(name)) << name;
}

TEST(PosixEnv, WhatWasExchangedWhileItWasWrittenIsNotPublished) {
  const retort::testing::TemporaryDirectory folder;
  ASSERT_TRUE(PosixEnv().WriteFileAtomically(folder / "view", "old").ok());
  ASSERT_TRUE(PosixEnv().WriteFileAtomically(folder / "target", "kept").ok());
  const Status status = PosixEnv().PublishFile(folder / "view", [&](const std::string& temporary) {
    std::filesystem::remove(temporary);
    std::filesystem::create_symlink("target", temporary);
    return Status();
  });
  EXPECT_THAT(status.message(), HasSubstr("was exchanged"));
  EXPECT_EQ(PosixEnv().ReadFile(folder / "view").value(), "old");
  EXPECT_EQ(PosixEnv().ReadFile(folder / "target").value(), "kept");
}

TEST(PosixEnv, AFolderWhereAFileLiesIsRefused) {
  const retort::testing::TemporaryDirectory folder;
  ASSERT_TRUE(PosixEnv().WriteFileAtomically(folder / "file", "x").ok());
  EXPECT_THAT(PosixEnv().CreateDirectories(folder / "file/below").message(), HasSubstr("is a file and not a folder"));
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

TEST(PosixEnv, RemovedLargeFileFreesItsNameAtOnce) {
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
  for (const std::string name : {"view.tmp", "lock", "log"}) ASSERT_EQ(::mkfifo((folder / name).c_str(), 0600), 0);
  EXPECT_TRUE(PosixEnv().WriteFileAtomically(folder / "view", "new").ok());
  EXPECT_EQ(PosixEnv().ReadFile(folder / "view").value(), "new");
  EXPECT_THAT(PosixEnv().Lock(folder / "lock").status().message(), HasSubstr("is a pipe"));
  EXPECT_THAT(PosixEnv().OpenAppend(folder / "log").status().message(), HasSubstr("is a pipe"));
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

TEST(FileError, FullDiskErrorNamesFolderAndFreeSpace) {
  const retort::testing::TemporaryDirectory folder;
  EXPECT_THAT(FileError(ENOSPC, "write", folder / "not/yet/there").message(),
              ::testing::ContainsRegex("[0-9.]+ MiB are free in '" + folder.path() + "'\\.$"));
  EXPECT_THAT(FileError(EIO, "write", folder / "x").message(), ::testing::Not(HasSubstr("MiB")));
}

}  // namespace
}  // namespace retort::storage
