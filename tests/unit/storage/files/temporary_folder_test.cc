// A folder appears whole at its path, or nothing does.
#include "storage/files/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "storage/files/atomic_file.h"
#include "storage/files/env.h"
#include "tests/testing/temporary_directory.h"

namespace retort::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Over = TemporaryFolder::Over;

void Put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(TemporaryFolder, IsPublishedWithAllThatItHolds) {
  const testing::TemporaryDirectory root;
  auto folder = TemporaryFolder::For(root / "made");
  ASSERT_TRUE(folder.ok());
  EXPECT_TRUE(IsTemporaryName(std::filesystem::path(folder->path()).filename().string()));
  Put(folder->path() + "/a", "1");
  ASSERT_TRUE(folder->Publish(Over::nothing).ok());
  EXPECT_THAT(*PosixEnv().List(root.path()), ElementsAre("made"));
  EXPECT_EQ(*PosixEnv().ReadFile(root / "made/a"), "1");
}

TEST(TemporaryFolder, FilesAndFoldersAreMadeBelowIt) {
  const testing::TemporaryDirectory root;
  auto folder = TemporaryFolder::For(root / "made");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(folder->WriteFile("a/b/c", "1").ok());
  ASSERT_TRUE(folder->WriteFile("d", "2").ok());
  ASSERT_TRUE(folder->MakeFolder("a/e/").ok());
  EXPECT_EQ(folder->WriteFile("d", "3").code(), StatusCode::environment);
  ASSERT_TRUE(folder->Publish(Over::nothing).ok());
  EXPECT_EQ(*PosixEnv().ReadFile(root / "made/a/b/c"), "1");
  EXPECT_EQ(*PosixEnv().ReadFile(root / "made/d"), "2");
  EXPECT_THAT(*PosixEnv().List(root / "made/a"), ElementsAre("b", "e"));
}

TEST(TemporaryFolder, IsRemovedUnlessItWasPublished) {
  const testing::TemporaryDirectory root;
  {
    const auto folder = TemporaryFolder::For(root / "made");
    ASSERT_TRUE(folder.ok());
    Put(folder->path() + "/a", "1");
  }
  EXPECT_THAT(*PosixEnv().List(root.path()), IsEmpty());
}

TEST(TemporaryFolder, WhatAppearedMeanwhileStays) {
  const testing::TemporaryDirectory root;
  auto folder = TemporaryFolder::For(root / "made");
  ASSERT_TRUE(folder.ok());
  std::filesystem::create_directory(root / "made");
  Put(root / "made/mine", "kept");
  EXPECT_EQ(folder->Publish(Over::nothing).code(), StatusCode::usage);
  EXPECT_EQ(*PosixEnv().ReadFile(root / "made/mine"), "kept");
}

TEST(TemporaryFolder, TakesThePlaceOfAFolderWhole) {
  const testing::TemporaryDirectory root;
  std::filesystem::create_directory(root / "made");
  Put(root / "made/old", "old");
  auto folder = TemporaryFolder::For(root / "made");
  ASSERT_TRUE(folder.ok());
  Put(folder->path() + "/new", "new");
  ASSERT_TRUE(folder->Publish(Over::folder).ok());
  EXPECT_THAT(*PosixEnv().List(root / "made"), ElementsAre("new"));
  EXPECT_THAT(*PosixEnv().List(root.path()), ElementsAre("made"));
}

TEST(TemporaryFolder, NeverTakesThePlaceOfAFile) {
  const testing::TemporaryDirectory root;
  Put(root / "made", "mine");
  auto folder = TemporaryFolder::For(root / "made");
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ(folder->Publish(Over::folder).code(), StatusCode::usage);
  EXPECT_EQ(*PosixEnv().ReadFile(root / "made"), "mine");
}

TEST(TemporaryFolder, NeedsAFolderAboveIt) {
  const testing::TemporaryDirectory root;
  EXPECT_EQ(TemporaryFolder::For(root / "none/made").status().code(), StatusCode::environment);
}

}  // namespace
}  // namespace retort::storage
