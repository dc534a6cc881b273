#include "worker/methods/rona.h"

#include <gtest/gtest.h>

#include <set>

namespace retort::worker {
namespace {

RonaVolume Volume() {
  RonaVolume volume;
  volume.examples = 300;
  volume.batch = 100;
  volume.student_batch = 128;
  volume.queries = 250;
  volume.auxiliary_epochs = 2;
  volume.hint_epochs = 3;
  return volume;
}

struct Stretch {
  RonaPhase phase;
  std::int64_t round, epochs;
  double rate;
  bool operator==(const Stretch&) const = default;
};

// Phases in order, with their epochs; checks on the way that batches cover each epoch.
std::vector<Stretch> ListStretches(const RonaSchedule& schedule) {
  std::vector<Stretch> runs;
  std::int64_t covered = 0, last = -1;
  for (std::int64_t step = 0; step < schedule.steps(); ++step) {
    const RonaStep at = schedule.At(step);
    if (at.first == 0) {
      EXPECT_EQ(at.epoch, ++last) << "epochs are counted over all phases";
      const bool same = !runs.empty() && runs.back().phase == at.phase && runs.back().round == at.round;
      if (same)
        ++runs.back().epochs;
      else
        runs.push_back({at.phase, at.round, 1, at.rate});
      covered = 0;
    }
    EXPECT_EQ(at.first, covered);
    EXPECT_GT(at.rows, 0);
    covered += at.rows;
    if (step + 1 == schedule.steps() || schedule.At(step + 1).first == 0) {
      EXPECT_EQ(covered, at.of);
    }
  }
  return runs;
}

TEST(RonaSchedule, WorkingOrderIsThatOfTheAuthorsCode) {
  using enum RonaPhase;
  EXPECT_EQ(ListStretches(RonaSchedule(Volume())), (std::vector<Stretch>{{auxiliary, 0, 2, 1},
                                                                         {hint, 0, 3, 1},
                                                                         {self, 0, 3, 1},
                                                                         {distill, 0, 8, 1},
                                                                         {self, 0, 8, 1},
                                                                         {distill, 1, 8, 1},
                                                                         {self, 1, 6, 1},
                                                                         {distill, 2, 8, 1},
                                                                         {self, 2, 4, 1},
                                                                         {distill, 3, 8, 1},
                                                                         {self, 3, 2, 1},
                                                                         {distill, 4, 8, 0.1},
                                                                         {self, 4, 1, 0.1}}));
}

TEST(RonaSchedule, PrintedOrderIsThatOfAlgorithmOne) {
  using enum RonaPhase;
  RonaVolume volume = Volume();
  volume.printed = true;
  volume.warm_epochs = 0;
  volume.rounds = 2;
  EXPECT_EQ(ListStretches(RonaSchedule(volume)), (std::vector<Stretch>{{auxiliary, 0, 2, 1},
                                                                       {hint, 0, 3, 1},
                                                                       {self, 0, 8, 1},
                                                                       {distill, 0, 8, 1},
                                                                       {self, 1, 8, 1},
                                                                       {distill, 1, 8, 1}}));
}

// (40 + 5 x 8) epochs of ceil(20,000 / 512) batches: the T that gives the paper's 9.59.
TEST(RonaSchedule, PaperSettingsAskThreeThousandTwoHundredTimes) {
  RonaVolume volume;
  volume.examples = 40'000;
  volume.queries = 20'000;
  const RonaSchedule schedule(volume);
  std::int64_t batches = 0, rows = 0;
  for (std::int64_t step = 0; step < schedule.steps(); ++step) {
    const RonaStep at = schedule.At(step);
    if (at.phase != RonaPhase::hint && at.phase != RonaPhase::distill) continue;
    ++batches;
    rows += at.rows;
  }
  EXPECT_EQ(batches, 3200);
  EXPECT_EQ(rows, 80 * 20'000);
}

TEST(RonaSchedule, VotesAreAskedInEqualPartsBeforeEachRound) {
  RonaVolume volume = Volume();
  volume.votes = 107;
  volume.rounds = 3;
  volume.batch = 20;
  const RonaSchedule schedule(volume);
  std::int64_t asked = 0;
  for (std::int64_t step = 0; step < schedule.steps(); ++step) {
    const RonaStep at = schedule.At(step);
    if (at.phase == RonaPhase::ask) asked += at.rows;
    if (at.phase == RonaPhase::distill) {
      EXPECT_EQ(at.of, asked);
      EXPECT_EQ(at.of, schedule.VotesUntil(at.round + 1));
      EXPECT_NEAR(static_cast<double>(asked), 107.0 * static_cast<double>(at.round + 1) / 3, 1);
    }
  }
  EXPECT_EQ(asked, 107);
}

TEST(RonaSchedule, BaseAsksNobody) {
  RonaVolume volume = Volume();
  volume.auxiliary_epochs = volume.hint_epochs = volume.distill_epochs = 0;
  const std::vector<Stretch> runs = ListStretches(RonaSchedule(volume));
  for (const Stretch& run : runs) EXPECT_EQ(run.phase, RonaPhase::self);
  volume.self_epochs = volume.warm_epochs = 0;
  EXPECT_EQ(RonaSchedule(volume).steps(), 0);
}

}  // namespace
}  // namespace retort::worker
