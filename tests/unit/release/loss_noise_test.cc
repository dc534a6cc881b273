#include "worker/release/loss_noise.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "experiments/privacy/reasons.h"
#include "experiments/privacy/relation.h"
#include "tests/unit/release/release_fixture.h"

namespace retort::worker::release {
namespace {

constexpr std::int64_t kRows = 8, kClasses = 4;

at::Tensor Wave(double phase) {
  return at::sin(at::arange(kRows * kClasses, at::kFloat).mul(0.9).add(phase)).reshape({kRows, kClasses}) * 3;
}

std::unique_ptr<LossNoise> Make(double norm_bound,
                                noise::NoiseKey key = noise::NoiseKey::FromOperatingSystem()) {
  LossSettings settings;
  settings.norm_bound = norm_bound;
  settings.batch = kRows;
  settings.classes = kClasses;
  return LossNoise::Create(settings, std::move(key)).value();
}

Released Release(LossNoise& mechanism) {
  MemoryPort port;
  ChargeBook book(&port, 1, 100);
  FixedTeacher teacher(Wave(0));
  return ChargeAndRelease(mechanism, Oracle::Ask(teacher, {DistinctInputs(kRows, 0), Wave(2), 0}), book)
      .value();
}

at::Tensor Loss(const at::Tensor& student) {
  return -((Wave(0) / 3).softmax(1) * (student / 3).log_softmax(1)).sum() / kRows;
}

TEST(LossNoise, UpdateIsTheGradientOfTheNoiselessLoss) {
  const at::Tensor student = Wave(2).requires_grad_(true);
  const at::Tensor expected = torch::autograd::grad({Loss(student)}, {student})[0];
  EXPECT_TRUE(at::allclose(Release(*Make(100)).values, expected, 1e-5, 1e-7));
}

TEST(LossNoise, LossAboveItsBoundTeachesNothing) {
  EXPECT_EQ(Release(*Make(0.01)).values.abs().max().item<float>(), 0);
  const auto mechanism = Make(100);
  mechanism->SetNormBound(0.01);
  EXPECT_EQ(Release(*mechanism).values.abs().max().item<float>(), 0);
}

TEST(LossNoise, ReportedLossIsTheClippedOnePlusTheNoiseOfItsStream) {
  const auto key = [] { return noise::NoiseKey::FromSeed(3, TrialId(3)); };
  const auto reported = [&](double bound) { return Release(*Make(bound, key())).loss.item<double>(); };
  const double loss = Loss(Wave(2)).item<double>();
  const double draw = (reported(100) - loss) / 100;  // sigma times N
  EXPECT_NE(draw, 0);
  EXPECT_NEAR(reported(0.01), 0.01 + 0.01 * draw, 1e-5);
}

TEST(LossNoise, HasNoFiniteClaimAndSaysWhy) {
  const privacy::PrivacyEvent event = Make(1)->Describe(kRows);
  EXPECT_EQ(event.kind, privacy::MechanismKind::loss_noise);
  for (const privacy::Relation& relation :
       {privacy::kAnswer, privacy::kSlot, privacy::kTeacher, privacy::kExample}) {
    const privacy::Bound bound = privacy::BoundFor(relation, {event}, 1e-5, nullptr);
    EXPECT_TRUE(std::isinf(bound.epsilon));
    EXPECT_EQ(bound.reason, privacy::reason::kLossNoise);
  }
}

}  // namespace
}  // namespace retort::worker::release
