#include "worker/release/loss_noise.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <limits>

#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/relation.h"
#include "tests/unit/worker/noise/lattice_noise.h"
#include "tests/unit/worker/release/release_fixture.h"

namespace retort::worker::release::loss_noise_test {
namespace {

constexpr std::int64_t kRows = 8, kClasses = 4;

at::Tensor Wave(double phase) {
  return at::sin(at::arange(kRows * kClasses, at::kFloat).mul(0.9).add(phase)).reshape({kRows, kClasses}) * 3;
}

std::unique_ptr<LossNoise> Make(double norm_bound, noise::NoiseKey key = noise::NoiseKey::FromOperatingSystem()) {
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
  return ChargeAndRelease(mechanism, Oracle::Ask(teacher, {DistinctInputs(kRows, 0), Wave(2), 0}), book).value();
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

std::unique_ptr<LossNoise> MakeByRow(double norm_bound, noise::NoiseKey key = noise::NoiseKey::FromOperatingSystem()) {
  LossSettings settings;
  settings.norm_bound = norm_bound;
  settings.batch = kRows;
  settings.classes = kClasses;
  settings.unit = LossUnit::row;
  return LossNoise::Create(settings, std::move(key)).value();
}

at::Tensor LossOfRows(const at::Tensor& student) {
  return -((Wave(0) / 3).softmax(1) * (student / 3).log_softmax(1)).sum(1);
}

// In the authors' code the clip is l min(1, B / l), differentiated: rows above B stand still.
TEST(LossNoise, ByRowOnlyRowsBelowTheBoundTeach) {
  const at::Tensor losses = LossOfRows(Wave(2));
  const double bound = losses.median().item<double>();
  const at::Tensor student = Wave(2).requires_grad_(true);
  const at::Tensor clipped = LossOfRows(student).clamp_max(bound + 1e-7);
  const at::Tensor expected = torch::autograd::grad({clipped.sum() / kRows}, {student})[0];
  const at::Tensor got = Release(*MakeByRow(bound + 1e-7)).values;
  EXPECT_TRUE(at::allclose(got, expected, 1e-5, 1e-7));
  const at::Tensor still = got.abs().sum(1) == 0;
  EXPECT_TRUE(still.equal(losses > bound)) << "some, not all";
}

TEST(LossNoise, ByRowEachLossHasItsOwnNoise) {
  const auto key = [] { return noise::NoiseKey::FromSeed(3, TrialId(3)); };
  const double mean = LossOfRows(Wave(2)).mean().item<double>();
  const double noise = Release(*MakeByRow(100, key())).loss.item<double>() - mean;
  const double sum = LatticeNoise(key(), {0, noise::Purpose::loss}, 1, 10, {kRows}).sum().item<double>() * 100;
  EXPECT_NEAR(noise, sum / kRows, 1e-2);
  EXPECT_NE(sum, 0);
}

TEST(LossNoise, ByRowADrawIsChargedForEveryRow) {
  EXPECT_EQ(MakeByRow(1)->Describe(kRows).count, kRows);
  EXPECT_EQ(MakeByRow(1)->Describe(kRows).unit, privacy::EventUnit::row);
  EXPECT_EQ(Make(1)->Describe(kRows).count, 1);
}

// A teacher whose hint is what it is told.
class HintTeacher final : public TeacherModel {
 public:
  explicit HintTeacher(at::Tensor hint) : hint_(std::move(hint)) {}
  std::int64_t classes() const override { return kClasses; }

 protected:
  at::Tensor Logits(const at::Tensor&) override { CheckFailed("hints", __FILE__, __LINE__, "asked for logits"); }
  at::Tensor Hint(const at::Tensor&) override { return hint_; }

 private:
  at::Tensor hint_;
};

at::Tensor HintWave(double phase) {
  return at::cos(at::arange(kRows * 12, at::kFloat).mul(0.7).add(phase)).reshape({kRows, 3, 2, 2});
}

Result<Released> ReleaseHint(LossNoise& mechanism, const at::Tensor& hint = HintWave(0)) {
  MemoryPort port;
  ChargeBook book(&port, 1, 100);
  HintTeacher teacher(hint);
  Query query{DistinctInputs(kRows, 0), {}, 0};
  query.student_hint = HintWave(1);
  return ChargeAndRelease(mechanism, Oracle::Ask(teacher, query), book);
}

TEST(LossNoise, HintsTeachHalfTheSquaredDistance) {
  const at::Tensor adapted = HintWave(1).requires_grad_(true);
  const at::Tensor losses = (adapted - HintWave(0)).square().sum({1, 2, 3}) / 2;
  const at::Tensor all = torch::autograd::grad({losses.mean()}, {adapted}, {}, /*retain_graph=*/true)[0];
  EXPECT_TRUE(at::allclose(ReleaseHint(*Make(1000)).value().values, all, 1e-5, 1e-7));
  EXPECT_EQ(ReleaseHint(*Make(0.01)).value().values.abs().max().item<float>(), 0);
  const double bound = losses.detach().median().item<double>() + 1e-4;
  const at::Tensor kept = torch::autograd::grad({losses.clamp_max(bound).mean()}, {adapted})[0];
  EXPECT_TRUE(at::allclose(ReleaseHint(*MakeByRow(bound)).value().values, kept, 1e-5, 1e-7));
  EXPECT_FALSE(at::allclose(kept, all, 1e-5, 1e-7));
}

TEST(LossNoise, RowsOfAHintThatAreNotFiniteCountAsZeros) {
  at::Tensor broken = HintWave(0).clone();
  broken[3][1][0][1] = std::numeric_limits<float>::quiet_NaN();
  at::Tensor zeroed = HintWave(0).clone();
  zeroed[3].zero_();
  EXPECT_TRUE(ReleaseHint(*Make(1000), broken).value().values.equal(ReleaseHint(*Make(1000), zeroed).value().values));
}

class LossNoiseClaims : public ::testing::TestWithParam<LossUnit> {};
INSTANTIATE_TEST_SUITE_P(Units, LossNoiseClaims, ::testing::Values(LossUnit::batch, LossUnit::row));

TEST_P(LossNoiseClaims, HaveNoFiniteBoundAndSayWhy) {
  const auto mechanism = GetParam() == LossUnit::row ? MakeByRow(1) : Make(1);
  const privacy::PrivacyEvent event = mechanism->Describe(kRows);
  EXPECT_EQ(event.kind, privacy::MechanismKind::loss_noise);
  for (const privacy::Relation& relation : {privacy::kAnswer, privacy::kSlot, privacy::kTeacher, privacy::kExample}) {
    const privacy::Bound bound = privacy::ComputeRelationBound(relation, {event}, 1e-5, nullptr);
    EXPECT_TRUE(std::isinf(bound.epsilon));
    EXPECT_EQ(bound.reason, privacy::reason::kLossNoise);
  }
}

}  // namespace
}  // namespace retort::worker::release::loss_noise_test
