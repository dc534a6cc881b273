// What workers wrote, beside the failure of their trial.
#include "orchestrator/agent/worker_log_tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "orchestrator/agent/worker_port.h"
#include "orchestrator/screen/progress_view.h"
#include "tests/testing/temporary_directory.h"
#include "tests/unit/orchestrator/orchestrator_fixture.h"

namespace retort::orchestrator {
namespace {

using ::testing::ElementsAre;
using testing::FamilyPlan;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

void Append(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::app | std::ios::binary) << text;
}

TEST(LogTail, LastLinesSinceTheBeginning) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder / "log";
  EXPECT_THAT(ReadLogTail(path, 0, 3).lines, IsEmpty()) << "there is no file";
  Append(path, "before\n");
  EXPECT_THAT(ReadLogTail(path, 7, 3).lines, IsEmpty());
  Append(path, "one\ntwo\n\nthree\x1b[31m\nfour");
  EXPECT_THAT(ReadLogTail(path, 7, 3).lines, ElementsAre("two", "three", "four"));
  EXPECT_THAT(ReadLogTail(path, 7, 9).lines, ElementsAre("one", "two", "three", "four"));
  EXPECT_THAT(ReadLogTail(path, 1000, 3).lines, IsEmpty()) << "somebody cut the file";
}

class AttemptLogsTest : public OrchestratorTest {
 protected:
  AttemptLogsTest() {
    Settings settings = TestSettings();
    settings.results = folder_.path();
    core_ = Core(settings);
    std::filesystem::create_directories(folder_ / "workers");
    log_ = GetWorkerLogPath(folder_.path(), 0, 0);
  }
  void SetUp() override {
    plan_ = FamilyPlan(1, 2);
    Open(plan_);
    Register(0, 1);
    Append(log_, "of an earlier trial\n");
    Tick();
    Show();
  }
  void Show() {
    view_.Events(core_, outbox_.journal, now());
    outbox_.journal.clear();
  }
  testing::TemporaryDirectory folder_;
  std::string log_, shown_;
  SweepPlan plan_;
  ProgressView view_{{}, [this](std::string_view text) { shown_ += text; }};
};

TEST_F(AttemptLogsTest, TrialThatFailedForGoodIsShownWithTheEndOfItsLog) {
  for (int line = 1; line <= 12; ++line) Append(log_, "line " + std::to_string(line) + "\n");
  Fail(plan_.trials[0].id, FailureKind::not_finite,
       std::string("the loss is NaN") + kWorkerOutputIntro + "line 11 line 12");
  Show();
  EXPECT_THAT(shown_, HasSubstr("not_finite: the loss is NaN; not tried again\n    the last lines of " + log_ +
                                ":\n      line 3\n      line 4\n"));
  EXPECT_THAT(shown_, HasSubstr("      line 12\n"));
  EXPECT_THAT(shown_, Not(HasSubstr("line 2\n")));
  EXPECT_THAT(shown_, Not(HasSubstr("earlier"))) << "of this attempt alone";
  EXPECT_THAT(shown_, Not(HasSubstr("it wrote")));
}

TEST_F(AttemptLogsTest, NothingIsSaidOfALogWithoutALine) {
  Fail(plan_.trials[0].id, FailureKind::not_finite, "the loss is NaN");
  Show();
  EXPECT_THAT(shown_, HasSubstr("the loss is NaN; not tried again\n"));
  EXPECT_THAT(shown_, Not(HasSubstr("last lines")));
}

TEST_F(AttemptLogsTest, RetryKeepsItsLastWordsInTheLine) {
  Append(log_, "line 1\n");
  Fail(plan_.trials[0].id, FailureKind::worker_crash, std::string("SIGSEGV") + kWorkerOutputIntro + "line 1");
  Show();
  EXPECT_THAT(shown_, HasSubstr("SIGSEGV; it wrote: line 1; it will be tried again"));
  EXPECT_THAT(shown_, Not(HasSubstr("last lines")));
}

TEST_F(AttemptLogsTest, WorkersOfAGangAreShownAsFarAsTheyWrote) {
  AttemptLogs logs;
  core_ = Core(core_.settings());
  outbox_ = {};
  const TrialSpec gang = testing::TrialBuilder().Teacher("t").Devices(5).Build();
  Open(testing::MakePlan({gang}));
  Register(0, 5);
  Tick();
  logs.Leased(core_, gang.id);
  for (const int slot : {1, 2, 3, 4}) Append(GetWorkerLogPath(folder_.path(), 0, slot), "slot " + std::to_string(slot));
  const std::vector<LogTail> tails = logs.Ended(gang.id, true);
  ASSERT_EQ(tails.size(), AttemptLogs::kMembers);
  EXPECT_EQ(tails[0].path, GetWorkerLogPath(folder_.path(), 0, 1));
  EXPECT_THAT(tails[2].lines, ElementsAre("slot 3"));
  EXPECT_THAT(logs.Ended(gang.id, true), IsEmpty()) << "it is forgotten";
}

}  // namespace
}  // namespace retort::orchestrator
