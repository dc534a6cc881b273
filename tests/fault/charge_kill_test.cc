// A worker, or a whole run, dies anywhere between reserve, draw, transcript and settle: the ledger never
// counts less than was drawn, and no answer is drawn again once something that depends on it has left. Drawn is what
// passed through the noise source, counted there. 880 deaths here and those of the tests of when answers are written;
// 120 by SIGKILL in charge_sigkill_test.cc.
#include <gtest/gtest.h>

#include <random>

#include "tests/fault/charge_world.h"

namespace retort::testing {
namespace {

constexpr int kDeaths = 880;
constexpr std::int64_t kBlockNumbers = std::int64_t{ChargeWorld::kBlock} * ChargeWorld::kRows * ChargeWorld::kClasses;

// Why the books are wrong after `deaths`, or empty. A death may cost a block, and no more.
std::string Alarm(ChargeWorld& world, int deaths) {
  const ChargeTruth truth = world.Truth();
  const std::string books =
      std::to_string(truth.drawn) + " numbers drawn, " + std::to_string(truth.charged) + " charged";
  if (truth.charged < truth.drawn) return "undercounted: " + books;
  if (truth.again) return "drawn again after something that depends on it had left";
  const std::int64_t lost = truth.charged - truth.drawn;
  if (lost > (deaths + 1) * kBlockNumbers) return "overcounted beyond a block for each death: " + books;
  if (world.fault() == ChargeFault::none && world.finished() && truth.counted != truth.charged)
    return "the attempt counts " + std::to_string(truth.counted) + ": " + books;
  return {};
}

struct Outcome {
  int deaths = 0;
  std::string alarm;  // the first
};

struct Case {
  ChargeFault fault = ChargeFault::none;
  Writing writing = Writing::late;
  Hasty hasty = Hasty::nothing;
  bool damages = false;  // the newest checkpoint is damaged as well
};

// Dies once at `kill` and goes on to the end.
Outcome DieOnce(const Kill& kill, const Case& c) {
  ChargeWorld world(c.fault, c.writing, c.hasty, c.damages);
  Outcome outcome;
  outcome.deaths = world.Live(kill) ? 1 : 0;
  if (c.damages) static_cast<void>(world.DamageCheckpoint());
  outcome.alarm = Alarm(world, outcome.deaths);
  if (outcome.deaths == 1 && world.Live({.at = -1})) outcome.alarm = "a death that nobody asked for";
  if (!world.finished()) outcome.alarm = "the trial did not finish: " + world.trouble();
  if (outcome.alarm.empty()) outcome.alarm = Alarm(world, outcome.deaths);
  return outcome;
}

// At every point and in every disk operation of a whole life.
Outcome DieEverywhere(const Case& c) {
  Outcome all;
  for (const KillPlace place : {KillPlace::point, KillPlace::worker_disk, KillPlace::host_disk}) {
    for (const bool whole : {false, true}) {
      if (place == KillPlace::host_disk && !whole) continue;
      for (const Crash crash : {Crash::process_killed, Crash::power_lost, Crash::power_lost_torn}) {
        for (int at = 0;; ++at) {
          const Outcome one = DieOnce({place, at, whole, crash}, c);
          all.deaths += one.deaths;
          if (all.alarm.empty() && !one.alarm.empty())
            all.alarm = one.alarm + " (place " + std::to_string(static_cast<int>(place)) + ", at " +
                        std::to_string(at) + ", whole " + std::to_string(whole) + ", crash " +
                        std::to_string(static_cast<int>(crash)) + ")";
          if (one.deaths == 0 || !all.alarm.empty()) break;
        }
        if (!all.alarm.empty()) return all;
      }
    }
  }
  return all;
}

// Lives that end again and again, until `deaths` more have died.
Outcome DieOverAndOver(int deaths) {
  std::mt19937 random(20);
  Outcome all;
  while (all.deaths < deaths && all.alarm.empty()) {
    ChargeWorld world;
    int died = 0;
    while (all.deaths < deaths && died < 12 && all.alarm.empty()) {
      const auto place = static_cast<KillPlace>(random() % 3);
      const auto crash = static_cast<Crash>(random() % 3);
      if (!world.Live({place, static_cast<int>(random() % 20), random() % 2 == 0, crash})) break;
      ++died;
      ++all.deaths;
      all.alarm = Alarm(world, died);
    }
    if (!world.finished() && world.Live({.at = -1})) all.alarm = "a death that nobody asked for";
    if (!world.finished()) all.alarm = "the trial did not finish: " + world.trouble();
    if (all.alarm.empty()) all.alarm = Alarm(world, died);
  }
  return all;
}

TEST(ChargeKill, UndisturbedTrialIsChargedForWhatItDraws) {
  ChargeWorld world;
  ASSERT_FALSE(world.Live({.at = -1}));
  const ChargeTruth truth = world.Truth();
  EXPECT_EQ(truth.drawn, std::int64_t{ChargeWorld::kSteps} * ChargeWorld::kRows * ChargeWorld::kClasses);
  EXPECT_EQ(truth.charged, truth.drawn);
}

TEST(ChargeKill, LedgerNeverCountsLessThanWasDrawn) {
  const Outcome everywhere = DieEverywhere({});
  ASSERT_EQ(everywhere.alarm, "");
  EXPECT_GT(everywhere.deaths, 300);
  ASSERT_LT(everywhere.deaths, kDeaths);
  const Outcome again = DieOverAndOver(kDeaths - everywhere.deaths);
  EXPECT_EQ(again.alarm, "");
  EXPECT_EQ(everywhere.deaths + again.deaths, kDeaths);
}

// Before and after each reservation, draw, write and sync, in checkpoints and settlements.
TEST(ChargeKill, WhatHasLeftIsNeverDrawnAgain) {
  for (const Case& c : {Case{.writing = Writing::soon}, Case{.damages = true}}) {
    const Outcome outcome = DieEverywhere(c);
    EXPECT_EQ(outcome.alarm, "") << "writing " << static_cast<int>(c.writing) << ", damages " << c.damages;
    EXPECT_GT(outcome.deaths, 300);
  }
}

// Dies at each point, the newest checkpoint is damaged as well, and it goes on from an older state: how often the
// finished attempt counts less than the ledger charges. -1: a life that did not finish, or a ledger that counts too
// little.
int CountedLess(ChargeFault fault, int& damaged) {
  int less = 0;
  for (int at = 0;; ++at) {
    ChargeWorld world(fault);
    if (!world.Live({KillPlace::point, at, at % 2 == 0, Crash::power_lost_torn})) return less;
    damaged += world.DamageCheckpoint() ? 1 : 0;
    if (world.Live({.at = -1}) || !world.finished()) return -1;
    const ChargeTruth truth = world.Truth();
    if (truth.charged < truth.drawn || truth.counted > truth.charged) return -1;
    less += truth.counted < truth.charged ? 1 : 0;
  }
}

TEST(ChargeKill, AttemptFromAnOlderStateCountsAllCharges) {
  int damaged = 0;
  EXPECT_EQ(CountedLess(ChargeFault::none, damaged), 0);
  EXPECT_GT(damaged, 4);
}

TEST(ChargeKill, AttemptThatKnowsItsOwnFolderAloneIsCaught) {
  int damaged = 0;
  EXPECT_GT(CountedLess(ChargeFault::leases_tell_nothing, damaged), 0);
}

class ChargeKillMutant : public ::testing::TestWithParam<ChargeFault> {};

TEST_P(ChargeKillMutant, GoesUnseenUndisturbedAndIsCaughtWhenSomebodyDies) {
  ChargeWorld undisturbed(GetParam());
  ASSERT_FALSE(undisturbed.Live({.at = -1}));
  const ChargeTruth truth = undisturbed.Truth();
  EXPECT_EQ(truth.charged, truth.drawn) << "the case needs a fault that only a death shows";
  EXPECT_NE(DieEverywhere({.fault = GetParam()}).alarm.find("undercounted"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Faults, ChargeKillMutant,
                         ::testing::Values(ChargeFault::settles_before_draw, ChargeFault::grants_before_durable,
                                           ChargeFault::retries_are_free));

// All is well as long as nobody dies, and `hasty` is seen where somebody does.
void ExpectCaught(Hasty hasty, bool damages) {
  ChargeWorld undisturbed(ChargeFault::none, Writing::late, hasty);
  ASSERT_FALSE(undisturbed.Live({.at = -1}));
  ASSERT_EQ(Alarm(undisturbed, 0), "");
  EXPECT_NE(DieEverywhere({.hasty = hasty, .damages = damages}).alarm.find("drawn again"), std::string::npos);
}

TEST(HastyMutants, ReportBeforeItsAnswersIsCaught) { EXPECT_NO_FATAL_FAILURE(ExpectCaught(Hasty::report, false)); }

// Where the checkpoint is lost the one before it goes on, without the answers between the two.
TEST(HastyMutants, CheckpointBeforeItsAnswersIsCaught) {
  EXPECT_NO_FATAL_FAILURE(ExpectCaught(Hasty::checkpoint, true));
}

TEST(HastyMutants, SettlementBeforeItsAnswersIsCaught) {
  EXPECT_NO_FATAL_FAILURE(ExpectCaught(Hasty::settlement, false));
}

}  // namespace
}  // namespace retort::testing
