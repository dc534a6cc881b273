// Whatever stops the ledger: what was granted stays charged, and never less is charged than was used.
#include <gtest/gtest.h>

#include <map>

#include "storage/log/privacy_ledger.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/storage_samples.h"

namespace retort::storage {
namespace {

using retort::testing::Crash;
using retort::testing::FaultInjectionEnv;
using retort::testing::VoteEvent;

constexpr char kLedgerPath[] = "ledger.log";
const TrialId kLedgerTrial(7);

struct Truth {
  std::map<std::uint64_t, std::int64_t> used;     // of every granted reservation, what was drawn
  std::map<std::uint64_t, std::int64_t> settled;  // of every acknowledged settlement
};

// Grants are spent in part, then settled; the last stays open.
void Spend(PrivacyLedger& ledger, Truth& truth) {
  for (int block = 0; block < 4; ++block) {
    const auto id = ledger.Reserve("digest", {kLedgerTrial, 1}, 1, VoteEvent(64));
    if (!id.ok()) return;
    const std::int64_t used = 10 * (block + 1);
    truth.used[*id] = used;
    if (block == 3) return;
    if (!ledger.Settle(*id, used).ok()) return;
    truth.settled[*id] = used;
  }
}

void ExpectNeverLessThanTruth(const PrivacyLedger& ledger, const Truth& truth) {
  std::map<std::uint64_t, LedgerEntry> found;
  for (const LedgerEntry& entry : ledger.entries()) found[entry.id] = entry;
  std::int64_t charged = 0;
  for (const auto& event : ledger.CollectEvents(kLedgerTrial)) charged += event.count;
  std::int64_t used = 0;
  for (const auto& [id, count] : truth.used) {
    ASSERT_EQ(found.count(id), 1U) << "a granted reservation is gone";
    EXPECT_GE(found[id].Charged().count, count);
    used += count;
  }
  for (const auto& [id, count] : truth.settled) EXPECT_EQ(found[id].Charged().count, count);
  EXPECT_GE(charged, used);
  EXPECT_LE(found.size(), truth.used.size() + 1);
}

TEST(LedgerCrash, AStopAtAnyOperationNeverUndercounts) {
  for (const Crash crash : {Crash::process_killed, Crash::power_lost, Crash::power_lost_torn}) {
    for (int stop = 0;; ++stop) {
      SCOPED_TRACE("crash " + std::to_string(static_cast<int>(crash)) + ", stop at " + std::to_string(stop));
      FaultInjectionEnv env;
      env.StopAt(stop);
      Truth truth;
      if (auto ledger = PrivacyLedger::Open(env, kLedgerPath); ledger.ok()) Spend(**ledger, truth);
      const bool finished = !env.stopped();
      env.Restart(crash);
      auto ledger = PrivacyLedger::Open(env, kLedgerPath);
      ASSERT_TRUE(ledger.ok()) << ledger.status().message();
      ExpectNeverLessThanTruth(**ledger, truth);
      const std::uint64_t before = (*ledger)->entries().size();
      const auto next = (*ledger)->Reserve("digest", {kLedgerTrial, 2}, 2, VoteEvent(1));
      ASSERT_TRUE(next.ok());
      EXPECT_EQ(*next, before + 1);
      if (::testing::Test::HasFailure()) return;
      if (finished) break;
    }
  }
}

TEST(LedgerCrash, AFailedOperationGrantsNothingAndNeverUndercounts) {
  for (int failing = 0;; ++failing) {
    SCOPED_TRACE(failing);
    FaultInjectionEnv env;
    env.FailAt(failing, EnvironmentError("No space left on device"));
    Truth truth;
    if (auto ledger = PrivacyLedger::Open(env, kLedgerPath); ledger.ok()) {
      Spend(**ledger, truth);
      EXPECT_EQ((*ledger)->entries().size(), truth.used.size());
    }
    if (env.operations() <= failing) break;
    env.ClearFaults();
    auto ledger = PrivacyLedger::Open(env, kLedgerPath);
    ASSERT_TRUE(ledger.ok()) << ledger.status().message();
    ExpectNeverLessThanTruth(**ledger, truth);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace retort::storage
