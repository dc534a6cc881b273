#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "worker/distill/generator_loss.h"
#include "worker/distill/transfer_set.h"
#include "worker/distill/vote_targets.h"
#include "worker/gang/local_collective.h"
#include "worker/models/model_registry.h"
#include "worker/release/output_gradient.h"
#include "worker/tensors/autograd.h"
#include "worker/training/learner.h"

namespace retort::worker {
namespace {

struct Outputs {
  at::Tensor logits = at::randn({6, 5}, at::kDouble).requires_grad_(true);
  at::Tensor features = at::randn({6, 7}, at::kDouble).requires_grad_(true);
  at::Tensor targets = at::softmax(at::randn({6, 5}, at::kDouble), 1);
};

// The same objective, written for autograd.
at::Tensor Objective(const Outputs& o, const GeneratorWeights& w, GeneratorForm form) {
  const at::Tensor log_p = at::log_softmax(o.logits, 1), p = log_p.exp();
  if (form == GeneratorForm::printed_sums) {
    const at::Tensor label = at::one_hot(o.logits.detach().argmax(1), o.logits.size(1));
    return -(o.targets * log_p).sum() - w.one_hot * (label * log_p).sum() + w.information_entropy * (p * log_p).sum() +
           w.activation_norm * o.features.norm(2, 1).sum();
  }
  at::Tensor loss = -(o.targets * log_p).sum(1).mean();
  loss = loss + w.one_hot * at::cross_entropy_loss(o.logits, o.logits.detach().argmax(1));
  if (form == GeneratorForm::dafl) {
    const at::Tensor mean = p.mean(0);
    return loss + w.information_entropy * (mean * mean.log()).sum() - w.activation_norm * o.features.abs().mean();
  }
  return loss + w.information_entropy * (p * log_p).sum(1).mean() + w.activation_norm * o.features.norm();
}

TEST(GeneratorLoss, IsTheGradientOfItsObjective) {
  const GeneratorWeights weights{0.7, 3, 0.2};
  const auto solo = MakeSoloCollective();
  for (const GeneratorForm form : {GeneratorForm::dafl, GeneratorForm::printed, GeneratorForm::printed_sums}) {
    const Outputs o;
    const at::Tensor objective = Objective(o, weights, form);
    const auto want = ComputeVectorJacobian({objective}, {at::ones({}, at::kDouble)}, {o.logits, o.features});
    const GeneratorGradient got =
        ComputeGeneratorLoss({o.logits, o.features}, o.targets, weights, form, o.logits.size(0), *solo).value();
    EXPECT_TRUE(at::allclose(got.logits, want[0], 1e-9, 1e-12));
    EXPECT_TRUE(at::allclose(got.features, want[1], 1e-9, 1e-12));
    EXPECT_NEAR(got.loss.item<double>(), objective.item<double>(), 1e-9);
  }
}

// |f| has no derivative at 0.
TEST(GeneratorLoss, ARowOfZeroFeaturesHasNoGradient) {
  Outputs o;
  o.features = at::ones({6, 7}, at::kDouble);
  o.features[2].zero_();
  const auto solo = MakeSoloCollective();
  const GeneratorGradient got =
      ComputeGeneratorLoss({o.logits, o.features}, {}, {0, 0, 1}, GeneratorForm::printed_sums, 6, *solo).value();
  EXPECT_EQ(got.features[2].abs().max().item<double>(), 0);
  EXPECT_NEAR(got.features[0].norm().item<double>(), 1, 1e-12);
  EXPECT_NEAR(got.loss.item<double>(), 5 * std::sqrt(7), 1e-12);
}

TEST(GeneratorLoss, LeavesOutTheTargetsThatAreNotThere) {
  const Outputs o;
  const auto solo = MakeSoloCollective();
  const GeneratorGradient got =
      ComputeGeneratorLoss({o.logits, o.features}, {}, {0, 0, 0}, GeneratorForm::dafl, o.logits.size(0), *solo).value();
  EXPECT_EQ(got.logits.abs().max().item<double>(), 0);
  EXPECT_EQ(got.features.abs().max().item<double>(), 0);
}

// y = p - gamma g~ injected at the logits it was made at is gamma g~, whatever cross-entropy would round away.
TEST(SoftTarget, InjectsTheReleaseWhereItIsUsedOnce) {
  const at::Tensor logits = at::randn({8, 10}), released = release::SubtractRowMean(at::randn({8, 10}) * 1e-3);
  const double gamma = 250;
  const at::Tensor y = release::ComputeSoftTarget(logits, released, gamma);
  const at::Tensor p = at::softmax(logits, 1);
  EXPECT_TRUE(at::allclose(p * y.sum(1, true) - y, gamma * released, 1e-4, 1e-6));
}

TEST(ZeroSum, LeavesNoMeanAndChangesNothingElse) {
  const at::Tensor x = at::randn({8, 10});
  const at::Tensor z = release::SubtractRowMean(x);
  EXPECT_LT(z.sum(1).abs().max().item<double>(), 1e-5);
  EXPECT_TRUE(at::allclose(z - x, (z - x).narrow(1, 0, 1).expand_as(x), 0, 1e-6));
}

TEST(Learner, DescendsTheCrossEntropyToItsTargets) {
  auto network = std::move(MakeNetwork("logistic", {1, 4, 4}, 3, RngStream(1, Purpose::parameters))).value();
  const auto solo = MakeSoloCollective();
  Learner learner(std::move(network), *solo);
  const at::Tensor images = at::randn({32, 1, 4, 4}),
                   targets = MakeOneHotTargets(at::randint(3, {32}, at::kLong), 3, 0.1);
  const double first = learner.Teach(OwnMinibatch(images, targets, *solo), 0.05, std::nullopt).value().item<double>();
  double last = first;
  for (int i = 0; i < 50; ++i)
    last = learner.Teach(OwnMinibatch(images, targets, *solo), 0.05, std::nullopt).value().item<double>();
  EXPECT_LT(last, 0.7 * first);
}

TEST(Learner, InjectsTheGradientOfTheSoftenedCrossEntropy) {
  const RngStream stream(1, Purpose::parameters);
  auto network = std::move(MakeNetwork("logistic", {1, 4, 4}, 3, stream)).value();
  const at::Tensor images = at::randn({5, 1, 4, 4}), targets = at::softmax(at::randn({5, 3}), 1);
  constexpr double kTemperature = 3;
  const auto& leaves = network->parameters().leaves();
  const at::Tensor logits = network->Forward(images).logits;
  const at::Tensor loss =
      -(targets * at::log_softmax(logits / kTemperature, 1)).sum(1).mean() * kTemperature * kTemperature;
  const auto want = ComputeVectorJacobian({loss}, {at::ones({})}, leaves);
  const auto solo = MakeSoloCollective();
  Learner learner(std::move(network), *solo);
  const at::Tensor got = learner.Teach(OwnMinibatch(images, targets, *solo), 0, std::nullopt, kTemperature).value();
  EXPECT_NEAR(got.item<double>(), loss.item<double>(), 1e-4);
  const at::Tensor flat = learner.network().parameters().gradient();
  EXPECT_TRUE(at::allclose(flat.narrow(0, 0, want[0].numel()), want[0].flatten(), 1e-4, 1e-6));
}

TEST(TransferSet, KeepsTheNewestBatches) {
  TransferSet set(2, 3, {1, 2, 2}, 4);
  for (int batch = 1; batch <= 3; ++batch) {
    set.Push(at::full({3, 1, 2, 2}, batch), at::full({3, 4}, batch));
  }
  EXPECT_EQ(set.stored(), 6);
  const auto [images, targets] = set.Take(set.Draw(200, RngStream(1, Purpose::replay)));
  EXPECT_EQ(images.min().item<double>(), 2);
  EXPECT_EQ(images.max().item<double>(), 3);
  EXPECT_TRUE(images.select(3, 0).select(2, 0).select(1, 0).equal(targets.select(1, 0)));
}

TEST(TransferSet, GivesRowsByWhereTheyLie) {
  TransferSet set(2, 3, {1, 2, 2}, 4);
  set.Push(at::arange(3).to(at::kFloat).view({3, 1, 1, 1}).expand({3, 1, 2, 2}),
           at::arange(3).view({3, 1}).expand({3, 4}));
  const auto [images, targets] = set.Take(at::tensor({2, 0, 2}, at::kLong));
  EXPECT_TRUE(at::equal(images.select(3, 0).select(2, 0).select(1, 0), at::tensor({2.0F, 0.0F, 2.0F})));
  EXPECT_TRUE(at::equal(targets.select(1, 3), at::tensor({2.0F, 0.0F, 2.0F})));
}

TEST(TransferSet, StateIsWhatWasStored) {
  TransferSet from(4, 2, {1, 2, 2}, 3), to(4, 2, {1, 2, 2}, 3);
  TrainState a, b;
  from.Register(a, "t/");
  to.Register(b, "t/");
  for (int i = 0; i < 3; ++i) from.Push(at::randn({2, 1, 2, 2}), at::randn({2, 3}));
  ASSERT_TRUE(b.Load(a.Save()).ok());
  EXPECT_EQ(to.stored(), 6);
  const RngStream stream(1, Purpose::replay);
  EXPECT_TRUE(to.Take(to.Draw(20, stream)).first.equal(from.Take(from.Draw(20, stream)).first));
}

TEST(VoteTargets, GapIsFoundUnderTheNoise) {
  constexpr double kNoise = 30;
  const std::int64_t rows = 4000;
  at::Tensor votes = at::full({rows, 10}, 4.0);
  votes.scatter_(1, at::randint(10, {rows, 1}, at::kLong), 64.0);
  const at::Tensor noisy = (votes + at::randn({rows, 10}) * kNoise).round().to(at::kInt);
  EXPECT_NEAR(EstimateVoteGap(noisy, kNoise, 100), 60, 4);
}

TEST(VoteTargets, PartsOfAVoteSayWhatWholeVotesSay) {
  const at::Tensor votes = (at::randn({50, 10}) * 30).round().to(at::kInt);
  const at::Tensor parts = votes * 16;
  EXPECT_DOUBLE_EQ(EstimateVoteGap(parts, 20, 100, 16), EstimateVoteGap(votes, 20, 100));
  EXPECT_TRUE(at::allclose(ComputeVoteEvidence(parts, 50, 20, 16), ComputeVoteEvidence(votes, 50, 20)));
}

TEST(VoteTargets, FirstVotesAreThoseOfTheCandidateWithTheMost) {
  const at::Tensor votes = at::tensor({5, -3, 9, 5, -7, -4, -7, -9}, at::kInt).reshape({2, 4});
  const at::Tensor candidates = at::tensor({1, 1, 0, 1, 1, 0, 1, 0}).to(at::kBool).reshape({2, 4});
  EXPECT_TRUE(PickMostVoted(votes, candidates).argmax(1).equal(at::tensor({0, 0}, at::kLong))) << "ties: the first";
  EXPECT_TRUE(PickMostVoted(votes, at::Tensor()).argmax(1).equal(at::tensor({2, 1}, at::kLong)));
  EXPECT_TRUE(PickMostVoted(votes, candidates).sum(1).eq(1).all().item<bool>());
}

TEST(VoteTargets, PureNoiseGivesTheLeastGap) {
  const at::Tensor noise = (at::randn({50, 10}) * 300).round().to(at::kInt);
  EXPECT_LE(EstimateVoteGap(noise, 400, 100), 25);
  EXPECT_GT(EstimateVoteGap(noise, 400, 100), 0);
}

TEST(VoteTargets, VotesAreNeverReadAsSayingNothing) {
  for (const std::int64_t classes : {2, 3, 4, 100}) {
    const double gap = EstimateVoteGap((at::randn({50, classes}) * 300).round().to(at::kInt), 400, 60);
    EXPECT_DOUBLE_EQ(gap, 10) << classes;
  }
  EXPECT_EQ(EstimateVoteGap(at::zeros({5, 1}, at::kInt), 3, 60), 60);
}

}  // namespace
}  // namespace retort::worker
