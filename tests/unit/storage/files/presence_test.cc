// What cannot be looked at is not absent.
#include "storage/files/path_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "storage/datasets/mark_store.h"
#include "storage/log/record_log.h"
#include "tests/testing/another_user.h"
#include "tests/testing/failing_reads_env.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/temporary_directory.h"

namespace retort::storage {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Presence : public ::testing::Test {
 protected:
  Presence() {
    fs::permissions(folder_.path(), fs::perms(0755));
    fs::create_directories(folder_ / "closed");
    Write("file");
    Write("closed/file");
  }
  ~Presence() override { ::chmod((folder_ / "closed").c_str(), 0700); }

  void Write(const std::string& name) { ASSERT_TRUE(PosixEnv().WriteFileAtomically(folder_ / name, "x").ok()); }
  Result<bool> Look(const std::string& name) { return PathExists(PosixEnv(), folder_ / name); }

  testing::TemporaryDirectory folder_;
};

TEST_F(Presence, OnlyANameOfNothingIsAbsent) {
  EXPECT_TRUE(*Look("file"));
  EXPECT_TRUE(*Look("closed"));
  for (const char* name : {"other", "other/below", "closed/other", "closed/../other"})
    EXPECT_FALSE(*Look(name)) << name;
  EXPECT_FALSE(MayExist(PosixEnv(), folder_ / "other"));
}

TEST_F(Presence, WhatLiesBehindAClosedDoorIsNotAbsent) {
  ASSERT_EQ(::chmod((folder_ / "closed").c_str(), ::geteuid() == 0 ? 0700 : 0), 0);
  const testing::AnotherUser nobody;
  for (const char* name : {"closed/other", "closed/other/below"}) {
    const Result<bool> there = Look(name);
    EXPECT_EQ(there.status().code(), StatusCode::environment) << name;
    EXPECT_THAT(there.status().message(), HasSubstr("Permission denied"));
    EXPECT_THAT(there.status().message(), HasSubstr("belongs to"));
    EXPECT_TRUE(MayExist(PosixEnv(), folder_ / name));
  }
}

TEST_F(Presence, DanglingLinksAndLoopsAreNotAbsent) {
  fs::create_symlink("gone", folder_ / "dangling");
  fs::create_symlink("circle", folder_ / "circle");
  for (const char* name :
       {"dangling", "dangling/below", "dangling/far/below", "circle", "circle/below", "file/below"}) {
    const Result<bool> there = Look(name);
    EXPECT_EQ(there.status().code(), StatusCode::environment) << name;
  }
  EXPECT_THAT(Look("dangling/below").status().message(), HasSubstr("leads nowhere"));
}

TEST_F(Presence, EveryErrorButOneLeavesItUnknown) {
  EXPECT_FALSE(*InterpretStatError(ENOENT, folder_ / "other"));
  for (const int error : {EACCES, EPERM, EIO, ELOOP, ENOTDIR, ENAMETOOLONG, EOVERFLOW, ENOMEM, ESTALE, ETIMEDOUT}) {
    const Result<bool> there = InterpretStatError(error, folder_ / "other");
    EXPECT_EQ(there.status().code(), StatusCode::environment) << error;
    EXPECT_THAT(there.status().message(), HasSubstr(folder_ / "other"));
  }
}

TEST_F(Presence, LinksAreFollowed) {
  fs::create_directory_symlink("closed", folder_ / "link");
  EXPECT_TRUE(*Look("link/file"));
  EXPECT_FALSE(*Look("link/other"));
  EXPECT_TRUE(*IsFolder(PosixEnv(), folder_ / "link"));
  EXPECT_FALSE(*IsFolder(PosixEnv(), folder_ / "file"));
  EXPECT_FALSE(*IsFolder(PosixEnv(), folder_ / "other"));
}

TEST_F(Presence, TwoNamesOfOneFolderAreTheSame) {
  fs::create_directory_symlink("closed", folder_ / "link");
  EXPECT_TRUE(IsSameFile(folder_ / "closed", folder_ / "link/"));
  EXPECT_TRUE(IsSameFile(folder_ / "closed/./", folder_ / "closed/../closed"));
  EXPECT_FALSE(IsSameFile(folder_ / "closed", folder_.path()));
  EXPECT_TRUE(IsSameFile(folder_ / "other", folder_ / "./other/"));
  EXPECT_FALSE(IsSameFile(folder_ / "other", folder_ / "closed"));
}

TEST_F(Presence, LogsThatFailToBeReadAreNotEmpty) {
  for (const int error : {EIO, ELOOP, ENOTDIR, EACCES}) {
    testing::FailingReadsEnv env("/file", error);
    EXPECT_EQ(ReadRecordLog(env, folder_ / "file", LogKind::ledger).status().code(), StatusCode::environment) << error;
    EXPECT_EQ(SalvageRecordLog(env, folder_ / "file", LogKind::ledger).status().code(), StatusCode::environment)
        << error;
    EXPECT_EQ(ReadMarks(env, folder_.path()).status().code(), StatusCode::ok);
    fs::create_directories(GetMarksFolder(folder_.path()));
    testing::FailingReadsEnv closed("/private-examples", error);
    EXPECT_EQ(ReadMarks(closed, folder_.path()).status().code(), StatusCode::environment) << error;
    fs::remove(GetMarksFolder(folder_.path()));
  }
}

TEST(PresenceInMemory, IsWhatTheFileSystemInMemorySays) {
  testing::FaultInjectionEnv env;
  env.Put("results/file", "x");
  EXPECT_TRUE(*PathExists(env, "results/file"));
  EXPECT_FALSE(*PathExists(env, "results/other"));
}

}  // namespace
}  // namespace retort::storage
