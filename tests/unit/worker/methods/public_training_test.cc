// Which public images a student is taught.
#include "worker/methods/public_training.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <memory>

#include "worker/gang/local_collective.h"
#include "worker/models/model_registry.h"
#include "worker/training/oriented_features.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kSide = 8, kImages = 12;

// Public images of two kinds, bright above and bright on the left, 6 of each; three classes, so that nobody speaks
// for the last one.
Dataset TwoKinds() {
  Dataset data;
  data.shape = {1, kSide, kSide};
  data.classes = 3;
  data.scale = {{0}, {1}};
  at::Tensor images = at::rand({kImages, 1, kSide, kSide}) * 0.01;
  images.narrow(0, 0, 6).narrow(2, 0, kSide / 2).add_(1);
  images.narrow(0, 6, 6).narrow(3, 0, kSide / 2).add_(1);
  data.public_split = Examples(images, at::zeros({kImages}, at::kLong));
  return data;
}

class PublicLessonsTest : public ::testing::Test {
 protected:
  PublicLessonsTest() {
    at::manual_seed(3);
    data_ = TwoKinds();
    spec_.network = "logistic";
    spec_.seed = 5;
    spec_.labels.label_steps = 100;
    spec_.distill.student_batch = 8;
    spec_.optimization.lr = 0.05;
    spec_.labels.neighbours = 2;
    spec_.labels.propagation = 0.9;
  }
  PublicTraining Make() {
    return {{spec_, data_, nullptr, tape_, *gang_},
            MakeNetwork("logistic", data_.shape, data_.classes, RngStream(1), at::kCPU).value()};
  }
  // The classes that a student says after all steps.
  at::Tensor Taught(PublicTraining& lessons) {
    Series series;
    for (std::int64_t step = 0; step < spec_.labels.label_steps; ++step)
      EXPECT_TRUE(lessons.Fit(step, step, kImages, series).ok());
    return lessons.StudentLogProbabilities().argmax(1);
  }

  Dataset data_;
  TrialSpec spec_;
  std::unique_ptr<Collective> gang_ = MakeSoloCollective();
  ReleaseReplay tape_{nullptr, *gang_};
};

TEST_F(PublicLessonsTest, PicturesThatNoReleasedLabelReachesAreNotTaught) {
  PublicTraining lessons = Make();
  // Of the first kind alone, as class 1.
  const at::Tensor released = at::tensor({0.0F, 9.0F, 0.0F}).view({1, 3}).repeat({2, 1});
  const at::Tensor spread = lessons.PropagateLabels(released).value();
  EXPECT_TRUE(at::equal(spread.sum(1) > 0, at::arange(kImages) < 6)) << spread;
  lessons.SetTargets(spread);
  EXPECT_TRUE(at::all(Taught(lessons) == 1).item<bool>()) << "the others were taught as class 0";
}

TEST_F(PublicLessonsTest, BalanceSharesOutOnlyWhatIsSaid) {
  spec_.distill.balance = true;
  PublicTraining lessons = Make();
  at::Tensor scores = at::zeros({kImages, 3});
  scores.narrow(0, 0, 6).copy_(at::rand({6, 3}));
  const at::Tensor labels = lessons.Labels(scores);
  EXPECT_TRUE(at::equal(labels.narrow(0, 0, 6).sum(0), at::full({3}, 2.0F))) << labels;
  EXPECT_EQ(labels.narrow(0, 6, 6).sum().item<float>(), 0);
}

TEST_F(PublicLessonsTest, SmoothingTeachesNothingWhereNothingIsSaid) {
  spec_.labels.smoothing = 0.3;
  PublicTraining lessons = Make();
  at::Tensor labels = at::zeros({kImages, 3});
  labels.narrow(0, 0, 6).select(1, 2).fill_(1);
  lessons.SetTargets(labels);
  EXPECT_TRUE(at::all(Taught(lessons) == 2).item<bool>());
}

TEST_F(PublicLessonsTest, NothingSaidAtAllIsAnError) {
  PublicTraining lessons = Make();
  lessons.SetTargets(at::zeros({kImages, 3}));
  Series series;
  EXPECT_EQ(lessons.Fit(0, 0, kImages, series).code(), StatusCode::usage);
}

TEST_F(PublicLessonsTest, ALossIsRecordedWhereverAStopRuleLooks) {
  spec_.stop.metric = StopMetric::loss;
  spec_.stop.after = 3;
  spec_.stop.every = 4;
  PublicTraining lessons = Make();
  lessons.SetTargets(at::full({kImages, 3}, 1.0F / 3));
  constexpr std::int64_t kBefore = 2;  // steps of another phase
  std::vector<std::int64_t> recorded;
  for (std::int64_t within = 0; within < 12; ++within) {
    Series series;
    ASSERT_TRUE(lessons.Fit(kBefore + within, within, kImages, series).ok());
    if (!series.empty()) recorded.push_back(kBefore + within + 1);
  }
  EXPECT_EQ(recorded, (std::vector<std::int64_t>{3, 7, 8, 11, 13}))
      << "looks after 3, 7 and 11 steps; the curve after every fifth";
}

TEST_F(PublicLessonsTest, OrientedFeaturesTakePicturesOfAnySize) {
  Dataset large = TwoKinds();
  large.shape = {1, 150, 40};
  const at::Tensor small = at::rand({3, 1, 64, 17});
  large.public_split = Examples(at::upsample_nearest2d(small, {150, 40}), at::zeros({3}, at::kLong));
  const auto features = ComputeOrientedFeatures(large.shape, large.device, large.public_split);
  ASSERT_TRUE(features.ok()) << features.status().message();
  EXPECT_EQ(features->size(0), 3);
  EXPECT_TRUE(at::isfinite(*features).all().item<bool>());
}

}  // namespace
}  // namespace retort::worker
