// DENSE: one pass over the whole pool in every round.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "experiments/methods/methods.h"
#include "tests/unit/worker/tiny_trials.h"
#include "worker/methods/pool_schedule.h"
#include "worker/tensors/tensor_codec.h"

namespace retort::worker {
namespace {

TrialSpec Volume(std::int64_t rounds, std::int64_t kept, std::int64_t batch, std::int64_t student_batch) {
  TrialSpec spec;
  spec.steps = rounds;
  spec.distill.replay = kept;
  spec.batch = batch;
  spec.distill.student_batch = student_batch;
  return spec;
}

TEST(PoolSchedule, EachRoundPassesOverEveryRowOnce) {
  for (const TrialSpec& spec : {Volume(7, 3, 24, 16), Volume(2, 5, 10, 64), Volume(5, 0, 6, 3), Volume(4, 4, 5, 5)}) {
    const PoolSchedule schedule(spec);
    const std::int64_t kept = std::max<std::int64_t>(spec.distill.replay, 1);
    std::int64_t step = 0;
    for (std::int64_t round = 0; round < spec.steps; ++round) {
      const std::int64_t rows = std::min(round + 1, kept) * spec.batch;
      for (std::int64_t first = 0; first < rows; first += spec.distill.student_batch, ++step) {
        const PoolStep at = schedule.At(step);
        EXPECT_EQ(at.round, round) << step;
        EXPECT_EQ(at.first, first) << step;
        EXPECT_EQ(at.rows, std::min(spec.distill.student_batch, rows - first)) << step;
        EXPECT_EQ(at.of, rows) << step;
      }
    }
    EXPECT_EQ(schedule.steps(), step);
    EXPECT_EQ(CountPoolSteps(spec), static_cast<double>(step)) << "what the estimate counts";
  }
}

// The published server: 200 rounds of 256 images, and a student that sees 256 of them at once.
TEST(PoolSchedule, ThePublishedServerTakesTheseSteps) {
  EXPECT_EQ(PoolSchedule(Volume(200, 200, 256, 256)).steps(), 200 * 201 / 2);
}

class DenseTrial : public ::testing::Test {
 protected:
  storage::AttemptFile Run(const TrialSpec& spec, const std::string& name) {
    FakeTrialHost host;
    const TrialOrder order = tiny_.Order(spec, name, 1, tiny_.TeacherFile("networks"));
    const cluster::Ended ended = RunTrial(order, host, storage::PosixEnv());
    EXPECT_TRUE(ended.succeeded) << ended.detail;
    auto file = storage::ReadAttemptFile(order.start.attempt_directory + "/attempt.h5");
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? std::move(*file) : storage::AttemptFile();
  }
  // How far the student's parameters are from those that it was drawn with.
  static double Moved(const storage::AttemptFile& file, const storage::AttemptFile& drawn) {
    double most = 0;
    for (std::size_t i = 0; i < file.parameters.size(); ++i) {
      const at::Tensor change =
          MakeTensorFromBlob(file.parameters[i]).value() - MakeTensorFromBlob(drawn.parameters[i]).value();
      most = std::max(most, change.abs().max().item<double>());
    }
    return most;
  }
  TinyTrials tiny_;
};

TEST_F(DenseTrial, RecordsEveryStepAndEveryRound) {
  const TrialSpec spec = tiny_.DenseStudent();
  const storage::AttemptFile file = Run(spec, "curves");
  const std::int64_t steps = PoolSchedule(spec).steps();
  EXPECT_EQ(static_cast<std::int64_t>(file.curves.at("train.student_loss").size()), steps);
  const auto& rounds = file.curves.at("train.generator_loss");
  ASSERT_EQ(static_cast<std::int64_t>(rounds.size()), spec.steps);
  std::int64_t round = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (PoolSchedule(spec).At(step).first != 0) continue;
    EXPECT_EQ(static_cast<std::int64_t>(rounds[static_cast<std::size_t>(round++)].first), step);
  }
  std::int64_t used = 0;
  for (const storage::LedgerEntry& entry : file.ledger) used += entry.used;
  EXPECT_EQ(used, spec.steps * spec.batch) << "each image is asked about once";
}

// A step of SGD goes as far as its rate says, and one of Adam as far as its rate, whatever the gradient.
TEST_F(DenseTrial, StudentLearnsBySgdAtTheGivenRate) {
  TrialSpec spec = tiny_.DenseStudent();
  spec.network = "logistic";
  spec.steps = 1;
  spec.distill.student_batch = spec.batch;
  spec.optimization.lr_hold = spec.optimization.lr_end = 1;
  spec.optimization.lr = 1e-30;
  const storage::AttemptFile drawn = Run(spec, "drawn");
  spec.optimization.lr = 1e-4;
  const double once = Moved(Run(spec, "once"), drawn);
  spec.optimization.lr = 4e-4;
  const double four = Moved(Run(spec, "four"), drawn);
  ASSERT_GT(once, 0);
  EXPECT_NEAR(four / once, 4, 0.05);
  EXPECT_GT(std::abs(once / 1e-4 - 1), 0.01) << "Adam's first step is the rate";
}

TEST_F(DenseTrial, PoolKeepsTheNewestBatchAtLeast) {
  TrialSpec none = tiny_.DenseStudent(), one = none;
  none.distill.replay = 0;
  one.distill.replay = 1;
  EXPECT_EQ(Run(none, "none").parameters, Run(one, "one").parameters);
}

}  // namespace
}  // namespace retort::worker
