// What lies beside a results folder is counted once, whatever it is called, and said where it cannot be looked into.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "orchestrator/journal/folder_lock.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/results/results_root.h"
#include "orchestrator/results/shared_examples.h"
#include "storage/files/path_status.h"
#include "storage/log/privacy_ledger.h"
#include "tests/testing/another_user.h"
#include "tests/testing/failing_reads_env.h"
#include "tests/testing/storage_samples.h"
#include "tests/testing/temporary_directory.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakePlan;
using testing::SmallData;
using testing::TrialBuilder;
using testing::VoteEvent;

class BesideFolders : public ::testing::Test {
 protected:
  BesideFolders() {
    fs::permissions(folder_.path(), fs::perms(0755));
    fs::create_directories(root_ + "/own");
  }
  ~BesideFolders() override {
    for (const auto& entry : fs::directory_iterator(root_))
      if (!entry.is_symlink()) ::chmod(entry.path().c_str(), 0755);
  }

  static SweepPlan Plan(bool budget) {
    const auto data = SmallData();
    data->digest = std::string(64, 'd');
    if (budget) data->budget = Budget{1, 1e-5};
    SweepPlan plan = MakePlan({TrialBuilder(1).With(data).Build()});
    plan.data = {data};
    return plan;
  }
  // A sweep of one trial that charged `draws` votes.
  std::string Sweep(const std::string& name, std::int64_t draws) {
    const std::string folder = root_ + "/" + name;
    fs::create_directories(folder);
    const SweepPlan plan = Plan(false);
    Core core(Settings{.results = folder, .provenance_json = "{}"});
    auto journal = Journal::Open(env_, folder, core);
    EXPECT_TRUE(journal
                    ->Commit({{1.0, SweepOpened{kResultsFormatVersion, name, "retort = 1\n", "{}"}},
                              {1.0, MakeTrialPlanned(plan.trials[0])},
                              {1.0, PlanAdopted{{plan.trials[0].id}}}})
                    .ok());
    auto ledger = storage::PrivacyLedger::Open(env_, GetLedgerPath(folder)).value();
    EXPECT_TRUE(ledger->Reserve(plan.data[0]->digest, {plan.trials[0].id, 1}, 1, VoteEvent(draws)).ok());
    return folder;
  }
  void Close(const std::string& folder) { ASSERT_EQ(::chmod(folder.c_str(), ::geteuid() == 0 ? 0700 : 0), 0); }
  std::int64_t Draws(const std::string& results) {
    const Result<RootTerms> terms = ReadRootTerms(env_, results, Plan(true), shared_);
    EXPECT_TRUE(terms.ok()) << terms.status().message();
    std::int64_t draws = 0;
    if (terms.ok())
      for (const auto& [digest, events] : terms->charged)
        for (const privacy::PrivacyEvent& event : events) draws += event.count;
    return draws;
  }

  storage::Env& env_ = storage::PosixEnv();
  testing::TemporaryDirectory folder_;
  const std::string root_ = fs::path(folder_ / "root").lexically_normal().string(), own_ = root_ + "/own";
  SharedExamples shared_;
};

TEST_F(BesideFolders, ClosedFolderStopsABudgetedSweep) {
  Close(Sweep("closed", 30));
  const testing::AnotherUser nobody;
  const Result<OtherFolders> beside = ListOtherFolders(env_, own_);
  ASSERT_TRUE(beside.ok());
  EXPECT_TRUE(beside->sweeps.empty());
  ASSERT_EQ(beside->unknown.size(), 1U);
  EXPECT_THAT(beside->unknown[0], HasSubstr("whether " + root_ + "/closed is a sweep"));
  EXPECT_THAT(beside->unknown[0], HasSubstr("Permission denied"));
  const Status terms = ReadRootTerms(env_, own_, Plan(true), shared_).status();
  EXPECT_EQ(terms.code(), StatusCode::environment);
  EXPECT_THAT(terms.message(), HasSubstr(root_ + "/closed"));
  EXPECT_THAT(DescribeUncounted(env_, own_), ElementsAre(HasSubstr("it is not counted")));
  const RootCharges root = ReadRoot(env_, own_, {std::string(64, 'd')}, {}, {}, "");
  EXPECT_THAT(root.trouble, HasSubstr(root_ + "/closed"));
  EXPECT_THAT(root.uncounted, ElementsAre(HasSubstr(root_ + "/closed")));
}

TEST_F(BesideFolders, AFolderThatIsMountedFromElsewhereIsTold) {
  const std::string here = fs::weakly_canonical(own_).string(), head = "36 35 98:0 ";
  const std::string rest = " rw,noatime master:1 - ext3 /dev/root rw\n";
  EXPECT_TRUE(IsMountedFromElsewhere(own_, head + "/home/r/a " + here + rest));
  EXPECT_TRUE(IsMountedFromElsewhere(own_ + "/../own/",
                                     head + "/home/r/a " + fs::weakly_canonical(own_ + "/../own").string() + rest));
  EXPECT_TRUE(IsMountedFromElsewhere("/r/a b", head + "/x /r/a\\040b" + rest));
  EXPECT_FALSE(IsMountedFromElsewhere(own_, head + "/ " + here + rest)) << "a disk of its own";
  EXPECT_FALSE(IsMountedFromElsewhere(own_, head + "/home/r " + fs::path(here).parent_path().string() + rest));
  EXPECT_FALSE(IsMountedFromElsewhere(own_, head + "/home/r/a " + here + rest + head + "/ " + here + rest));
  for (const std::string& text : {std::string(), std::string("x"), head})
    EXPECT_FALSE(IsMountedFromElsewhere(own_, text));
}

TEST_F(BesideFolders, UnreadableFilesStopSweepsOfTheirData) {
  const std::string folder = Sweep("closed", 30);
  for (const std::string& file : {GetJournalPath(folder), GetLedgerPath(folder)})
    ASSERT_EQ(::chmod(file.c_str(), ::geteuid() == 0 ? 0600 : 0), 0);
  fs::permissions(folder, fs::perms(0755));
  const testing::AnotherUser nobody;
  for (const bool budget : {true, false}) {
    const Status terms = ReadRootTerms(env_, own_, Plan(budget), shared_).status();
    EXPECT_EQ(terms.code(), StatusCode::environment) << budget;
    EXPECT_THAT(terms.message(), HasSubstr(folder));
  }
}

TEST_F(BesideFolders, RunOfAnotherUserIsSeenBehindAClosedLock) {
  const std::string folder = Sweep("busy", 30);
  {
    const auto lock = env_.Lock(LockPath(folder));
    ASSERT_TRUE(lock.ok());
    ASSERT_EQ(::chmod(LockPath(folder).c_str(), ::geteuid() == 0 ? 0600 : 0), 0);
    fs::permissions(folder, fs::perms(0755));
    for (const std::string& file : {GetJournalPath(folder), GetLedgerPath(folder)})
      fs::permissions(file, fs::perms(0644));
    const testing::AnotherUser nobody;
    EXPECT_TRUE(IsFolderLocked(env_, folder));
    EXPECT_THAT(ReadRootTerms(env_, own_, Plan(true), shared_).status().message(), HasSubstr("is running"));
  }
  const testing::AnotherUser nobody;
  EXPECT_FALSE(IsFolderLocked(env_, folder));
}

TEST_F(BesideFolders, LinksThatLeadNowhereAndInACircleStopABudgetedSweep) {
  for (const char* to : {"gone", "link"}) {
    fs::create_symlink(to, root_ + "/link");
    EXPECT_EQ(ReadRootTerms(env_, own_, Plan(true), shared_).status().code(), StatusCode::environment) << to;
    EXPECT_EQ(DescribeUncounted(env_, own_).size(), 1U);
    fs::remove(root_ + "/link");
  }
  EXPECT_EQ(Draws(own_), 0);
}

TEST_F(BesideFolders, FolderThatFailsToBeReadStopsABudgetedSweep) {
  const std::string folder = Sweep("sick", 30);
  for (const int error : {EIO, ELOOP, ENOTDIR, EACCES}) {
    for (const std::string& sick : {folder, GetLedgerPath(folder), GetJournalPath(folder), root_}) {
      testing::FailingReadsEnv env(sick, error);
      EXPECT_EQ(ReadRootTerms(env, own_, Plan(true), shared_).status().code(), StatusCode::environment)
          << sick << error;
    }
    testing::FailingReadsEnv env(folder, error);
    EXPECT_THAT(DescribeUncounted(env, own_), ElementsAre(HasSubstr(folder))) << error;
  }
}

TEST_F(BesideFolders, PlainFilesAndFoldersWithoutASweepAreNone) {
  ASSERT_TRUE(env_.WriteFileAtomically(root_ + "/notes.txt", "x").ok());
  fs::create_directories(root_ + "/pictures");
  EXPECT_TRUE(ListOtherFolders(env_, own_)->sweeps.empty());
  EXPECT_TRUE(ListOtherFolders(env_, own_)->unknown.empty());
}

TEST_F(BesideFolders, OneFolderOfTwoNamesCountsOnceAndOnesOwnNotAtAll) {
  Sweep("own", 500);
  Sweep("other", 30);
  fs::create_directory_symlink("other", root_ + "/again");
  fs::create_directory_symlink("own", root_ + "/mine");
  EXPECT_EQ(Draws(own_), 30);
  EXPECT_TRUE(DescribeCopies(env_, own_).empty());
}

TEST_F(BesideFolders, RootIsWhereTheFolderLiesByWhateverNameItIsReached) {
  Sweep("own", 500);
  Sweep("other", 30);
  fs::create_directories(folder_ / "elsewhere/deep");
  fs::create_directory_symlink(own_, folder_ / "elsewhere/link");
  fs::create_directory_symlink(folder_ / "elsewhere/deep", folder_ / "elsewhere/turn");
  const fs::path before = fs::current_path();
  for (const std::string& name : {own_ + "/", own_ + "/.", root_ + "/other/../own", folder_ / "elsewhere/link",
                                  folder_ / "elsewhere/link/", folder_ / "elsewhere/turn/../link"})
    EXPECT_EQ(Draws(name), 30) << name;
  fs::current_path(own_);
  for (const char* name : {".", "./", "../own", "../other/../own"}) EXPECT_EQ(Draws(name), 30) << name;
  EXPECT_TRUE(storage::IsSameFile(FindAbsolutePath("."), own_));
  fs::current_path(before);
  EXPECT_TRUE(storage::IsSameFile(FindAbsolutePath(folder_ / "elsewhere/turn/../link"), own_));
}

TEST_F(BesideFolders, RootOfAFolderThatIsStillToBeMadeIsItsParent) {
  EXPECT_EQ(FindResultsRoot("results/new"), "results");
  EXPECT_EQ(FindResultsRoot("results/new/"), "results");
  EXPECT_EQ(FindResultsRoot("new"), ".");
  EXPECT_EQ(FindResultsRoot("/new"), "/");
  EXPECT_TRUE(storage::IsSameFile(FindResultsRoot(root_ + "/own/../new"), root_));
}

}  // namespace
}  // namespace retort::orchestrator
