// Each check of the simulation, broken once on purpose: it must see the alarm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/simulated_cluster.h"
#include "tests/testing/trial_builder.h"

namespace retort::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kPatience = 20'000;

FaultRates SomeTrouble() {
  FaultRates storm;
  storm.worker_crash = 0.02;
  storm.agent_death = 0.002;
  storm.freeze = 0.005;
  storm.stale = 0.3;
  return storm;
}

SweepPlan Plan() {
  std::vector<TrialSpec> trials;
  for (std::uint64_t seed = 0; seed < 24; ++seed)
    trials.push_back(
        TrialBuilder(seed).Teacher("t" + std::to_string(seed)).Devices(1 + static_cast<int>(seed) % 3).Build());
  return MakePlan(std::move(trials));
}

// What the first of these seeds that ends badly says; empty when none does.
std::string FirstAlarm(Mutant mutant, std::uint64_t seeds) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SimulatedCluster cluster(seed, 4, 2, SomeTrouble(), mutant);
    Status status = cluster.StartOrchestrator(Plan());
    if (status.ok()) status = cluster.RunToEnd(kPatience);
    if (!status.ok()) return status.message();
  }
  return "";
}

TEST(WorldChecks, ARightOrchestratorRaisesNoAlarm) { EXPECT_EQ(FirstAlarm(Mutant::none, 50), ""); }

TEST(WorldChecks, GrantThatNoReservationBacksIsNoticed) {
  EXPECT_THAT(FirstAlarm(Mutant::grants_unasked_ledger, 5), HasSubstr("alarm: a grant without a reservation"));
}

TEST(WorldChecks, DrawsBeyondWhatIsChargedAreNoticed) {
  EXPECT_THAT(FirstAlarm(Mutant::settles_too_little, 5), HasSubstr("times and is charged"));
}

TEST(WorldChecks, TrialInTwoPlacesIsNoticed) {
  EXPECT_THAT(FirstAlarm(Mutant::leases_twice, 5), HasSubstr("where it should not be"));
}

TEST(WorldChecks, WorkerThatOutlivesItsAttemptIsNoticed) {
  EXPECT_THAT(FirstAlarm(Mutant::never_stops, 20), HasSubstr("where it should not be"));
}

TEST(WorldChecks, SplitGangIsNoticed) {
  EXPECT_THAT(FirstAlarm(Mutant::splits_gangs, 5), HasSubstr("alarm: a gang was split"));
}

TEST(WorldChecks, WordOfAnOldAttemptTakenForTheNewestOnesIsNoticed) {
  EXPECT_THAT(FirstAlarm(Mutant::accepts_stale_messages, 20), HasSubstr("alarm: an end that no worker said"));
}

TEST(WorldChecks, TrialThatNobodyHasAnyMoreIsNoticed) {
  EXPECT_THAT(FirstAlarm(Mutant::forgets_a_trial, 5), HasSubstr("is lost"));
}

TEST(WorldChecks, DevicesThatNobodyUsesAreNoticed) {
  EXPECT_THAT(FirstAlarm(Mutant::leaves_devices_idle, 5), HasSubstr("alarm: devices are idle while trial"));
}

}  // namespace
}  // namespace retort::testing
