// What every Env must do, for the real file system and for the one that tests break.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "storage/files/env.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/temporary_directory.h"

namespace retort::storage {
namespace {

class EnvContract : public ::testing::TestWithParam<bool> {
 protected:
  EnvContract() {
    if (GetParam()) return;
    EXPECT_TRUE(memory_.CreateDirectories(folder_.path()).ok());
  }
  Env& env() { return GetParam() ? PosixEnv() : memory_; }
  std::string Path(const std::string& name) { return folder_ / name; }

  retort::testing::TemporaryDirectory folder_;
  retort::testing::FaultInjectionEnv memory_;
};

TEST_P(EnvContract, AppendsAfterWhatIsThere) {
  for (const char* part : {"one ", "two"}) {
    auto file = env().OpenAppend(Path("log"));
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_TRUE((*file)->Append(part).ok());
    EXPECT_TRUE((*file)->Sync().ok());
  }
  EXPECT_EQ(env().ReadFile(Path("log")).value(), "one two");
}

TEST_P(EnvContract, AppendsAtTheEndAfterTruncation) {
  auto file = env().OpenAppend(Path("log"));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE((*file)->Append("whole and torn").ok());
  EXPECT_TRUE((*file)->Truncate(5).ok());
  EXPECT_TRUE((*file)->Append(" again").ok());
  EXPECT_EQ(env().ReadFile(Path("log")).value(), "whole again");
}

TEST_P(EnvContract, AnAtomicWriteReplacesAndLeavesNoTemporaryFile) {
  EXPECT_TRUE(env().WriteFileAtomically(Path("view"), "old").ok());
  EXPECT_TRUE(env().WriteFileAtomically(Path("view"), std::string("new\0bytes", 9)).ok());
  EXPECT_EQ(env().ReadFile(Path("view")).value(), std::string("new\0bytes", 9));
  EXPECT_EQ(env().List(folder_.path()).value(), std::vector<std::string>{"view"});
}

TEST_P(EnvContract, FailedPublicationKeepsTheOldFileAlone) {
  EXPECT_TRUE(env().WriteFileAtomically(Path("view"), "old").ok());
  const Status status = env().PublishFile(Path("view"), [](const std::string& temporary) {
    std::ofstream(temporary) << "half";
    return EnvironmentError("gave up");
  });
  EXPECT_EQ(status.message(), "gave up");
  EXPECT_EQ(env().ReadFile(Path("view")).value(), "old");
  EXPECT_EQ(env().List(folder_.path()).value(), std::vector<std::string>{"view"});
}

TEST_P(EnvContract, PublishesWhatTheWriterWrote) {
  const Status status = env().PublishFile(Path("view"), [](const std::string& temporary) {
    std::ofstream(temporary) << "whole";
    return Status();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(env().ReadFile(Path("view")).value(), "whole");
}

TEST_P(EnvContract, MakesNestedFoldersOnceOrTwice) {
  EXPECT_TRUE(env().CreateDirectories(Path("a/b/c")).ok());
  EXPECT_TRUE(env().CreateDirectories(Path("a/b/c")).ok());
  EXPECT_TRUE(env().Exists(Path("a/b")));
  EXPECT_TRUE(env().WriteFileAtomically(Path("a/b/c/file"), "x").ok());
  EXPECT_EQ(env().List(Path("a")).value(), std::vector<std::string>{"b"});
}

TEST_P(EnvContract, ListsSortedNames) {
  for (const char* name : {"b", "c", "a"}) EXPECT_TRUE(env().WriteFileAtomically(Path(name), "").ok());
  EXPECT_EQ(env().List(folder_.path()).value(), (std::vector<std::string>{"a", "b", "c"}));
}

TEST_P(EnvContract, RemovingWhatIsAbsentIsNoError) {
  EXPECT_TRUE(env().WriteFileAtomically(Path("view"), "x").ok());
  EXPECT_TRUE(env().Remove(Path("view")).ok());
  EXPECT_TRUE(env().Remove(Path("view")).ok());
  EXPECT_FALSE(env().Exists(Path("view")));
}

TEST_P(EnvContract, AMissingFileIsAnEnvironmentErrorThatNamesIt) {
  const auto bytes = env().ReadFile(Path("absent"));
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.status().code(), StatusCode::environment);
  EXPECT_NE(bytes.status().message().find(Path("absent")), std::string::npos);
}

TEST_P(EnvContract, ALockIsHeldUntilItsOwnerIsGone) {
  auto lock = env().Lock(Path("lock"));
  ASSERT_TRUE(lock.ok()) << lock.status().message();
  const auto second = env().Lock(Path("lock"));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::environment);
  std::move(lock).value().reset();
  EXPECT_TRUE(env().Lock(Path("lock")).ok());
}

INSTANTIATE_TEST_SUITE_P(Every, EnvContract, ::testing::Values(true, false),
                         [](const auto& kind) { return kind.param ? "Posix" : "FaultInjection"; });

}  // namespace
}  // namespace retort::storage
