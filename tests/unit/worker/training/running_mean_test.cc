#include "worker/optim/optimisers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/unit/worker/tiny_trials.h"
#include "worker/tensors/tensor_codec.h"

namespace retort::worker {
namespace {

// By hand, of a value that is 8, then 19, 3 and 29: 2/11 of 8 and 9/11 of 19 is 17; a quarter of that and
// three of 3 is 6.5.
TEST(RunningMean, IsThatOfTheHand) {
  const at::Tensor values = at::full({2}, 8.0F);
  RunningMean early(values, 0.999), steady(values, 0.25);
  const at::Tensor held = early.mean();
  values.fill_(19);
  early.Add(values, 1);
  EXPECT_TRUE(at::allclose(early.mean(), at::full({2}, 17.0F)));
  early.Add(at::full({2}, 3.0F), 2);
  EXPECT_TRUE(at::allclose(early.mean(), at::full({2}, 6.5F)));
  early.Add(at::full({2}, 29.0F), 3);
  EXPECT_TRUE(at::allclose(early.mean(), at::full({2}, static_cast<float>((4 * 6.5 + 9 * 29) / 13))));
  EXPECT_TRUE(held.equal(early.mean())) << "updated in place";
  steady.Add(values, 100);
  EXPECT_TRUE(at::allclose(steady.mean(), at::full({2}, 16.25F)));
}

class Averaging : public ::testing::Test {
 protected:
  Averaging() {
    spec_ = tiny_.DpSgdStudent();
    spec_.optimization.lr_hold = spec_.optimization.lr_end =
        1;  // a rate that does not depend on how many steps there are
  }
  cluster::Ended Run(const TrialSpec& spec, const std::string& name, std::uint32_t number = 1) {
    order_ = tiny_.Order(spec, name, number);
    return RunTrial(order_, host_, storage::PosixEnv());
  }
  std::vector<storage::TensorBlob> Kept(const TrialSpec& spec, const std::string& name) {
    const cluster::Ended ended = Run(spec, name);
    EXPECT_TRUE(ended.succeeded) << ended.detail;
    return storage::ReadAttemptFile(order_.start.attempt_directory + "/attempt.h5").value().parameters;
  }
  TinyTrials tiny_;
  TrialSpec spec_;
  FakeTrialHost host_;
  TrialOrder order_;
};

TEST_F(Averaging, KeepsTheMeanOfWhatEachStepLedTo) {
  std::vector<std::vector<storage::TensorBlob>> after;
  spec_.steps = 1;
  TrialSpec still = spec_;
  still.optimization.lr = 0;
  after.push_back(Kept(still, "start"));
  for (spec_.steps = 1; spec_.steps <= 3; ++spec_.steps)
    after.push_back(Kept(spec_, "steps-" + std::to_string(spec_.steps)));
  spec_.steps = 3;
  spec_.optimization.averaging = 0.3;
  const std::vector<storage::TensorBlob> kept = Kept(spec_, "averaged");
  ASSERT_EQ(kept.size(), after[0].size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    at::Tensor mean = MakeTensorFromBlob(after[0][i]).value();
    const double past[] = {2.0 / 11, 3.0 / 12, 0.3};  // 4/13 is more than 0.3
    for (std::size_t step = 0; step < 3; ++step)
      mean = past[step] * mean + (1 - past[step]) * MakeTensorFromBlob(after[step + 1][i]).value();
    EXPECT_TRUE(at::allclose(MakeTensorFromBlob(kept[i]).value(), mean, 1e-5, 1e-6)) << kept[i].name;
    EXPECT_FALSE(at::allclose(mean, MakeTensorFromBlob(after[3][i]).value(), 1e-5, 1e-6)) << kept[i].name;
  }
}

TEST_F(Averaging, ALookInTheMiddleChangesNothing) {
  spec_.optimization.averaging = 0.9;
  const cluster::Ended without = Run(spec_, "without");
  spec_.stop.metric = StopMetric::accuracy;
  spec_.stop.above = false;
  spec_.stop.threshold = -1;
  spec_.stop.after = 1;
  spec_.stop.every = 1;
  const cluster::Ended with = Run(spec_, "with");
  ASSERT_TRUE(without.succeeded && with.succeeded) << without.detail << with.detail;
  EXPECT_EQ(with.parameters_digest, without.parameters_digest);
}

TEST_F(Averaging, AResumedTrialHasTheSameMean) {
  spec_.optimization.averaging = 0.9;
  const cluster::Ended whole = Run(spec_, "whole");
  host_.stop_at = 3;
  ASSERT_EQ(Run(spec_, "pieces").failure, FailureKind::stopped);
  FakeTrialHost second;
  order_ = tiny_.Order(spec_, "pieces", 2);
  const cluster::Ended resumed = RunTrial(order_, second, storage::PosixEnv());
  ASSERT_TRUE(resumed.succeeded) << resumed.detail;
  EXPECT_EQ(resumed.parameters_digest, whole.parameters_digest);
  EXPECT_EQ(resumed.metrics, whole.metrics);
  spec_.optimization.averaging = 0;
  FakeTrialHost third;
  order_ = tiny_.Order(spec_, "last", 1);
  EXPECT_NE(RunTrial(order_, third, storage::PosixEnv()).parameters_digest, whole.parameters_digest);
}

}  // namespace
}  // namespace retort::worker
