// A classifier learns from images that show something, and the test split does not choose it.
#include "worker/samples/sample_evaluation.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "experiments/base/rng_stream.h"

namespace retort::worker::samples {
namespace {

const ImageFrame kEvaluatedFrame{{1, 16, 16}, 4, {{0.2}, {0.4}}};
constexpr std::int64_t kSide = 16;

// A bright quarter, by class, under noise; `bright` = 0: noise alone.
LabelledImages MakeImages(std::int64_t count, int bright, std::uint64_t seed) {
  LabelledImages made{at::empty({count, 1, kSide, kSide}, at::kByte), at::arange(count, at::kLong).remainder(4)};
  std::uint8_t* pixel = made.pictures.mutable_data_ptr<std::uint8_t>();
  const RngStream stream(seed, Purpose::split);
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t k = 0; k < kSide * kSide; ++k) {
      const std::int64_t quarter = k / kSide / 8 * 2 + k % kSide / 8;
      const std::int64_t noise = stream.Lane(static_cast<std::uint64_t>(i)).Below(static_cast<std::uint64_t>(k), 100);
      *pixel++ = static_cast<std::uint8_t>(noise + (quarter == i % 4 ? bright : 0));
    }
  return made;
}

Examples ToExamples(const LabelledImages& pictures) {
  return {NormaliseImages(pictures.pictures, kEvaluatedFrame.scale), pictures.labels};
}

TrialSpec MakeEvaluatedSpec() {
  TrialSpec spec;
  spec.role = Role::student;
  spec.method = "dpdfd";
  spec.network = "logistic";
  return spec;
}

cluster::SampleEvaluation EvaluateOn(const LabelledImages& samples, const Examples& test) {
  const auto found =
      EvaluateSamples(MakeEvaluatedSpec(), kEvaluatedFrame, samples, test, 1, [](std::int64_t, std::int64_t) {});
  EXPECT_TRUE(found.ok()) << found.status().message();
  return *found;
}

TEST(SampleEvaluation, TellsGoodPicturesFromNoise) {
  const Examples test = ToExamples(MakeImages(100, 120, 9));
  const cluster::SampleEvaluation good = EvaluateOn(MakeImages(400, 120, 2), test),
                                  noise = EvaluateOn(MakeImages(400, 0, 2), test);
  EXPECT_GT(good.accuracy, 0.95);
  EXPECT_LT(noise.accuracy, 0.6);
  EXPECT_LT(good.frechet_distance, noise.frechet_distance);
  EXPECT_EQ(good.training + good.held_out, 400);
  EXPECT_EQ(good.test, 100);
}

TEST(SampleEvaluation, DistanceIsOfPicturesAlone) {
  const Examples test = ToExamples(MakeImages(100, 120, 9));
  LabelledImages samples = MakeImages(400, 120, 2);
  const cluster::SampleEvaluation known = EvaluateOn(samples, test);
  samples.labels = at::zeros_like(samples.labels);
  const cluster::SampleEvaluation unknown = EvaluateOn(samples, test);
  EXPECT_GT(known.accuracy, unknown.accuracy + 0.5);
  EXPECT_EQ(known.frechet_distance, unknown.frechet_distance);
}

TEST(SampleEvaluation, SamePicturesAreNear) {
  const LabelledImages pictures = MakeImages(400, 120, 2);
  const double same = EvaluateOn(pictures, ToExamples(pictures)).frechet_distance;
  const double grey = EvaluateOn(MakeImages(400, 0, 2), ToExamples(pictures)).frechet_distance;
  EXPECT_LT(same, 1e-3 * grey);
}

TEST(SampleEvaluation, TestExamplesDoNotChoose) {
  const LabelledImages samples = MakeImages(400, 60, 2);
  const LabelledImages right = MakeImages(100, 60, 9);
  const LabelledImages wrong{right.pictures, (right.labels + 1).remainder(4)};
  const cluster::SampleEvaluation one = EvaluateOn(samples, ToExamples(right)),
                                  other = EvaluateOn(samples, ToExamples(wrong));
  EXPECT_EQ(one.epoch, other.epoch);
  EXPECT_EQ(one.held_out_accuracy, other.held_out_accuracy);
  EXPECT_NE(one.accuracy, other.accuracy);
  EXPECT_EQ(one.frechet_distance, other.frechet_distance);
}

}  // namespace
}  // namespace retort::worker::samples
