#include "orchestrator/journal/cost_cache.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/testing/temporary_directory.h"
#include "tests/unit/orchestrator/orchestrator_fixture.h"

namespace retort::orchestrator {
namespace {

using testing::MakePlan;
using testing::TrialBuilder;

class CostRecorderTest : public OrchestratorTest {
 protected:
  [[nodiscard]] CostCache Cache() const {
    return OpenCostCache(storage::PosixEnv(), {"XDG_CACHE_HOME=" + folder_.path()});
  }
  // The trial ends with success after so many seconds.
  void End(CostRecorder& costs, TrialId trial, double seconds) {
    Say(trial, cluster::Progress{10, 10, "train", {}});
    cluster::Ended ended;
    ended.succeeded = true;
    ended.timings = {{"seconds", seconds}};
    Say(trial, ended);
    EXPECT_EQ(costs.Events(core_, std::exchange(outbox_.journal, {}), now()), "");
  }
  testing::TemporaryDirectory folder_;
};

TEST_F(CostRecorderTest, TrialsOfOtherHostsCountInThisRunAndAreNotKept) {
  const SweepPlan plan = MakePlan({TrialBuilder(1).Build(), TrialBuilder(2).Build()});
  Open(plan);
  CostRecorder costs(storage::PosixEnv(), Cache(), "node0");
  Register(0, 1);
  Register(1, 1);
  Tick();
  const bool first_here = core_.fleet.Find(plan.trials[0].id)->leader() == WorldRank{0};
  const TrialSpec& here = plan.trials[first_here ? 0 : 1];
  const TrialSpec& there = plan.trials[first_here ? 1 : 0];
  End(costs, there.id, 30);
  ASSERT_TRUE(core_.costs.For(here, nullptr)) << "better than nothing for what is left";
  EXPECT_DOUBLE_EQ(core_.costs.For(here, nullptr)->seconds, 30);
  EXPECT_FALSE(Cache().costs.For(here, nullptr));
  End(costs, here.id, 10);
  EXPECT_DOUBLE_EQ(core_.costs.For(here, nullptr)->seconds, 20);
  ASSERT_EQ(costs.Finish(), "");
  EXPECT_DOUBLE_EQ(Cache().costs.For(here, nullptr)->seconds, 10);
}

}  // namespace
}  // namespace retort::orchestrator
