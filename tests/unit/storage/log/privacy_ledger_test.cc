#include "storage/log/privacy_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/testing/fault_injection_env.h"
#include "tests/testing/storage_samples.h"

namespace retort::storage {
namespace {

using retort::testing::VoteEvent;
using ::testing::HasSubstr;

constexpr char kLedgerPath[] = "ledger.log";
const TrialId kTrial(7), kOther(8);

class PrivacyLedgerTest : public ::testing::Test {
 protected:
  std::unique_ptr<PrivacyLedger> Open() {
    auto ledger = PrivacyLedger::Open(env_, kLedgerPath);
    EXPECT_TRUE(ledger.ok()) << ledger.status().message();
    return ledger.ok() ? std::move(ledger).value() : nullptr;
  }
  std::uint64_t Reserve(PrivacyLedger& ledger, TrialId trial, const privacy::PrivacyEvent& event) {
    const auto id = ledger.Reserve("digest", {trial, 1}, 5, event);
    EXPECT_TRUE(id.ok()) << id.status().message();
    return id.ok() ? *id : 0;
  }
  retort::testing::FaultInjectionEnv env_;
};

TEST_F(PrivacyLedgerTest, EveryFieldSurvivesReopening) {
  {
    auto ledger = Open();
    ASSERT_EQ(ledger->Reserve("digest", {kTrial, 3}, 11, VoteEvent(64)).value(), 1U);
    ASSERT_EQ(ledger->Reserve("other", {kOther, 1}, 12, VoteEvent(10)).value(), 2U);
    ASSERT_TRUE(ledger->Settle(2, 4).ok());
  }
  const auto ledger = Open();
  ASSERT_EQ(ledger->entries().size(), 2U);
  const LedgerEntry& first = ledger->entries()[0];
  EXPECT_EQ(first.id, 1U);
  EXPECT_EQ(first.data_digest, "digest");
  EXPECT_EQ(first.attempt, (AttemptId{kTrial, 3}));
  EXPECT_EQ(first.generation, 11U);
  EXPECT_EQ(first.state, LedgerState::reserved);
  EXPECT_EQ(privacy::EncodeEvent(first.event), privacy::EncodeEvent(VoteEvent(64)));
  EXPECT_EQ(first.Charged().count, 64);
  EXPECT_EQ(ledger->entries()[1].state, LedgerState::settled);
  EXPECT_EQ(ledger->entries()[1].Charged().count, 4);
  EXPECT_EQ(ReadLedger(env_, kLedgerPath)->size(), 2U);
}

TEST_F(PrivacyLedgerTest, IdsGrowAcrossReopening) {
  Reserve(*Open(), kTrial, VoteEvent(1));
  EXPECT_EQ(Reserve(*Open(), kTrial, VoteEvent(1)), 2U);
}

TEST_F(PrivacyLedgerTest, WhatIsNotSettledCountsInFull) {
  auto ledger = Open();
  Reserve(*ledger, kTrial, VoteEvent(64));
  const std::uint64_t id = Reserve(*ledger, kTrial, VoteEvent(64));
  ASSERT_TRUE(ledger->Settle(id, 10).ok());
  const auto events = ledger->CollectEvents(kTrial);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].count, 74);
}

TEST_F(PrivacyLedgerTest, EqualMechanismsAggregateAndOthersDoNot) {
  auto ledger = Open();
  privacy::PrivacyEvent louder = VoteEvent(5);
  louder.noise_std = 99;
  for (const auto& event : {VoteEvent(1), louder, VoteEvent(2)}) Reserve(*ledger, kTrial, event);
  Reserve(*ledger, kOther, VoteEvent(100));
  const auto events = ledger->CollectEvents(kTrial);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].count, 3);
  EXPECT_EQ(events[1].count, 5);
}

TEST_F(PrivacyLedgerTest, NothingUsedChargesNothing) {
  auto ledger = Open();
  ASSERT_TRUE(ledger->Settle(Reserve(*ledger, kTrial, VoteEvent(64)), 0).ok());
  EXPECT_TRUE(ledger->CollectEvents(kTrial).empty());
  EXPECT_TRUE(ledger->CollectEvents(kOther).empty());
}

TEST_F(PrivacyLedgerTest, TotalsAreKeptByTrial) {
  auto ledger = Open();
  ASSERT_TRUE(ledger->Reserve("a", {kTrial, 1}, 0, VoteEvent(1)).ok());
  ASSERT_TRUE(ledger->Reserve("a", {kOther, 1}, 0, VoteEvent(2)).ok());
  ASSERT_TRUE(ledger->Reserve("a", {kTrial, 2}, 0, VoteEvent(4)).ok());
  EXPECT_EQ(ledger->CollectEvents(kTrial)[0].count, 5);
  EXPECT_EQ(ledger->CollectEvents(kOther)[0].count, 2);
}

TEST_F(PrivacyLedgerTest, ImpossibleSettlementsAreRefused) {
  auto ledger = Open();
  const std::uint64_t id = Reserve(*ledger, kTrial, VoteEvent(64));
  EXPECT_EQ(ledger->Settle(99, 1).code(), StatusCode::refused);
  EXPECT_EQ(ledger->Settle(id, -1).code(), StatusCode::refused);
  EXPECT_EQ(ledger->Settle(id, 65).code(), StatusCode::refused);
  EXPECT_EQ(ledger->CollectEvents(kTrial)[0].count, 64);
  EXPECT_TRUE(ledger->Settle(id, 64).ok());
  EXPECT_EQ(ledger->Settle(id, 3).code(), StatusCode::refused);
  EXPECT_EQ(Open()->entries()[0].used, 64);
}

TEST_F(PrivacyLedgerTest, AReservationOfNothingIsRefused) {
  auto ledger = Open();
  EXPECT_EQ(ledger->Reserve("digest", {kTrial, 1}, 0, VoteEvent(0)).status().code(), StatusCode::refused);
  EXPECT_EQ(ledger->Reserve("digest", {kTrial, 1}, 0, VoteEvent(-1)).status().code(), StatusCode::refused);
}

TEST_F(PrivacyLedgerTest, ASumThatDoesNotFitIsVoidAndNeverLess) {
  auto ledger = Open();
  const std::int64_t half = (std::int64_t{1} << 62) + 1;
  Reserve(*ledger, kTrial, VoteEvent(half));
  Reserve(*ledger, kTrial, VoteEvent(half));
  const auto events = ledger->CollectEvents(kTrial);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].count, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(events[0].voids, std::vector<std::string>{std::string(privacy::kVoidTooManyDraws)});
}

TEST_F(PrivacyLedgerTest, AnEntryOnDiskThatCountsNothingIsDamage) {
  {
    auto log = RecordLog::Open(env_, kLedgerPath, LogKind::ledger);
    ASSERT_TRUE(log.ok());
    const std::string event = privacy::EncodeEvent(VoteEvent(-5));
    (*log)->Append(
        1, R"({"id":1,"data":"x","trial":"0000000000000007","attempt":1,"generation":1,"event":)" + event + "}");
    ASSERT_TRUE((*log)->Sync().ok());
  }
  const auto ledger = ReadLedger(env_, kLedgerPath);
  ASSERT_FALSE(ledger.ok());
  EXPECT_EQ(ledger.status().code(), StatusCode::damage);
}

// Of two reservations under one id a settlement could mean either.
TEST_F(PrivacyLedgerTest, IdsOnDiskThatDoNotGrowAreDamage) {
  {
    auto log = RecordLog::Open(env_, kLedgerPath, LogKind::ledger);
    ASSERT_TRUE(log.ok());
    for (const char* id : {"2", "3", "3"}) {
      (*log)->Append(1, std::string(R"({"id":)") + id +
                            R"(,"data":"x","trial":"0000000000000007","attempt":1,"generation":1,"event":)" +
                            privacy::EncodeEvent(VoteEvent(5)) + "}");
    }
    ASSERT_TRUE((*log)->Sync().ok());
  }
  for (const Status& status :
       {ReadLedger(env_, kLedgerPath).status(), PrivacyLedger::Open(env_, kLedgerPath).status()}) {
    EXPECT_EQ(status.code(), StatusCode::damage);
    EXPECT_NE(status.message().find("a reservation's id does not grow"), std::string::npos) << status.message();
  }
}

TEST_F(PrivacyLedgerTest, AFullDiskGrantsNothingFromThenOn) {
  auto ledger = Open();
  Reserve(*ledger, kTrial, VoteEvent(1));
  env_.FailAll(EnvironmentError("disk full"));
  EXPECT_EQ(ledger->Reserve("digest", {kTrial, 1}, 0, VoteEvent(1)).status().message(), "disk full");
  EXPECT_EQ(ledger->entries().size(), 1U);
  env_.ClearFaults();
  EXPECT_FALSE(ledger->Reserve("digest", {kTrial, 1}, 0, VoteEvent(1)).ok());
}

TEST_F(PrivacyLedgerTest, ContradictingRecordIsDamageWithItsOffset) {
  {
    auto log = RecordLog::Open(env_, kLedgerPath, LogKind::ledger);
    ASSERT_TRUE(log.ok());
    (*log)->Append(2, R"({"id":1,"used":3})");
    ASSERT_TRUE((*log)->Sync().ok());
  }
  const auto ledger = PrivacyLedger::Open(env_, kLedgerPath);
  ASSERT_FALSE(ledger.ok());
  EXPECT_EQ(ledger.status().code(), StatusCode::damage);
  EXPECT_THAT(ledger.status().message(), HasSubstr("at byte 16"));
}

TEST_F(PrivacyLedgerTest, AnIncompleteReservationIsDamageThatNamesTheField) {
  {
    auto log = RecordLog::Open(env_, kLedgerPath, LogKind::ledger);
    ASSERT_TRUE(log.ok());
    (*log)->Append(1, R"({"id":1,"data":"x","trial":"0000000000000007","attempt":1})");
    ASSERT_TRUE((*log)->Sync().ok());
  }
  const auto ledger = ReadLedger(env_, kLedgerPath);
  ASSERT_FALSE(ledger.ok());
  EXPECT_EQ(ledger.status().code(), StatusCode::damage);
  EXPECT_THAT(ledger.status().message(), HasSubstr("generation"));
}

}  // namespace
}  // namespace retort::storage
