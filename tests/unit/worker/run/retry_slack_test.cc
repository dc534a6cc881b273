// A calibrated trial whose worker dies: its claim stays below what was asked for where there was room, and
// says so where there was none.
#include <gtest/gtest.h>

#include "experiments/privacy/calibration.h"
#include "experiments/privacy/claim.h"
#include "tests/unit/worker/tiny_trials.h"

namespace retort::worker {
namespace {

constexpr double kEpsilon = 5;

class RetrySlack : public ::testing::Test {
 protected:
  // The proven `example` epsilon in the file of a trial with room for `retries` that loses its first attempt.
  double EpsilonAfterADeath(std::int64_t retries) {
    TrialSpec spec = tiny_.VoteStudent(QuerySource::public_split);
    spec.noise = NoiseMode::secure;
    spec.privacy.claim = ClaimTarget::example;
    spec.privacy.calibrate = Calibrate::noise;
    spec.privacy.epsilon = kEpsilon;
    spec.execution.retries = retries;
    const Status calibrated = privacy::CalibrateTrial(spec);
    EXPECT_TRUE(calibrated.ok()) << calibrated.message();
    const std::string name = "retries-" + std::to_string(retries);
    const std::string teacher = tiny_.TeacherFile("ensemble");
    FakeTrialHost first;
    first.vanish_at = 1;  // in the middle of its block
    EXPECT_FALSE(RunTrial(tiny_.Order(spec, name, 1, teacher), first, storage::PosixEnv()).succeeded);
    FakeTrialHost second;
    const TrialOrder order = tiny_.Order(spec, name, 2, teacher);
    const cluster::Ended ended = RunTrial(order, second, storage::PosixEnv());
    EXPECT_TRUE(ended.succeeded) << ended.detail;
    const auto file = storage::ReadAttemptFile(order.start.attempt_directory + "/attempt.h5");
    std::int64_t charged = 0;
    for (const storage::LedgerEntry& entry : file->ledger) charged += entry.Charged().count;
    EXPECT_GT(charged, spec.queries) << "the death cost nothing";
    for (const privacy::Claim& claim : file->claims)
      if (claim.adjacency == privacy::Adjacency::example && claim.status == privacy::ClaimStatus::proven)
        return claim.epsilon;
    ADD_FAILURE() << "no proven claim";
    return 0;
  }
  TinyTrials tiny_;
};

TEST_F(RetrySlack, RechargedTrialWithRoomStaysBelowWhatWasAsked) {
  const double epsilon = EpsilonAfterADeath(1);
  EXPECT_LE(epsilon, kEpsilon);
  EXPECT_GT(epsilon, 0.5 * kEpsilon);
}

TEST_F(RetrySlack, RechargedTrialWithoutRoomShowsThatItCostMore) { EXPECT_GT(EpsilonAfterADeath(0), kEpsilon); }

}  // namespace
}  // namespace retort::worker
