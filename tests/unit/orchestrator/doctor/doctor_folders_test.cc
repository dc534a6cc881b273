// What doctor says of folders, file systems and variables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "orchestrator/doctor/environment_check.h"
#include "orchestrator/doctor/folder_check.h"
#include "tests/testing/temporary_directory.h"

namespace retort::orchestrator::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

FolderFacts GoodFolder() {
  FolderFacts facts;
  facts.folder = facts.tried = "/home/me/results";
  facts.file_system = {"ext4", "/home", ",rw,"};
  facts.free_bytes = std::uint64_t{100} << 30;
  facts.free_files = 1'000'000;
  facts.sync_seconds = 0.004;
  facts.lock_excludes = true;
  facts.clock_ahead_seconds = -0.01;
  return facts;
}

TEST(DoctorFolder, FolderThatTakesResultsIsWell) {
  const FolderFacts facts = GoodFolder();
  for (const Finding& finding :
       {CheckFolder(facts), CheckFreeSpace(facts), CheckFileSystem(facts), CheckLocks(facts), CheckFileClock(facts)})
    EXPECT_EQ(finding.level, Level::ok) << finding.name << ": " << finding.what;
  EXPECT_FALSE(CheckHdf5Locking(facts));
}

TEST(DoctorFolder, FolderThatCannotBeWrittenIsAProblem) {
  FolderFacts facts = GoodFolder();
  facts.trouble = "Permission denied";
  EXPECT_EQ(CheckFolder(facts).level, Level::problem);
  EXPECT_THAT(CheckFolder(facts).remedy, HasSubstr("--results"));
  facts.file_system.options = ",ro,";
  EXPECT_THAT(CheckFolder(facts).remedy, HasSubstr("read-only"));
  facts = GoodFolder();
  facts.sync_trouble = "Input/output error";
  EXPECT_EQ(CheckFolder(facts).level, Level::problem);
  facts = GoodFolder();
  facts.rename_trouble = "Invalid cross-device link";
  EXPECT_EQ(CheckFolder(facts).level, Level::problem);
  facts = GoodFolder();
  facts.sync_seconds = 0.3;
  EXPECT_EQ(CheckFolder(facts).level, Level::warning);
  facts = GoodFolder();
  facts.running = true;
  EXPECT_EQ(CheckFolder(facts).level, Level::note);
}

TEST(DoctorFolder, FullDiskIsAProblem) {
  FolderFacts facts = GoodFolder();
  facts.free_bytes = std::uint64_t{500} << 20;
  EXPECT_EQ(CheckFreeSpace(facts).level, Level::warning);
  facts.free_bytes = std::uint64_t{15} << 20;
  EXPECT_EQ(CheckFreeSpace(facts).level, Level::problem);
  facts = GoodFolder();
  facts.free_files = 5;
  EXPECT_EQ(CheckFreeSpace(facts).level, Level::problem);
  facts.free_files.reset();  // btrfs counts none
  EXPECT_EQ(CheckFreeSpace(facts).level, Level::ok);
}

Level SystemLevel(const std::string& type, const std::string& options = ",rw,") {
  FolderFacts facts = GoodFolder();
  facts.file_system = {type, "/mnt", options};
  return CheckFileSystem(facts).level;
}

TEST(DoctorFolder, FileSystemsThatLoseOrDoNotLockAreWarnings) {
  EXPECT_EQ(SystemLevel("xfs"), Level::ok);
  EXPECT_EQ(SystemLevel("nfs4", ",rw,vers=4.2,local_lock=none,"), Level::ok);
  EXPECT_EQ(SystemLevel("lustre", ",rw,flock,"), Level::ok);
  EXPECT_EQ(SystemLevel("overlay"), Level::note);
  EXPECT_EQ(SystemLevel(""), Level::note);
  EXPECT_EQ(SystemLevel("tmpfs"), Level::warning);
  EXPECT_EQ(SystemLevel("9p"), Level::warning);
  EXPECT_EQ(SystemLevel("nfs", ",rw,nolock,"), Level::warning);
  EXPECT_EQ(SystemLevel("nfs", ",rw,local_lock=all,"), Level::warning);
  EXPECT_EQ(SystemLevel("lustre", ",rw,localflock,"), Level::warning);
}

TEST(DoctorFolder, LocksThatFailOrDoNotExcludeAreProblems) {
  FolderFacts facts = GoodFolder();
  facts.lock_excludes = false;
  EXPECT_EQ(CheckLocks(facts).level, Level::problem);
  facts.lock_trouble = "Function not implemented";
  facts.file_system.type = "lustre";
  EXPECT_EQ(CheckLocks(facts).level, Level::problem);
  EXPECT_THAT(CheckLocks(facts).remedy, HasSubstr("-o flock"));
}

TEST(DoctorFolder, Hdf5LockingIsNamedAndAWrongValueIsAWarning) {
  FolderFacts facts = GoodFolder();
  facts.hdf5_locking = "FALSE";
  EXPECT_EQ(CheckHdf5Locking(facts)->level, Level::note);
  facts.hdf5_locking = "no";
  EXPECT_EQ(CheckHdf5Locking(facts)->level, Level::warning);
}

TEST(DoctorFolder, ServerWithAnotherTimeIsAWarning) {
  FolderFacts facts = GoodFolder();
  facts.clock_ahead_seconds = 90;
  EXPECT_EQ(CheckFileClock(facts).level, Level::warning);
  EXPECT_THAT(CheckFileClock(facts).what, HasSubstr("ahead of"));
  facts.clock_ahead_seconds = -90;
  EXPECT_EQ(CheckFileClock(facts).level, Level::warning);
  EXPECT_THAT(CheckFileClock(facts).what, HasSubstr("behind"));
  facts.clock_ahead_seconds.reset();
  EXPECT_EQ(CheckFileClock(facts).level, Level::note);
}

TEST(DoctorFolder, LookingLeavesNothingBehind) {
  const testing::TemporaryDirectory folder;
  const FolderFacts facts = ReadFolderFacts(folder / "new/results", {"HDF5_USE_FILE_LOCKING=TRUE"});
  EXPECT_EQ(facts.trouble, "");
  EXPECT_EQ(facts.tried, std::filesystem::canonical(folder.path()).string());
  EXPECT_EQ(facts.sync_trouble, "");
  EXPECT_EQ(facts.lock_trouble, "");
  EXPECT_TRUE(facts.lock_excludes);
  EXPECT_EQ(facts.rename_trouble, "");
  EXPECT_GT(facts.sync_seconds, 0);
  EXPECT_GT(facts.free_bytes, 0U);
  EXPECT_NE(facts.file_system.type, "");
  EXPECT_EQ(facts.hdf5_locking, "TRUE");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(DoctorFolder, FolderBelowAFileCannotBeMade) {
  const testing::TemporaryDirectory folder;
  std::ofstream(folder / "file") << "x";
  const FolderFacts facts = ReadFolderFacts(folder / "file/results", {});
  EXPECT_THAT(facts.trouble, HasSubstr("is no folder"));
  std::filesystem::create_symlink(folder / "gone", folder / "link");
  EXPECT_NE(ReadFolderFacts(folder / "link/results", {}).trouble, "");
}

TEST(DoctorFileSystem, LongestMountThatHoldsThePathIsTaken) {
  const testing::TemporaryDirectory folder;
  std::ofstream(folder / "mounts") << "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
                                      "30 22 0:40 / /data rw,noatime - nfs4 server:/x rw,vers=4.2,local_lock=none\n"
                                      "31 22 0:41 / /data\\040two ro shared:2 master:3 - lustre a@tcp:/b rw,flock\n"
                                      "32 22 0:42 / /over rw - tmpfs tmpfs rw\n"
                                      "33 22 0:43 / /over rw - xfs /dev/sdb rw\n";
  const auto of = [&](const std::string& path) { return FindFileSystem(path, folder / "mounts"); };
  EXPECT_EQ(of("/home/me").type, "ext4");
  EXPECT_EQ(of("/data/x").type, "nfs4");
  EXPECT_TRUE(of("/data").Has("local_lock=none"));
  EXPECT_TRUE(of("/data").Has("noatime"));
  EXPECT_EQ(of("/database").type, "ext4");
  EXPECT_EQ(of("/data two/x").type, "lustre");
  EXPECT_TRUE(of("/data two/x").Has("ro"));
  EXPECT_EQ(of("/over").type, "xfs");  // mounted over the other
  EXPECT_EQ(FindFileSystem("/x", folder / "none").type, "");
}

TEST(DoctorVariables, UnknownNameIsAWarningWithTheNearest) {
  const std::vector<std::string> known = {"RETORT_DATA", "RETORT_GRACE_SECONDS"};
  const Findings typo = CheckVariables({"RETORT_DTA=/x", "RETORTS=1", "PATH=/bin"}, known);
  ASSERT_EQ(typo.size(), 1U);
  EXPECT_EQ(typo[0].level, Level::warning);
  EXPECT_THAT(typo[0].what, HasSubstr("RETORT_DTA is set"));
  EXPECT_THAT(typo[0].remedy, HasSubstr("is RETORT_DATA meant?"));
  const Findings strange = CheckVariables({"RETORT_UNRELATED_WORD=1"}, known);
  EXPECT_THAT(strange[0].remedy, HasSubstr("unset RETORT_UNRELATED_WORD"));
  EXPECT_EQ(CheckVariables({"RETORT_DATA=/x"}, known)[0].level, Level::ok);
}

TEST(DoctorVariables, ListedNamesAreKnown) {
  EXPECT_THAT(ListKnownVariables(), Not(IsEmpty()));
  std::vector<std::string> all;
  for (const std::string& name : ListKnownVariables()) all.push_back(name + "=1");
  const Findings findings = CheckVariables(all, ListKnownVariables());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].level, Level::ok);
  for (const char* needed : {"RETORT_DATA", "RETORT_WORKER", "RETORT_END_TIME"})
    EXPECT_THAT(ListKnownVariables(), ::testing::Contains(needed));
}

TEST(DoctorVariables, FoldersThatAreNotThereAreNamed) {
  const testing::TemporaryDirectory folder;
  const PlaceFacts good =
      ReadPlaceFacts({"RETORT_DATA=" + folder.path(), "HOME=" + folder.path(), "TMPDIR=" + folder.path()});
  EXPECT_EQ(CheckDataFolder(good).level, Level::ok);
  EXPECT_FALSE(CheckCache(good));
  EXPECT_FALSE(CheckTemporary(good));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  const std::string gone = folder / "gone";
  const PlaceFacts bad = ReadPlaceFacts({"RETORT_DATA=" + gone, "HOME=/proc", "TMPDIR=" + gone});
  EXPECT_EQ(CheckDataFolder(bad).level, Level::warning);
  EXPECT_EQ(CheckCache(bad)->level, Level::note);  // it does not matter much
  EXPECT_EQ(CheckTemporary(bad)->level, Level::warning);
  EXPECT_EQ(CheckDataFolder({}).level, Level::ok);
  EXPECT_EQ(CheckCache({})->level, Level::note);
}

TEST(DoctorLocale, AnythingButUtf8IsANote) {
  EXPECT_EQ(CheckLocale({"LANG=de_DE.UTF-8"}).level, Level::ok);
  EXPECT_EQ(CheckLocale({"LANG=C.utf8"}).level, Level::ok);
  EXPECT_EQ(CheckLocale({}).level, Level::note);
  EXPECT_EQ(CheckLocale({"LANG=de_DE.UTF-8", "LC_ALL=C"}).level, Level::note);
}

}  // namespace
}  // namespace retort::orchestrator::doctor
