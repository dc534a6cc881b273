#include "orchestrator/core/inventory.h"

#include <gtest/gtest.h>

#include "orchestrator/core/trial.h"
#include "tests/unit/orchestrator/orchestrator_fixture.h"

namespace retort::orchestrator {
namespace {

using testing::FamilyPlan;

JournalEvent Joined(double at, int rank, std::vector<std::string> devices) {
  return {at, AgentNoted{rank, AgentChange::joined, "node" + std::to_string(rank), std::move(devices)}};
}

TEST(Inventory, LostAndDrainedDevicesDoNotCountAndReturn) {
  Inventory inventory;
  inventory.On(Joined(1, 0, {"cuda:0", "cuda:1"}));
  inventory.On(Joined(2, 1, {"cpu", "cpu"}));
  EXPECT_EQ(inventory.LiveSlots(), 4);
  inventory.On({3, SlotDrained{0, 1, "node0", {}}});
  inventory.On({3, SlotDrained{0, 7, "node0", {}}});
  EXPECT_EQ(inventory.LiveSlots(), 3) << "a slot that nobody has is nothing";
  inventory.On({4, AgentNoted{1, AgentChange::lost, "", {}}});
  EXPECT_EQ(inventory.LiveSlots(), 1);
  EXPECT_EQ(inventory.agents().at(1).since, 4);
  inventory.On({5, AgentNoted{1, AgentChange::returned, "", {}}});
  inventory.On(Joined(6, 0, {"cuda:0", "cuda:1"}));
  EXPECT_EQ(inventory.LiveSlots(), 4) << "an agent that starts anew uses its slots again";
  inventory.On({7, RunStarted{}});
  EXPECT_TRUE(inventory.agents().empty()) << "another run has other devices";
}

class InventoryOfARunTest : public OrchestratorTest {};

TEST_F(InventoryOfARunTest, TheJournalTellsWhatTheFleetKnows) {
  Open(FamilyPlan(3, 0));
  Register(0, 2);
  Register(1, 1);
  Tick();
  EXPECT_EQ(core_.inventory().LiveSlots(), core_.fleet.CountLiveSlots());
  for (int i = 0; i < 4; ++i) {
    time_ += kHeartbeatSeconds;
    Hear(0, {{}, {}, 0, cluster::Heartbeat{}});
    Tick();
  }
  EXPECT_TRUE(core_.inventory().agents().at(1).lost);
  EXPECT_EQ(core_.inventory().LiveSlots(), core_.fleet.CountLiveSlots());
  Hear(1, {{}, {}, 0, cluster::Heartbeat{}});
  EXPECT_FALSE(core_.inventory().agents().at(1).lost);
  EXPECT_EQ(core_.inventory().LiveSlots(), core_.fleet.CountLiveSlots());
  EXPECT_EQ(CountJournaled<AgentNoted>(), 4) << "two joined, one was lost and returned";
}

TEST(Pace, SecondsPerStepOfTheStepsThatWereSeen) {
  Pace pace;
  pace.Note(40, 1000);
  EXPECT_EQ(pace.SecondsPerStep(), 0) << "a resumed attempt begins where it does";
  pace.Note(45, 1010);
  pace.Note(60, 1040);
  EXPECT_DOUBLE_EQ(pace.SecondsPerStep(), 2);
  pace.Note(10, 1050);
  EXPECT_EQ(pace.SecondsPerStep(), 0) << "another phase counts anew";
}

}  // namespace
}  // namespace retort::orchestrator
