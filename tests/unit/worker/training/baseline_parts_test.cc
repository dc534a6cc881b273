// The parts that the baselines are made of, against values worked out otherwise.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "worker/distill/kernel_embedding.h"
#include "worker/distill/response_targets.h"
#include "worker/gang/local_collective.h"
#include "worker/methods/label_stages.h"
#include "worker/models/generators.h"
#include "worker/models/layer.h"
#include "worker/models/model_registry.h"
#include "worker/tensors/autograd.h"
#include "worker/training/per_sample_gradients.h"
#include "worker/training/shards.h"
#include "worker/training/supervised_training.h"

namespace retort::worker {
namespace {

TEST(RandomFeatures, InnerProductsApproximateTheGaussianKernel) {
  constexpr std::int64_t kFeatures = 20'000;
  constexpr double kBandwidth = 4;
  const RandomFeatures features(kFeatures, 12, kBandwidth, RngStream(3, Purpose::parameters, 0, 2));
  const at::Tensor x = DrawNormalTensor({30, 3, 2, 2}, 0.8, RngStream(4, Purpose::latents));
  const at::Tensor phi = features.Of(x);
  ASSERT_EQ(phi.size(1), kFeatures);
  const at::Tensor flat = x.flatten(1);
  const at::Tensor squared = (flat.unsqueeze(0) - flat.unsqueeze(1)).square().sum(2);
  const at::Tensor exact = (squared / (-2 * kBandwidth)).exp(), got = at::matmul(phi, phi.t());
  // Five standard deviations of a mean of m = features / 2 cosines.
  EXPECT_LT((got - exact).abs().max().item<double>(), 5 / std::sqrt(static_cast<double>(kFeatures)));
  EXPECT_TRUE(at::allclose(phi.norm(2, {1}), at::ones({30}), 1e-5, 1e-5));
  EXPECT_GT((got - exact).abs().max().item<double>(), 0) << "an approximation, not the kernel";
}

TEST(RandomFeatures, BandwidthIsTheSquareOfTheWidth) {
  const RandomFeatures wide(20'000, 1, 100, RngStream(3, Purpose::parameters)),
      narrow(20'000, 1, 1, RngStream(3, Purpose::parameters));
  const at::Tensor x = at::tensor({0.0f, 2.0f}).reshape({2, 1});
  const auto kernel = [&](const RandomFeatures& f) { return at::dot(f.Of(x)[0], f.Of(x)[1]).item<double>(); };
  EXPECT_NEAR(kernel(wide), std::exp(-4.0 / 200), 0.03);
  EXPECT_NEAR(kernel(narrow), std::exp(-4.0 / 2), 0.03);
}

TEST(EmbeddingMatch, GradientIsThatOfFiniteDifferences) {
  const auto alone = MakeSoloCollective();
  const at::Tensor features = DrawNormalTensor({5, 3}, 1, RngStream(1, Purpose::latents)).to(at::kFloat);
  const at::Tensor labels = at::tensor({0, 1, 1, 0, 3}, at::kLong);
  const at::Tensor target = DrawNormalTensor({4, 3}, 1, RngStream(2, Purpose::latents));
  const auto loss = [&](const at::Tensor& at) { return MatchEmbedding(at, labels, target, 5, *alone).value().loss; };
  const at::Tensor gradient = MatchEmbedding(features, labels, target, 5, *alone).value().features;
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t k = 0; k < 3; ++k) {
      at::Tensor up = features.clone(), down = features.clone();
      up[i][k] += 1e-2;
      down[i][k] -= 1e-2;
      EXPECT_NEAR(gradient[i][k].item<double>(), (loss(up) - loss(down)) / 2e-2, 1e-4) << i << ' ' << k;
    }
  }
}

TEST(EmbeddingMatch, LossIsZeroWhereTheMeansAreEqual) {
  const auto alone = MakeSoloCollective();
  const at::Tensor features = at::tensor({1.0f, 3.0f, 5.0f}).reshape({3, 1});
  const at::Tensor target = at::tensor({4.0f / 3, 5.0f / 3}).reshape({2, 1});
  EXPECT_NEAR(MatchEmbedding(features, at::tensor({0, 0, 1}, at::kLong), target, 3, *alone).value().loss, 0, 1e-10);
}

// The probability that RR over the k most probable classes answers a label drawn from p rightly, for every k.
std::int64_t BestByEnumeration(std::vector<double> p, double epsilon0) {
  std::sort(p.rbegin(), p.rend());
  std::int64_t best = 0;
  double most = -1, sum = 0;
  for (std::size_t k = 1; k <= p.size(); ++k) {
    sum += p[k - 1];
    const double right = sum * std::exp(epsilon0) / (std::exp(epsilon0) + static_cast<double>(k) - 1);
    if (right > most + 1e-12) {
      most = right;
      best = static_cast<std::int64_t>(k);
    }
  }
  return best;
}

TEST(LabelPrior, OptimalNumberOfCandidatesIsThatOfEnumeration) {
  const at::Tensor p = at::softmax(DrawNormalTensor({200, 7}, 2, RngStream(5, Purpose::latents)), 1).to(at::kDouble);
  std::int64_t fewest = 7, most = 1;
  for (const double epsilon0 : {0.2, 1.0, 2.5, 8.0}) {
    const at::Tensor candidates = ChooseBestCandidates(p, epsilon0);
    for (std::int64_t i = 0; i < p.size(0); ++i) {
      const auto* row = p[i].const_data_ptr<double>();
      const std::int64_t k = candidates[i].sum().item<std::int64_t>();
      ASSERT_EQ(k, BestByEnumeration({row, row + 7}, epsilon0)) << i << ' ' << epsilon0;
      EXPECT_TRUE((p[i].masked_select(candidates[i]).min() >= p[i].masked_fill(candidates[i], -1).max()).item<bool>());
      fewest = std::min(fewest, k);
      most = std::max(most, k);
    }
  }
  EXPECT_EQ(fewest, 1);
  EXPECT_EQ(most, 7);
}

// e = 1: w_1 = .6, w_2 = .9 e/(e + 1) = .658, w_3 = e/(e + 2) = .576: two candidates.
TEST(LabelPrior, OptimalCandidatesOfAHandWorkedPrior) {
  const at::Tensor candidates = ChooseBestCandidates(at::tensor({0.1f, 0.6f, 0.3f}).reshape({1, 3}), 1);
  EXPECT_TRUE(at::equal(candidates, at::tensor({0, 1, 1}, at::kLong).to(at::kBool).reshape({1, 3})));
}

TEST(LabelPrior, FlatPriorAsksAboutEveryClass) {
  EXPECT_TRUE(ChooseBestCandidates(at::full({2, 5}, 0.2f), 3).all().item<bool>());
}

TEST(LabelPrior, UnlikelyAnswersAreFound) {
  const at::Tensor prior = at::tensor({0.1f, 0.6f, 0.3f, 0.5f, 0.2f, 0.3f}).reshape({2, 3});
  EXPECT_TRUE(
      at::equal(IsAmongBest(prior, at::tensor({2, 1}, at::kLong), 2), at::tensor({1, 0}, at::kLong).to(at::kBool)));
}

// b = 2, prior (1/2, 1/4, 1/4), noisy (0.4, 1.5, -0.2): distances to the unit vectors are 0.6 + 1.5 + 0.2 = 2.3,
// 0.4 + 0.5 + 0.2 = 1.1 and 0.4 + 1.5 + 1.2 = 3.1; weights 0.5 e^-1.15, 0.25 e^-0.55, 0.25 e^-1.55.
TEST(LabelPrior, LaplacePosteriorIsTheHandWorkedOne) {
  const at::Tensor prior = at::tensor({0.5f, 0.25f, 0.25f}).reshape({1, 3});
  const at::Tensor posterior = ComputeLaplacePosterior(at::tensor({0.4f, 1.5f, -0.2f}).reshape({1, 3}), prior.log(), 2);
  const double a = 0.5 * std::exp(-1.15), b = 0.25 * std::exp(-0.55), c = 0.25 * std::exp(-1.55), sum = a + b + c;
  EXPECT_TRUE(at::allclose(posterior, at::tensor({a / sum, b / sum, c / sum}, at::kFloat).reshape({1, 3}), 1e-5, 1e-6));
}

TEST(LabelPrior, PosteriorIsThePriorUnderBoundlessNoise) {
  const at::Tensor prior = at::tensor({0.7f, 0.2f, 0.1f}).reshape({1, 3});
  EXPECT_TRUE(at::allclose(ComputeLaplacePosterior(at::tensor({0.0f, 1.0f, 0.0f}).reshape({1, 3}), prior.log(), 1e9),
                           prior, 1e-4, 1e-6));
}

TEST(LabelStages, PartsCoverEveryExampleOnce) {
  EXPECT_EQ(ComputeStageEnds(101, 2), (std::vector<std::int64_t>{50, 101}));
  EXPECT_EQ(ComputeStageEnds(100, 1), (std::vector<std::int64_t>{100}));
  EXPECT_EQ(ComputeStageEnds(10, 4), (std::vector<std::int64_t>{2, 5, 7, 10}));
  EXPECT_EQ(ComputeStageEnds(3, 3), (std::vector<std::int64_t>{1, 2, 3}));
}

at::Tensor SkewedLabels() { return at::arange(1000, at::kLong).square().remainder(7); }

TEST(AssignClientRows, EveryExampleHasOneClient) {
  for (const double alpha : {0.1, 0.5, 100.0}) {
    const auto clients = AssignClientRows(SkewedLabels(), 7, 5, alpha, 11).value();
    ASSERT_EQ(clients.size(), 5U);
    const at::Tensor all = std::get<0>(at::sort(at::cat(clients)));
    EXPECT_TRUE(at::equal(all, at::arange(1000, at::kLong))) << alpha;
    for (const at::Tensor& rows : clients) EXPECT_GE(rows.numel(), 10) << alpha;
  }
}

// Largest share of a class that one client holds, averaged over the classes.
double Concentration(const std::vector<at::Tensor>& clients, const at::Tensor& labels, std::int64_t classes) {
  double sum = 0, seen = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    double most = 0, all = 0;
    for (const at::Tensor& rows : clients) {
      const double held = (labels.index_select(0, rows) == c).sum().item<double>();
      most = std::max(most, held);
      all += held;
    }
    if (all == 0) continue;
    sum += most / all;
    ++seen;
  }
  return sum / seen;
}

TEST(AssignClientRows, SmallAlphaGivesClientsFewClasses) {
  const at::Tensor labels = SkewedLabels();
  const double skewed = Concentration(AssignClientRows(labels, 7, 5, 0.1, 3).value(), labels, 7);
  const double even = Concentration(AssignClientRows(labels, 7, 5, 1000, 3).value(), labels, 7);
  EXPECT_GT(skewed, 0.5);
  EXPECT_LT(even, 0.25);
}

TEST(AssignClientRows, OneClientHoldsEverythingInOrder) {
  EXPECT_TRUE(at::equal(AssignClientRows(SkewedLabels(), 7, 1, 0.5, 3).value()[0], at::arange(1000, at::kLong)));
}

TEST(AssignClientRows, MoreClientsThanExamplesAreAUsageError) {
  EXPECT_EQ(AssignClientRows(at::zeros({3}, at::kLong), 1, 4, 0.5, 3).status().code(), StatusCode::usage);
}

TEST(EpochBatches, EachEpochHasEveryRowOnceInAnOrderOfItsOwn) {
  const at::Tensor rows = at::arange(100, 123, at::kLong);
  EpochBatches batches(rows, 5, 9);
  ASSERT_EQ(batches.per_epoch(), 5);
  std::vector<at::Tensor> epochs[2];
  for (std::int64_t step = 0; step < 10; ++step) epochs[step / 5].push_back(batches.Of(step));
  const at::Tensor first = at::cat(epochs[0]), second = at::cat(epochs[1]);
  EXPECT_TRUE(at::equal(std::get<0>(at::sort(first)), rows));
  EXPECT_TRUE(at::equal(std::get<0>(at::sort(second)), rows));
  EXPECT_FALSE(at::equal(first, second));
  EXPECT_FALSE(at::equal(EpochBatches(rows, 23, 9, 1).Of(0), EpochBatches(rows, 23, 9, 2).Of(0)));
}

TEST(EpochBatches, StepsAreTheSameFromAnyStart) {
  EpochBatches through(at::arange(7, at::kLong), 3, 1);
  for (std::int64_t step = 0; step < 8; ++step) {
    const at::Tensor expected = through.Of(step);
    EpochBatches anew(at::arange(7, at::kLong), 3, 1);
    EXPECT_TRUE(at::equal(anew.Of(step), expected)) << step;
  }
}

TEST(Activation, TanhReplacesEveryRectifierAndNothingElse) {
  const std::vector<Layer> plain = MakeLayers("datalens", 10).value(), bent = SetActivation(plain, LayerKind::tanh);
  ASSERT_EQ(bent.size(), plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(bent[i].kind, plain[i].kind == LayerKind::relu ? LayerKind::tanh : plain[i].kind);
    EXPECT_EQ(bent[i].name, plain[i].name);
  }
}

TEST(LayerCoordinates, AreTheParametersOfEachLayerInOrder) {
  const auto network = std::move(MakeNetwork("tanh-cnn", {1, 28, 28}, 10, RngStream(1, Purpose::parameters))).value();
  EXPECT_EQ(CountLayerCoordinates(*network),
            (std::vector<std::int64_t>{16 * 64 + 16, 32 * 16 * 16 + 32, 512 * 32 + 32, 32 * 10 + 10}));
  for (const std::string name : {"vit_b_16", "resnet18-cifar-gn"}) {
    const ImageShape shape = name == "vit_b_16" ? ImageShape{3, 224, 224} : ImageShape{3, 32, 32};
    const auto large = std::move(MakeNetwork(name, shape, 10, std::nullopt)).value();
    const std::vector<std::int64_t> layers = CountLayerCoordinates(*large);
    EXPECT_EQ(std::accumulate(layers.begin(), layers.end(), std::int64_t{0}), large->parameters().parameter_count());
  }
}

TEST(ConditionalGenerator, MakesImagesThatDependOnTheClass) {
  const auto generator = ConditionalGenerator::Create({3, 8, 12}, 4, {}, RngStream(2, Purpose::parameters)).value();
  const at::Tensor latents = DrawNormalRows(6, 5, RngStream(3, Purpose::latents));
  const at::Tensor one = generator->Forward(latents, at::zeros({6}, at::kLong));
  const at::Tensor two = generator->Forward(latents, at::tensor({0, 0, 0, 1, 2, 3}, at::kLong));
  EXPECT_EQ(one.sizes(), (at::IntArrayRef{6, 3, 8, 12}));
  EXPECT_GT(one.min().item<double>(), 0);
  EXPECT_LT(one.max().item<double>(), 1);
  EXPECT_FALSE(at::allclose(one[4], two[4]));
}

// fc1 (5 + 10 -> 200), bn1, fc2 (200 -> 16 * 49), bn2, conv 16 -> 8 and conv 8 -> 1 of 5 x 5.
TEST(ConditionalGenerator, HasTheParametersOfTheAuthorsNetwork) {
  const auto generator = ConditionalGenerator::Create({1, 28, 28}, 10, {}, RngStream(2, Purpose::parameters)).value();
  EXPECT_EQ(generator->parameters().parameter_count(),
            15 * 200 + 200 + 400 + 200 * 784 + 784 + 2 * 784 + 16 * 8 * 25 + 8 + 8 * 25 + 1);
}

TEST(ConditionalGenerator, ImagesOfOtherExtentsAreAUsageError) {
  EXPECT_EQ(ConditionalGenerator::Create({1, 30, 28}, 10, {}, RngStream(2, Purpose::parameters)).status().code(),
            StatusCode::usage);
}

}  // namespace
}  // namespace retort::worker
