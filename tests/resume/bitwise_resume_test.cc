// An attempt that was interrupted, anywhere and in any way, and resumed by another attempt ends with the same bits
// as one that was left alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "storage/results/hdf5_conventions.h"
#include "tests/unit/worker/trial_cases.h"

namespace retort::worker {
namespace {

enum class Interruption { polite_stop, lost_agent };

storage::Curves WithoutTimings(storage::Curves curves) {
  std::erase_if(curves, [](const auto& curve) { return storage::IsTiming(curve.first); });
  return curves;
}

class BitwiseResume : public ::testing::TestWithParam<TrialCase> {
 protected:
  static void SetUpTestSuite() { tiny_ = new TinyTrials; }
  static void TearDownTestSuite() {
    delete tiny_;
    tiny_ = nullptr;
    undisturbed_.clear();
    stopped_.clear();
  }

  static cluster::Ended Attempt(const std::string& name, std::uint32_t number, FakeTrialHost& host) {
    const TrialCase& c = GetParam();
    const std::string teacher = c.teacher.empty() ? "" : tiny_->TeacherFile(c.teacher);
    return RunTrial(tiny_->Order(c.spec(*tiny_), name, number, teacher), host, storage::PosixEnv());
  }

  // Interrupts attempt after attempt, each `after` steps further on, until one comes through.
  static cluster::Ended RunInterrupted(const std::string& name, Interruption how, std::int64_t after) {
    for (std::uint32_t number = 1; number < 100; ++number) {
      FakeTrialHost host;
      (how == Interruption::polite_stop ? host.stop_at : host.vanish_at) = after + 1;
      const cluster::Ended ended = Attempt(name, number, host);
      if (ended.succeeded) {
        EXPECT_GT(number, 1U);
        return ended;
      }
      EXPECT_EQ(ended.failure, how == Interruption::polite_stop ? FailureKind::stopped : FailureKind::agent_lost)
          << ended.detail;
      if (ended.failure != FailureKind::stopped && ended.failure != FailureKind::agent_lost) return ended;
    }
    return {};
  }

  // The trial that was left alone, which lies in the folder NAME-whole: one for all tests of a case.
  static const cluster::Ended& Undisturbed() {
    const auto [found, is_new] = undisturbed_.try_emplace(GetParam().name);
    if (is_new) {
      FakeTrialHost host;
      found->second = Attempt(GetParam().name + "-whole", 1, host);
    }
    return found->second;
  }

  // The same, stopped every two steps until an attempt comes through, in the folder NAME-stopped-2.
  static const cluster::Ended& StoppedEveryTwoSteps() {
    const auto [found, is_new] = stopped_.try_emplace(GetParam().name);
    if (is_new) found->second = RunInterrupted(GetParam().name + "-stopped-2", Interruption::polite_stop, 2);
    return found->second;
  }

  static TinyTrials* tiny_;
  static std::map<std::string, cluster::Ended> undisturbed_, stopped_;  // by case
};
TinyTrials* BitwiseResume::tiny_ = nullptr;
std::map<std::string, cluster::Ended> BitwiseResume::undisturbed_, BitwiseResume::stopped_;

TEST_P(BitwiseResume, PoliteStopsLeaveNoTrace) {
  const cluster::Ended& whole = Undisturbed();
  ASSERT_TRUE(whole.succeeded) << whole.detail;
  const cluster::Ended each_step = RunInterrupted(GetParam().name + "-stopped-1", Interruption::polite_stop, 1);
  for (const cluster::Ended& pieces : {each_step, StoppedEveryTwoSteps()}) {
    EXPECT_EQ(pieces.parameters_digest, whole.parameters_digest);
    EXPECT_EQ(pieces.metrics, whole.metrics);
  }
}

TEST_P(BitwiseResume, CrashesReplayTheTranscript) {
  const cluster::Ended& whole = Undisturbed();
  ASSERT_TRUE(whole.succeeded) << whole.detail;
  FakeTrialHost first;
  first.vanish_at = 1;  // after the first step; nothing but the first checkpoint is saved
  const std::string name = GetParam().name + "-crashed";
  ASSERT_EQ(Attempt(name, 1, first).failure, FailureKind::agent_lost);
  FakeTrialHost second;
  const cluster::Ended again = Attempt(name, 2, second);
  ASSERT_TRUE(again.succeeded) << again.detail;
  EXPECT_EQ(again.parameters_digest, whole.parameters_digest);
  EXPECT_EQ(again.metrics, whole.metrics);
}

TEST_P(BitwiseResume, CurvesAreThoseOfTheUndisturbedRun) {
  ASSERT_TRUE(Undisturbed().succeeded);
  ASSERT_TRUE(StoppedEveryTwoSteps().succeeded);
  const std::string folder = *tiny_ / "trials/";
  const auto whole = storage::ReadAttemptFile(folder + GetParam().name + "-whole/attempt-1/attempt.h5");
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  std::string newest;
  for (int n = 2; n < 100; ++n) {
    const std::string file = folder + GetParam().name + "-stopped-2/attempt-" + std::to_string(n) + "/attempt.h5";
    if (std::filesystem::exists(file)) newest = file;
  }
  const auto pieces = storage::ReadAttemptFile(newest);
  ASSERT_TRUE(pieces.ok()) << pieces.status().message();
  EXPECT_EQ(WithoutTimings(pieces->curves), WithoutTimings(whole->curves));
  EXPECT_EQ(pieces->curves.at("step_seconds").size(), whole->curves.at("step_seconds").size());
  EXPECT_EQ(pieces->parameters, whole->parameters);
}

INSTANTIATE_TEST_SUITE_P(EveryMethod, BitwiseResume, ::testing::ValuesIn(kTrialCases),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(LoneMethod, BitwiseResume, ::testing::ValuesIn(kLoneTrialCases),
                         [](const auto& test) { return test.param.name; });

// Secure noise is never drawn twice for a step: what was released before the crash is what the resumed attempt uses.
TEST(Transcript, HoldsTheReleaseThatTheResumedAttemptUses) {
  const TinyTrials tiny;
  TrialSpec spec = tiny.DpSgdStudent();
  spec.noise = NoiseMode::secure;
  FakeTrialHost first;
  first.vanish_at = 1;
  const TrialOrder order = tiny.Order(spec, "secure", 1);
  ASSERT_EQ(RunTrial(order, first, storage::PosixEnv()).failure, FailureKind::agent_lost);
  FakeTrialHost second, third;
  second.stop_at = third.stop_at = 2;  // one step, replayed
  for (auto* host : {&second}) {
    EXPECT_EQ(RunTrial(tiny.Order(spec, "secure", 2), *host, storage::PosixEnv()).failure, FailureKind::stopped);
  }
  EXPECT_TRUE(second.grants.empty()) << "a replayed release is not charged again";
}

TEST(Ledger, KeepsWhatACrashedAttemptReservedInFull) {
  const TinyTrials tiny;
  const TrialSpec spec = tiny.DpSgdStudent();
  FakeTrialHost first;
  first.vanish_at = 1;
  ASSERT_EQ(RunTrial(tiny.Order(spec, "ledger", 1), first, storage::PosixEnv()).failure, FailureKind::agent_lost);
  ASSERT_EQ(first.grants.size(), 1U);
  FakeTrialHost second;
  ASSERT_TRUE(RunTrial(tiny.Order(spec, "ledger", 2), second, storage::PosixEnv()).succeeded);
  const auto file = storage::ReadAttemptFile(tiny / "trials/ledger/attempt-2/attempt.h5");
  ASSERT_TRUE(file.ok()) << file.status().message();
  std::int64_t charged = 0;
  for (const storage::LedgerEntry& entry : file->ledger) charged += entry.Charged().count;
  EXPECT_EQ(charged, 2 + (spec.steps - 1)) << "a block of two lost with the crash, one of them replayed";
}

}  // namespace
}  // namespace retort::worker
