// However an attempt begins, its attempt.h5 counts what the ledger has charged to the trial, and claims what follows.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "experiments/privacy/claim.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/relation.h"
#include "storage/results/attempt_account.h"
#include "tests/unit/worker/tiny_trials.h"

namespace retort::worker {
namespace {

namespace fs = std::filesystem;
using storage::AttemptFile;

// The orchestrator's ledger over all attempts of a trial: charged in full until it hears of a settlement.
class Ledger {
 public:
  std::size_t Charge(privacy::PrivacyEvent event, std::int64_t count) {
    event.count = count;
    events_.push_back(std::move(event));
    return events_.size() - 1;
  }
  void Settle(std::size_t entry, std::int64_t used) { events_.at(entry).count = used; }
  [[nodiscard]] std::vector<privacy::PrivacyEvent> Charged() const { return privacy::Aggregate(events_); }
  [[nodiscard]] std::int64_t Draws() const {
    std::int64_t draws = 0;
    for (const privacy::PrivacyEvent& event : events_) draws += event.count;
    return draws;
  }

 private:
  std::vector<privacy::PrivacyEvent> events_;
};

// One attempt's way to the ledger.
class LedgerHost final : public TrialHost {
 public:
  explicit LedgerHost(Ledger& ledger) : ledger_(ledger) {}

  std::int64_t die_at = 0;   // the worker dies before this step of the attempt, from 1; 0 = never
  std::int64_t lose_at = 0;  // the answer to this reservation, from 1, is lost with the agent
  bool deaf = false;         // settlements get lost
  std::int64_t stop_at = 0;  // it is stopped, politely, before this step of the attempt

  Result<std::uint64_t> Reserve(const privacy::PrivacyEvent& event, std::int64_t count) override {
    entries_[++last_] = ledger_.Charge(event, count);
    if (static_cast<std::int64_t>(last_) == lose_at) return EnvironmentError("The agent is gone.");
    return last_;
  }
  Status Settle(std::uint64_t id, std::int64_t used) override {
    if (!deaf) ledger_.Settle(entries_.at(id), used);
    return {};
  }
  Status Report(const cluster::Progress&) override { return {}; }
  Status Report(const cluster::CheckpointCommitted&) override { return {}; }
  Status AnnounceGang(const std::string&) override { return {}; }
  Result<std::string> AwaitGang(std::chrono::milliseconds) override { return EnvironmentError("There is no gang."); }
  std::optional<cluster::Stop> StopRequested() override {
    if (++asked_ == die_at) throw std::runtime_error("killed");
    return asked_ == stop_at ? std::optional(cluster::Stop{true, 10}) : std::nullopt;
  }

 private:
  Ledger& ledger_;
  std::map<std::uint64_t, std::size_t> entries_;
  std::uint64_t last_ = 0;
  std::int64_t asked_ = 0;
};

class CountedResume : public ::testing::Test {
 protected:
  CountedResume() {
    spec_ = tiny_.DpSgdStudent();  // six steps
    spec_.noise = NoiseMode::secure;
    spec_.execution.checkpoint_steps = 2;
    spec_.execution.reserve_block = 4;
  }
  TrialOrder Order(std::uint32_t attempt) const {
    TrialOrder order = tiny_.Order(spec_, "trial", attempt);
    order.generation = ++generation_;
    order.start.charged = ledger_.Charged();
    return order;
  }
  cluster::Ended Run(std::uint32_t attempt, LedgerHost& host) {
    return RunTrial(Order(attempt), host, storage::PosixEnv());
  }
  // Dies after five steps: checkpoints of 2 and 4, and a block of which one draw is left.
  void Crash(std::uint32_t attempt) {
    LedgerHost host(ledger_);
    host.die_at = 6;
    ASSERT_FALSE(Run(attempt, host).succeeded);
  }
  // The next attempt comes through, and its file says what the ledger says.
  void ExpectCounted(std::uint32_t attempt) {
    LedgerHost host(ledger_);
    const cluster::Ended ended = Run(attempt, host);
    ASSERT_TRUE(ended.succeeded) << ended.detail;
    ExpectAgrees(storage::ReadAttemptFile(tiny_ / ended.file));
  }
  void ExpectAgrees(const Result<AttemptFile>& file) {
    ASSERT_TRUE(file.ok()) << file.status().message();
    const std::vector<privacy::Claim> claims = privacy::ComputeClaims({&spec_, {}}, ledger_.Charged());
    ASSERT_EQ(claims[0].status, privacy::ClaimStatus::proven) << claims[0].reason;
    for (const std::string& what :
         storage::DescribeAccountDamage(*file, {spec_.data->digest, ledger_.Charged(), claims}))
      ADD_FAILURE() << what;
  }
  std::string Path(const std::string& name) const { return tiny_ / ("trials/trial/" + name); }
  void Flip(const std::string& name) const {
    std::fstream file(Path(name), std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(file) << name;
    file.seekg(100);
    const int byte = file.get();
    file.seekp(100);
    file.put(static_cast<char>(byte ^ 1));
  }
  void Remove(const std::string& name) const { ASSERT_TRUE(fs::remove(Path(name))) << name; }

  const TinyTrials tiny_;
  TrialSpec spec_;
  Ledger ledger_;
  mutable std::uint64_t generation_ = 0;
};

struct FallingBack {
  const char* name;
  std::function<void(const std::function<void(const std::string&)>& flip,
                     const std::function<void(const std::string&)>& remove)>
      spoil;
  bool draws_again;  // what was released since the state that the next attempt begins from
};

const FallingBack kWays[] = {
    {"NothingIsDamaged", [](const auto&, const auto&) {}, false},
    {"NewestCheckpointIsDamaged", [](const auto& flip, const auto&) { flip("attempt-1/checkpoint-4.h5"); }, false},
    {"NewestCheckpointIsGone", [](const auto&, const auto& remove) { remove("attempt-1/checkpoint-4.h5"); }, false},
    {"EveryCheckpointIsDamaged",
     [](const auto& flip, const auto&) {
       flip("attempt-1/checkpoint-2.h5");
       flip("attempt-1/checkpoint-4.h5");
     },
     true},
    {"NewestTranscriptIsGone", [](const auto&, const auto& remove) { remove("attempt-1/transcript-4.log"); }, true},
    {"NewestTranscriptIsDamaged", [](const auto& flip, const auto&) { flip("attempt-1/transcript-4.log"); }, true},
    {"OlderTranscriptIsGoneWithTheCheckpoint",
     [](const auto& flip, const auto& remove) {
       flip("attempt-1/checkpoint-4.h5");
       remove("attempt-1/transcript-2.log");
     },
     true},
    {"ManifestIsGone", [](const auto&, const auto& remove) { remove("attempt-1/manifest.log"); }, true},
    {"ManifestIsDamaged", [](const auto& flip, const auto&) { flip("attempt-1/manifest.log"); }, true},
    {"SeriesIsDamaged", [](const auto& flip, const auto&) { flip("attempt-1/series.log"); }, true},
};

class CountedFallback : public CountedResume, public ::testing::WithParamInterface<FallingBack> {
 protected:
  void Spoil() const {
    GetParam().spoil([this](const std::string& name) { Flip(name); },
                     [this](const std::string& name) { Remove(name); });
  }
};

TEST_P(CountedFallback, LeavesNoDrawUncounted) {
  Crash(1);
  const std::int64_t before = ledger_.Draws();
  Spoil();
  ExpectCounted(2);
  EXPECT_EQ(ledger_.Draws() > before + 1, GetParam().draws_again)
      << before << " before, " << ledger_.Draws() << " after";
}

TEST_P(CountedFallback, LeavesNoDrawUncountedOverSeveralAttempts) {
  Crash(1);
  Spoil();
  LedgerHost second(ledger_);
  second.die_at = 2;
  ASSERT_FALSE(Run(2, second).succeeded);
  fs::remove(Path("attempt-2/manifest.log"));
  LedgerHost third(ledger_);
  third.stop_at = 1;
  ASSERT_FALSE(Run(3, third).succeeded);
  ExpectCounted(4);
}

INSTANTIATE_TEST_SUITE_P(Ways, CountedFallback, ::testing::ValuesIn(kWays),
                         [](const auto& test) { return test.param.name; });

TEST_F(CountedResume, FallingBackReplaysWhatWasReleasedToTheSameBits) {
  spec_.noise = NoiseMode::seeded;
  FakeTrialHost undisturbed;
  const cluster::Ended whole = RunTrial(tiny_.Order(spec_, "whole", 1), undisturbed, storage::PosixEnv());
  ASSERT_TRUE(whole.succeeded) << whole.detail;
  Crash(1);
  Flip("attempt-1/checkpoint-4.h5");
  LedgerHost host(ledger_);
  const cluster::Ended again = Run(2, host);
  ASSERT_TRUE(again.succeeded) << again.detail;
  EXPECT_EQ(again.parameters_digest, whole.parameters_digest);
  EXPECT_EQ(ledger_.Draws(), spec_.steps + 1) << "the draw that was left of a block, and none that was released";
}

TEST_F(CountedResume, WithoutAnyFolderOfAnEarlierAttempt) {
  Crash(1);
  fs::remove_all(Path("attempt-1"));
  ExpectCounted(2);
  EXPECT_GE(ledger_.Draws(), 2 * spec_.steps - 1);
}

TEST_F(CountedResume, AGrantThatNeverArrivedCounts) {
  LedgerHost host(ledger_);
  host.lose_at = 2;
  ASSERT_FALSE(Run(1, host).succeeded);
  ExpectCounted(2);
}

TEST_F(CountedResume, LostSettlementGivesNothingBack) {
  LedgerHost host(ledger_);
  host.deaf = true;
  host.stop_at = 6;
  ASSERT_FALSE(Run(1, host).succeeded);
  ExpectCounted(2);
}

TEST_F(CountedResume, TheSameAttemptOpenedAgainCountsAsWell) {
  Crash(1);
  Flip("attempt-1/checkpoint-4.h5");
  Remove("attempt-1/transcript-2.log");
  ExpectCounted(1);
}

// As where the ledger never heard of a settlement, or an older version wrote the file.
TEST_F(CountedResume, AFinishedAttemptThatIsTakenOverIsCountedAnew) {
  LedgerHost author(ledger_);
  const cluster::Ended first = Run(1, author);
  ASSERT_TRUE(first.succeeded) << first.detail;
  const AttemptFile before = storage::ReadAttemptFile(tiny_ / first.file).value();
  ledger_.Charge(before.ledger[0].event, 3);
  LedgerHost host(ledger_);
  const std::int64_t charged = ledger_.Draws();
  const cluster::Ended second = Run(2, host);
  ASSERT_TRUE(second.succeeded) << second.detail;
  EXPECT_EQ(second.file, first.file);
  EXPECT_EQ(ledger_.Draws(), charged);
  const Result<AttemptFile> after = storage::ReadAttemptFile(tiny_ / first.file);
  ExpectAgrees(after);
  EXPECT_EQ(after->parameters, before.parameters);
  EXPECT_EQ(after->metrics, before.metrics);
}

TEST_F(CountedResume, AFinishedAttemptThatAgreesIsLeftAsItIs) {
  LedgerHost host(ledger_);
  const cluster::Ended first = Run(1, host);
  ASSERT_TRUE(first.succeeded) << first.detail;
  const auto written = fs::last_write_time(tiny_ / first.file);
  LedgerHost next(ledger_);
  ASSERT_TRUE(Run(2, next).succeeded);
  EXPECT_EQ(fs::last_write_time(tiny_ / first.file), written);
}

// The ledger was removed, or an older copy of it put back: what the folder knows to have been drawn is charged once
// more.
TEST_F(CountedResume, WhatALedgerThatWasLostChargedIsChargedAgain) {
  Crash(1);
  ledger_ = {};
  ExpectCounted(2);
  EXPECT_GE(ledger_.Draws(), spec_.steps);
}

TEST_F(CountedResume, OlderLedgerChargesWhatItLacksAgain) {
  LedgerHost first(ledger_);
  first.die_at = 3;
  ASSERT_FALSE(Run(1, first).succeeded);
  const Ledger copy = ledger_;
  LedgerHost second(ledger_);
  second.die_at = 4;
  ASSERT_FALSE(Run(2, second).succeeded);
  ASSERT_GT(ledger_.Draws(), copy.Draws());
  ledger_ = copy;
  ExpectCounted(3);
  EXPECT_GE(ledger_.Draws(), spec_.steps);
}

TEST_F(CountedResume, LostLedgerChargesFinishedAttemptsAgain) {
  LedgerHost author(ledger_);
  ASSERT_TRUE(Run(1, author).succeeded);
  ledger_ = {};
  ExpectCounted(2);
  EXPECT_EQ(ledger_.Draws(), spec_.steps);
}

// With the journal the numbers of attempts and generations are forgotten: they name other grants then.
TEST_F(CountedResume, NumbersThatAreGivenAgainNameOtherGrants) {
  Crash(1);
  generation_ = 0;
  ExpectCounted(1);
  EXPECT_GE(ledger_.Draws(), spec_.steps);
}

TEST_F(CountedResume, ReusedGrantNumbersNameOtherGrants) {
  Crash(1);
  generation_ = 0;
  ledger_ = {};
  ExpectCounted(1);
  EXPECT_GE(ledger_.Draws(), spec_.steps);
}

TEST_F(CountedResume, StateWithoutRefundsCountsAsTheLedgerDoes) {
  LedgerHost host(ledger_);
  host.stop_at = 4;
  ASSERT_FALSE(Run(1, host).succeeded);
  ASSERT_EQ(ledger_.Draws(), 3);
  Flip("attempt-1/checkpoint-3.h5");
  Remove("attempt-1/transcript-2.log");
  ExpectCounted(2);
}

// What the plan leaves is charged as if it had been drawn, and what was drawn twice besides.
TEST_F(CountedResume, EarlyStopIsChargedForAllSteps) {
  spec_.execution.reserve_block = 1;
  spec_.stop.metric = StopMetric::accuracy;
  spec_.stop.above = false;
  spec_.stop.threshold = 2;
  spec_.stop.after = 4;
  spec_.stop.every = 2;
  LedgerHost first(ledger_);
  first.die_at = 4;
  ASSERT_FALSE(Run(1, first).succeeded);
  ASSERT_EQ(ledger_.Draws(), 3);
  Remove("attempt-1/transcript-2.log");
  ExpectCounted(2);
  EXPECT_EQ(ledger_.Draws(), spec_.steps + 1);
}

}  // namespace
}  // namespace retort::worker
