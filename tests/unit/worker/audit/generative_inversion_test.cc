// Generative model inversion of networks whose knowledge is set by hand.
#include "worker/audit/generative_inversion.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "worker/audit/inversion_judge.h"
#include "worker/models/model_registry.h"
#include "worker/tensors/autograd.h"

namespace retort::worker::audit {
namespace {

constexpr std::int64_t kSide = 16, kClasses = 4;
constexpr ImageShape kShape = {1, kSide, kSide};
const PixelScale kScale = {{0.5}, {0.5}};  // black is -1, white is 1

// 1 in the quarter of each class, 0 elsewhere: [classes, side, side].
at::Tensor MakeQuarters() {
  at::Tensor quarters = at::zeros({kClasses, kSide, kSide});
  for (std::int64_t c = 0; c < kClasses; ++c)
    quarters[c].narrow(0, c / 2 * kSide / 2, kSide / 2).narrow(1, c % 2 * kSide / 2, kSide / 2).fill_(1);
  return quarters;
}

// `n` images with one bright quarter, class after class.
Examples MakeImages(std::int64_t n) {
  const at::Tensor labels = at::arange(n, at::kLong).remainder(kClasses);
  const at::Tensor noise =
      DrawNormalRows(n, kShape.size(), RngStream(3, Purpose::warps)).view({n, 1, kSide, kSide}) * 0.1;
  return {(MakeQuarters().index_select(0, labels).unsqueeze(1) * 1.4 - 0.7 + noise).clamp(-1, 1), labels};
}

std::unique_ptr<Network> MakeUntrained() {
  auto made = MakeNetwork("logistic", kShape, kClasses, RngStream(11, Purpose::parameters));
  EXPECT_TRUE(made.ok());
  return std::move(made).value();
}

// Its logits are the light in each quarter.
std::unique_ptr<Network> MakeKnowing() {
  std::unique_ptr<Network> network = MakeUntrained();
  const at::NoGradGuard no_grad;
  network->parameters().leaves()[0].copy_(MakeQuarters().flatten(1) * 0.1);
  network->parameters().leaves()[1].zero_();
  return network;
}

GenerativeSettings MakeSettings() {
  GenerativeSettings settings;
  settings.gan.networks.latent = 8;
  settings.gan.networks.width = 8;
  settings.gan.steps = 60;
  settings.gan.critic_steps = 3;
  settings.gan.batch = 32;
  settings.gan.learning_rate = 2e-3;
  settings.gan.seed = 1;
  settings.latent_steps = 60;
  settings.restarts = 4;
  settings.seed = 2;
  return settings;
}

const AttackProgress kQuiet = [](std::int64_t, std::int64_t) {};

double CountBrightQuarters(const RecoveredImages& recovered) {
  const at::Tensor light = at::matmul(recovered.pictures.flatten(1), MakeQuarters().flatten(1).t());
  return (light.argmax(1) == recovered.labels).to(at::kDouble).mean().item<double>();
}

class GenerativeInversion : public ::testing::Test {
 protected:
  const Examples images_ = MakeImages(80);
  const std::unique_ptr<Network> knowing_ = MakeKnowing(), untrained_ = MakeUntrained();
  const GenerativeSettings settings_ = MakeSettings();

  AttackGan Gan() const {
    return TrainAttackGan(images_, kScale, settings_.gan, {}, [](std::int64_t) {});
  }
};

TEST_F(GenerativeInversion, GmiRecoversWhatTheTargetKnows) {
  const AttackGan gan = Gan();
  const RecoveredImages found = InvertByGmi(*knowing_, gan, settings_, kQuiet);
  EXPECT_EQ(found.pictures.sizes().vec(), (std::vector<std::int64_t>{16, 1, kSide, kSide}));
  EXPECT_TRUE(at::equal(found.labels, at::arange(kClasses, at::kLong).repeat({4})));
  EXPECT_LE(found.pictures.abs().max().item<double>(), 1) << "between black and white";
  EXPECT_GE(CountBrightQuarters(found), 0.85);
  EXPECT_LE(CountBrightQuarters(InvertByGmi(*untrained_, gan, settings_, kQuiet)), 0.6);
}

TEST_F(GenerativeInversion, PlgMiRecoversWhatTheTargetKnows) {
  const auto attack = [&](const Network& target) {
    return InvertByMargin(target, TrainPseudoLabelledGan(target, images_, kScale, settings_, kQuiet), settings_,
                          kQuiet);
  };
  EXPECT_GE(CountBrightQuarters(attack(*knowing_)), 0.85);
  EXPECT_LE(CountBrightQuarters(attack(*untrained_)), 0.6);
}

TEST_F(GenerativeInversion, AttackIsAFunctionOfItsSeed) {
  GenerativeSettings settings = settings_;
  settings.gan.steps = 3;
  settings.latent_steps = 3;
  const auto attack = [&] {
    const AttackGan gan = TrainAttackGan(images_, kScale, settings.gan, {}, [](std::int64_t) {});
    return InvertByGmi(*knowing_, gan, settings, kQuiet).pictures;
  };
  const at::Tensor first = attack();
  EXPECT_TRUE(at::equal(first, attack()));
  settings.seed += 1;
  EXPECT_FALSE(at::equal(first, attack()));
  settings.seed -= 1;
  settings.gan.seed += 1;
  EXPECT_FALSE(at::equal(first, attack()));
}

TEST_F(GenerativeInversion, TargetThatAnswersNoNumberEndsTheSearchInPlace) {
  {
    const at::NoGradGuard no_grad;
    untrained_->parameters().leaves()[0].fill_(std::nan(""));
  }
  GenerativeSettings settings = settings_;
  settings.gan.steps = 1;
  settings.latent_steps = 5;
  const AttackGan gan = TrainAttackGan(images_, kScale, settings.gan, {}, [](std::int64_t) {});
  EXPECT_TRUE(at::isfinite(InvertByGmi(*untrained_, gan, settings, kQuiet).pictures).all().item<bool>());
  EXPECT_TRUE(SelectPseudoLabelled(*untrained_, images_).size() == 80);
}

TEST_F(GenerativeInversion, PseudoLabelsAreTheTargetsOwn) {
  const Examples chosen = SelectPseudoLabelled(*knowing_, images_);
  ASSERT_EQ(chosen.size(), 80);
  EXPECT_EQ(CountBrightQuarters({chosen.Range(0, 80), chosen.labels}), 1);
  EXPECT_TRUE(at::equal(chosen.labels, at::arange(kClasses, at::kLong).repeat_interleave(20)));
}

TEST(AttackMargin, IsTheLeadOfTheStrongestOtherClass) {
  const at::Tensor logits = at::tensor({3.0, 1.0, 2.0, 3.0, 1.0, 2.0}).view({2, 3});
  EXPECT_TRUE(at::equal(ComputeMargin(logits, at::tensor({0, 1}, at::kLong)), at::tensor({-1.0, 2.0})));
}

TEST(AttackNetworks, PictureFollowsFromItsOwnLatentAlone) {
  const AttackNetworkSettings settings{8, 8, 3};
  const AttackGenerator generator({3, 20, 14}, {{0.2, 0.3, 0.4}, {0.5, 0.5, 0.5}}, settings,
                                  RngStream(1, Purpose::parameters), at::kCPU);
  const at::NoGradGuard no_grad;
  const at::Tensor latents = DrawNormalRows(5, 8, RngStream(1, Purpose::latents));
  const at::Tensor labels = at::tensor({0, 1, 2, 1, 0}, at::kLong);
  const at::Tensor together = generator.Forward(latents, labels);
  EXPECT_EQ(together.sizes().vec(), (std::vector<std::int64_t>{5, 3, 20, 14}));
  EXPECT_TRUE(at::allclose(generator.Forward(latents.narrow(0, 3, 1), labels.narrow(0, 3, 1)), together.narrow(0, 3, 1),
                           1e-4, 1e-5));
  const at::Tensor black = at::tensor({-0.4, -0.6, -0.8}).view({1, 3, 1, 1}), white = black + 2;
  EXPECT_TRUE(at::logical_and(together >= black - 1e-6, together <= white + 1e-6).all().item<bool>());
}

// Without it a Wasserstein critic's slopes grow without end.
TEST_F(GenerativeInversion, PenaltyKeepsTheCriticsSlopesNearOne) {
  const auto slope = [&](double penalty) {
    GanSettings settings = settings_.gan;
    settings.penalty = penalty;
    settings.steps = 30;
    const AttackGan gan = TrainAttackGan(images_, kScale, settings, {}, [](std::int64_t) {});
    at::Tensor pictures = images_.Range(0, 16).clone().requires_grad_();
    const at::AutoGradMode graph(true);
    const at::Tensor value = gan.critic->Forward(pictures, images_.labels.narrow(0, 0, 16));
    return ComputeVectorJacobian({value}, {at::ones_like(value)}, {pictures})
        .at(0)
        .flatten(1)
        .norm(2, 1)
        .mean()
        .item<double>();
  };
  const double held = slope(10);
  EXPECT_GT(held, 0.3);
  EXPECT_LT(held, 2);
  EXPECT_GT(slope(0), 3 * held);
}

TEST(Autograd, GradientOfAGradientIsTheSecondDerivative) {
  at::Tensor x = at::tensor({1.0, -2.0, 3.0}).requires_grad_();
  const at::AutoGradMode graph(true);
  const at::Tensor cube = (x * x * x).sum();
  const at::Tensor slope = ComputeDifferentiableJacobian({cube}, {at::ones_like(cube)}, {x}).at(0);
  EXPECT_TRUE(at::allclose(slope, at::tensor({3.0, 12.0, 27.0})));
  const at::Tensor total = slope.sum();
  EXPECT_TRUE(
      at::allclose(ComputeVectorJacobian({total}, {at::ones_like(total)}, {x}).at(0), at::tensor({6.0, -12.0, 18.0})));
}

TEST(InversionJudge, IsAnotherNetworkThanTheOneAttacked) {
  const ImageShape grey = {1, 28, 28}, colour = {3, 32, 32};
  EXPECT_EQ(ChooseJudgeNetwork("datalens", grey), "bn-cnn");
  EXPECT_EQ(ChooseJudgeNetwork("bn-cnn", grey), "dense-mnist");
  EXPECT_EQ(ChooseJudgeNetwork("resnet18-cifar", colour), "cnn-128");
  EXPECT_EQ(ChooseJudgeNetwork("cnn-128", colour), "bn-cnn");
}

// The features of a network without hidden layers are the pixels, so that every score is known.
TEST(InversionJudge, ScoresPicturesByTheirFeatures) {
  InversionJudge judge;
  judge.network = MakeKnowing();
  const Examples examples = MakeImages(40);
  judge.features = examples.Range(0, 40).flatten(1);
  judge.labels = examples.labels;
  const InversionScores same = ScoreLabelledImages(judge, examples.Range(0, 40), examples.labels);
  EXPECT_EQ(same.accuracy, 1);
  EXPECT_EQ(same.top5, 1);
  EXPECT_NEAR(same.frechet, 0, 1e-6);
  EXPECT_NEAR(same.distance, 0, 1e-2);
  EXPECT_GT(same.inception, 3);
  const InversionScores moved = ScoreLabelledImages(judge, examples.Range(0, 40) + 0.5, examples.labels);
  EXPECT_NEAR(moved.frechet, 0.25 * 256, 1e-2);
  EXPECT_NEAR(moved.distance, 0.5 * 16, 0.1);
  const InversionScores wrong =
      ScoreLabelledImages(judge, examples.Range(0, 40), (examples.labels + 1).remainder(kClasses));
  EXPECT_EQ(wrong.accuracy, 0);
  EXPECT_GT(wrong.distance, 10);
}

}  // namespace
}  // namespace retort::worker::audit
