#include "worker/run/ledger_view.h"

#include <gtest/gtest.h>

#include "storage/results/attempt_account.h"
#include "tests/testing/fault_injection_env.h"

namespace retort::worker {
namespace {

const TrialId kTrial(7);

privacy::PrivacyEvent Votes() {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::noisy_votes;
  event.unit = privacy::EventUnit::vote;
  event.sensitivity = 1.5;
  event.noise_std = 40;
  return event;
}

// Grants everything, from 1 on: as a worker's host does, which numbers its requests anew in each process.
class Granting final : public release::LedgerClient {
 public:
  Result<std::uint64_t> Reserve(const privacy::PrivacyEvent&, std::int64_t) override { return ++last_; }
  Status Settle(std::uint64_t, std::int64_t) override {
    return broken ? EnvironmentError("The agent is gone.") : Status();
  }
  bool broken = false;

 private:
  std::uint64_t last_ = 0;
};

class LedgerViewTest : public ::testing::Test {
 protected:
  LedgerView View(std::uint32_t attempt, std::uint64_t generation) {
    store_ = storage::CheckpointStore::Open(env_, "trials/t", attempt).value();
    host_ = {};
    return LedgerView(host_, *store_, {kTrial, attempt}, generation, "digest");
  }
  static std::int64_t Draws(const LedgerView& view) {
    std::int64_t sum = 0;
    for (const privacy::PrivacyEvent& event : view.Charged()) sum += event.count;
    return sum;
  }
  void AbsorbTranscript(LedgerView& view) {
    const std::vector<storage::TranscriptRecord> records = store_->Transcript().value();
    for (const storage::TranscriptRecord& record : records) EXPECT_TRUE(view.Absorb(record).value());
  }

  testing::FaultInjectionEnv env_;
  std::unique_ptr<storage::CheckpointStore> store_;
  Granting host_;
};

TEST_F(LedgerViewTest, GrantIsTakenBackOnceHoweverOftenItIsRead) {
  LedgerView view = View(1, 1);
  ASSERT_TRUE(view.Reserve(Votes(), 4).ok());
  LedgerView next = View(2, 2);
  AbsorbTranscript(next);
  AbsorbTranscript(next);
  EXPECT_EQ(Draws(next), 4);
}

// After a repair the journal may give out an attempt's number once more: only the generation is new.
TEST_F(LedgerViewTest, GrantsOfTwoGenerationsOfOneAttemptBothCount) {
  LedgerView lost = View(2, 3);
  ASSERT_TRUE(lost.Reserve(Votes(), 4).ok());
  std::map<std::string, std::string> saved;
  lost.Save(saved);

  LedgerView view = View(2, 5);
  ASSERT_TRUE(view.Load(saved).ok());
  const std::uint64_t id = view.Reserve(Votes(), 4).value();
  ASSERT_EQ(id, lost.entries()[0].id) << "the case needs equal ids";
  ASSERT_TRUE(view.Settle(id, 1).ok());
  EXPECT_EQ(Draws(view), 4 + 1) << "the grant of the lost generation stays charged in full";

  LedgerView resumed = View(3, 6);
  ASSERT_TRUE(resumed.Load(saved).ok());
  AbsorbTranscript(resumed);
  EXPECT_EQ(Draws(resumed), 4 + 1);
}

TEST_F(LedgerViewTest, SettlementIsTakenBackWithItsGrant) {
  LedgerView view = View(1, 1);
  const std::uint64_t id = view.Reserve(Votes(), 64).value();
  std::map<std::string, std::string> saved;
  view.Save(saved);
  ASSERT_TRUE(view.Settle(id, 10).ok());
  LedgerView next = View(2, 2);
  AbsorbTranscript(next);
  EXPECT_EQ(Draws(next), 10);
  AbsorbTranscript(next);
  EXPECT_EQ(Draws(next), 10) << "its grant does not open it again";
  LedgerView checkpointed = View(3, 3);
  ASSERT_TRUE(checkpointed.Load(saved).ok());
  AbsorbTranscript(checkpointed);
  EXPECT_EQ(Draws(checkpointed), 10) << "settled after the checkpoint";
}

TEST_F(LedgerViewTest, WhatOnlyTheLedgerKnowsOfCounts) {
  LedgerView lost = View(1, 1);
  ASSERT_TRUE(lost.Reserve(Votes(), 5).ok());
  std::map<std::string, std::string> saved;
  lost.Save(saved);

  LedgerView view = View(9, 2);  // of a folder that knows of nothing but the checkpoint
  ASSERT_TRUE(view.Load(saved).ok());
  privacy::PrivacyEvent charged = Votes(), other = Votes();
  charged.count = 12;
  other.noise_std = 41;
  other.count = 3;
  view.CountLedgerCharges({charged, other});
  EXPECT_EQ(Draws(view), 12 + 3);
  ASSERT_EQ(view.entries().size(), 3U);
  EXPECT_EQ(view.entries()[2].id, storage::kUncountedId);
  EXPECT_EQ(view.entries()[2].data_digest, "digest");
  const std::uint64_t id = view.Reserve(Votes(), 4).value();
  ASSERT_TRUE(view.Settle(id, 1).ok());
  EXPECT_EQ(Draws(view), 12 + 3 + 1) << "fresh draws count besides";
}

TEST_F(LedgerViewTest, ALedgerThatSaysLessTakesNothingAway) {
  LedgerView view = View(1, 1);
  ASSERT_TRUE(view.Reserve(Votes(), 5).ok());
  privacy::PrivacyEvent charged = Votes();
  charged.count = 2;
  view.CountLedgerCharges({charged});
  EXPECT_EQ(Draws(view), 5);
}

// Each attempt is told anew; a checkpoint that held it as well would count it twice.
TEST_F(LedgerViewTest, WhatOnlyTheLedgerKnowsOfIsNotSaved) {
  LedgerView view = View(1, 1);
  privacy::PrivacyEvent charged = Votes();
  charged.count = 7;
  view.CountLedgerCharges({charged});
  std::map<std::string, std::string> saved;
  view.Save(saved);
  LedgerView next = View(2, 2);
  ASSERT_TRUE(next.Load(saved).ok());
  next.CountLedgerCharges({charged});
  EXPECT_EQ(Draws(next), 7);
}

// What the ledger may never have heard is not given back by the view either way: the ledger counts more.
TEST_F(LedgerViewTest, SettlementIsOnDiskBeforeTheHostIsTold) {
  LedgerView view = View(1, 1);
  const std::uint64_t id = view.Reserve(Votes(), 64).value();
  host_.broken = true;
  ASSERT_FALSE(view.Settle(id, 10).ok());
  LedgerView next = View(2, 2);
  AbsorbTranscript(next);
  EXPECT_EQ(Draws(next), 10);
}

}  // namespace
}  // namespace retort::worker
