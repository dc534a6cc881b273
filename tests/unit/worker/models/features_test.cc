// Frozen features, against values worked by hand and plain loops.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <vector>

#include "experiments/methods/networks.h"
#include "worker/models/features/orientations.h"
#include "worker/models/features/patches.h"
#include "worker/models/features/scattering.h"
#include "worker/models/features/whitening.h"
#include "worker/models/model_registry.h"
#include "worker/models/network.h"
#include "worker/training/per_sample_gradients.h"

namespace retort::worker {
namespace {

// One window over 4 x 4 pixels whose brightness rises by `rise` along the direction `degrees`.
std::vector<float> OfARamp(double degrees, double rise = 1) {
  const double angle = degrees * std::numbers::pi / 180;
  at::Tensor image = at::empty({1, 1, 4, 4});
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 4; ++x) image[0][0][y][x] = rise * (std::cos(angle) * x + std::sin(angle) * y) + 3;
  const at::Tensor features = ComputeOrientationFeatures(image, {});
  EXPECT_EQ(features.sizes(), (std::vector<std::int64_t>{1, 8}));
  return {features.data_ptr<float>(), features.data_ptr<float>() + 8};
}

TEST(Orientations, RampThatRisesAlongABinIsInThatBinAlone) {
  for (const auto& [degrees, bin] : std::vector<std::pair<double, std::size_t>>{{0, 0}, {90, 2}, {180, 4}, {-90, 6}}) {
    const std::vector<float> features = OfARamp(degrees);
    for (std::size_t b = 0; b < 8; ++b) EXPECT_NEAR(features[b], b == bin ? 1 : 0, 1e-5) << degrees << " " << b;
  }
}

// At the border one of the differences is halved, so that only the middle lies at the angle itself.
TEST(Orientations, RampBetweenTwoBinsIsSharedByThem) {
  const std::vector<float> features = OfARamp(22.5);
  EXPECT_NEAR(features[0] * features[0] + features[1] * features[1], 1, 1e-4);
  EXPECT_GT(features[0], 0.3);
  EXPECT_GT(features[1], 0.3);
}

TEST(Orientations, BrightnessAndContrastDoNotMatter) {
  const at::Tensor image = at::randn({2, 1, 28, 28});
  const at::Tensor features = ComputeOrientationFeatures(image, {});
  EXPECT_EQ(features.sizes(), (std::vector<std::int64_t>{2, 392}));
  EXPECT_TRUE(at::allclose(ComputeOrientationFeatures(image * 7 + 3, {}), features, 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(features.norm(2, 1), at::ones({2}), 1e-5, 1e-6));
}

// The definition in loops: for each pixel its gradient, for each window that holds it its share.
std::vector<double> ByLoops(const at::Tensor& plane, std::int64_t height, std::int64_t width) {
  const auto pixel = [&](std::int64_t y, std::int64_t x) {
    y = std::clamp<std::int64_t>(y, 0, height - 1), x = std::clamp<std::int64_t>(x, 0, width - 1);
    return plane[y][x].item<double>();
  };
  const std::int64_t down = (height - 4) / 4 + 1, across = (width - 4) / 4 + 1;
  std::vector<double> sums(static_cast<std::size_t>(8 * down * across), 0);
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const double gx = (pixel(y, x + 1) - pixel(y, x - 1)) / 2, gy = (pixel(y + 1, x) - pixel(y - 1, x)) / 2;
      double bin = std::atan2(gy, gx) / (std::numbers::pi / 4);
      if (bin < 0) bin += 8;
      const auto low = static_cast<std::int64_t>(std::floor(bin)) % 8;
      const double high_share = bin - std::floor(bin);
      for (std::int64_t r = 0; r < down; ++r) {
        for (std::int64_t c = 0; c < across; ++c) {
          const double dy = std::abs(static_cast<double>(y - (4 * r - 2)) - 3.5);
          const double dx = std::abs(static_cast<double>(x - (4 * c - 2)) - 3.5);
          if (dy >= 4 || dx >= 4) continue;
          const double weight = (1 - dy / 4) * (1 - dx / 4) * std::hypot(gx, gy);
          const auto at = [&](std::int64_t b) { return static_cast<std::size_t>((b * down + r) * across + c); };
          sums[at(low)] += weight * (1 - high_share);
          sums[at((low + 1) % 8)] += weight * high_share;
        }
      }
    }
  }
  return sums;
}

void ExpectAsByLoops(const at::Tensor& image, const std::vector<at::Tensor>& planes) {
  std::vector<double> want;
  for (const at::Tensor& plane : planes)
    for (const double sum : ByLoops(plane, image.size(2), image.size(3))) want.push_back(std::sqrt(sum));
  double norm = 0;
  for (const double value : want) norm += value * value;
  const at::Tensor got = ComputeOrientationFeatures(image, {});
  ASSERT_EQ(got.size(1), std::ssize(want));
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got[0][static_cast<std::int64_t>(i)].item<double>(), want[i] / std::sqrt(norm), 1e-4) << i;
}

TEST(Orientations, AreTheSumsOfTheirDefinition) {
  const at::Tensor image = at::randn({1, 1, 13, 10});
  ExpectAsByLoops(image, {image[0][0]});
}

TEST(Orientations, OfThreeChannelsAreThoseOfOpponentColours) {
  const at::Tensor image = at::randn({1, 3, 8, 12});
  const at::Tensor r = image[0][0], g = image[0][1], b = image[0][2];
  ExpectAsByLoops(image, {(r - g) / std::sqrt(2.0), (r + g - 2 * b) / std::sqrt(6.0), (r + g + b) / std::sqrt(3.0)});
}

TEST(Orientations, HaveAFiniteGradientWhereAnImageIsFlat) {
  at::Tensor image = at::zeros({1, 1, 16, 16});
  image.narrow(3, 0, 5).fill_(1);
  image.requires_grad_();
  ComputeOrientationFeatures(image, {}).sum().backward();
  EXPECT_TRUE(at::isfinite(image.grad()).all().item<bool>());
  EXPECT_GT(image.grad().abs().max().item<double>(), 0);
}

TEST(Whitening, DirectionsAreOrthogonalAndShrunk) {
  const at::Tensor samples = at::randn({4000, 6}) * at::tensor({5.0f, 3.0f, 2.0f, 1.0f, 0.5f, 0.1f}) + 4;
  const Whitening fitted = FitWhitening(samples, 4, 0.5);
  at::Tensor rows = samples - samples.mean(0);
  rows = rows / rows.norm(2, 1, true);
  const at::Tensor energy = at::matmul(rows.t(), rows) / 4000.0;
  const at::Tensor values = std::get<0>(at::linalg_eigh(energy)).flip(0).narrow(0, 0, 4);
  const at::Tensor scores = at::matmul(rows, fitted.components.t());
  const at::Tensor want = values / (values + values.mean() * 0.5);
  EXPECT_TRUE(at::allclose(at::matmul(scores.t(), scores) / 4000.0, at::diag(want), 1e-2, 1e-3));
  const at::Tensor whitened = WhitenRows(samples, fitted.mean, fitted.components, 0.1);
  EXPECT_EQ(whitened.sizes(), (std::vector<std::int64_t>{4000, 5}));
  EXPECT_TRUE(at::allclose(whitened.norm(2, 1), at::full({4000}, std::sqrt(1.01)), 1e-5, 1e-5));
  EXPECT_TRUE(whitened.select(1, 4).eq(0.1f).all().item<bool>());
}

// More values than are taken apart whole.
TEST(Whitening, OfManyValuesFindsTheSameDirections) {
  const at::Tensor basis = std::get<0>(at::linalg_qr(at::randn({1100, 8})));
  const at::Tensor scale = at::tensor({20.0f, 16.0f, 12.0f, 9.0f, 7.0f, 5.0f, 4.0f, 3.0f});
  const at::Tensor samples = at::matmul(at::randn({1500, 8}) * scale, basis.t()) + at::randn({1500, 1100}) * 0.01;
  const Whitening fitted = FitWhitening(samples, 8, 1);
  const at::Tensor inside = at::matmul(fitted.components, basis);
  EXPECT_TRUE(at::allclose(inside.norm(2, 1), fitted.components.norm(2, 1), 1e-3, 1e-4));
  EXPECT_TRUE(FitWhitening(samples, 8, 1).components.equal(fitted.components));
}

// For each filter and each patch what the definition says, then the mean over each quarter.
TEST(Patches, AreTheMeansOfTheirDefinition) {
  const at::Tensor image = at::randn({1, 2, 9, 8});
  const at::Tensor drawn = at::randn({5, 2, 3, 3}), filters = drawn - drawn.mean({1, 2, 3}, true);
  const at::Tensor offset = at::randn({5}) * 0.1;
  const at::Tensor got = ComputePatchFeatures(image, filters, offset, 0.25);
  ASSERT_EQ(got.sizes(), (std::vector<std::int64_t>{1, 2 * 5 * 4}));
  at::Tensor beyond = at::empty({2, 5, 7, 6}), want = at::empty({2, 5, 2, 2});
  for (std::int64_t y = 0; y < 7; ++y) {
    for (std::int64_t x = 0; x < 6; ++x) {
      const at::Tensor patch = image[0].narrow(1, y, 3).narrow(2, x, 3);
      const double scale = std::sqrt(patch.var(false).item<double>() + 0.01);
      for (std::int64_t k = 0; k < 5; ++k) {
        const double seen = (filters[k] * patch).sum().item<double>() / scale - offset[k].item<double>();
        beyond[0][k][y][x] = std::max(0.0, seen - 0.25);
        beyond[1][k][y][x] = std::max(0.0, -seen - 0.25);
      }
    }
  }
  for (std::int64_t down = 0; down < 2; ++down)  // of seven rows the middle one is in both halves
    for (std::int64_t across = 0; across < 2; ++across)
      want.select(3, across).select(2, down).copy_(beyond.narrow(2, 3 * down, 4).narrow(3, 3 * across, 3).mean({2, 3}));
  EXPECT_TRUE(at::allclose(got[0], want.flatten() / want.norm(), 1e-4, 1e-5));
}

TEST(Patches, OfThreeChannelsAreThoseOfTheMirroredPictureToo) {
  const at::Tensor images = at::randn({3, 3, 12, 12});
  const at::Tensor filters = at::randn({4, 3, 6, 6}), offset = at::zeros({4});
  const at::Tensor features = ComputePatchFeatures(images, filters, offset, 0.25);
  EXPECT_TRUE(at::allclose(ComputePatchFeatures(images.flip(3), filters, offset, 0.25), features, 1e-4, 1e-5));
}

TEST(Patches, FiltersLookAtNoBrightnessAndAreTheSameEachTime) {
  const at::Tensor pictures = at::randn({200, 1, 12, 12}).cumsum(3);
  const PatchFilters once = FitPatchFilters(pictures, 8, 6), again = FitPatchFilters(pictures, 8, 6);
  EXPECT_TRUE(once.filters.equal(again.filters));
  EXPECT_TRUE(once.offset.equal(again.offset));
  EXPECT_LT(once.filters.sum({1, 2, 3}).abs().max().item<double>(), 1e-4);
  EXPECT_GT(once.filters.flatten(1).norm(2, 1).min().item<double>(), 0.1);
}

TEST(Scattering, OfAFlatPictureIsItsMeanAlone) {
  const at::Tensor features = ComputeScatteringFeatures(at::full({1, 1, 16, 16}, 2.0f), 8).view({81, 16});
  EXPECT_TRUE(at::allclose(features[0], at::full({16}, 0.25f), 1e-4, 1e-5));  // of norm 1 over 16 places
  EXPECT_LT(features.narrow(0, 1, 80).abs().max().item<double>(), 1e-4);
}

// A wave across, at the finer scale's frequency, is seen by the wavelet along it; turned, by the one a quarter on.
TEST(Scattering, WaveIsSeenByTheWaveletOfItsDirectionAndScale) {
  const at::Tensor phase = at::arange(32, at::kFloat) * (0.75 * std::numbers::pi);
  const at::Tensor across = phase.cos().expand({1, 1, 32, 32}).contiguous();
  const auto strongest = [](const at::Tensor& image) {
    return ComputeScatteringFeatures(image, 8)
        .view({81, 8, 8})
        .narrow(1, 3, 2)
        .narrow(2, 3, 2)
        .mean({1, 2})
        .narrow(0, 1, 16);
  };
  EXPECT_EQ(strongest(across).argmax().item<std::int64_t>(), 0);
  EXPECT_EQ(strongest(across.transpose(2, 3).contiguous()).argmax().item<std::int64_t>(), 4);
  const at::Tensor slow = (at::arange(32, at::kFloat) * (0.375 * std::numbers::pi)).cos().expand({1, 1, 32, 32});
  EXPECT_EQ(strongest(slow.contiguous()).argmax().item<std::int64_t>(), 8);
}

TEST(Scattering, RowsDoNotSeeEachOther) {
  const at::Tensor images = at::randn({20, 1, 13, 18});
  const at::Tensor all = ComputeScatteringFeatures(images, 8);
  EXPECT_EQ(all.size(1), 81 * 4 * 5);
  for (const std::int64_t row : {0, 7, 19})
    EXPECT_TRUE(at::allclose(ComputeScatteringFeatures(images.narrow(0, row, 1), 8)[0], all[row], 1e-5, 1e-6)) << row;
}

std::unique_ptr<Network> Make(const std::string& name, const std::optional<RngStream>& stream) {
  return std::move(MakeNetwork(name, {1, 16, 16}, 10, stream)).value();
}

// Fitted once: that takes a while.
const Network& Fitted(const std::string& name) {
  static std::map<std::string, std::unique_ptr<Network>> networks;
  auto& network = networks[name];
  if (network) return *network;
  network = Make(name, RngStream(1, Purpose::parameters));
  EXPECT_EQ(network->parameters().flat().abs().sum().item<double>(), 0) << "the head starts at zero";
  network->parameters().flat().normal_();
  return *network;
}

TEST(HogLinear, IsFittedToNothingOfTheTrial) {
  const auto one = Make("hog-linear", RngStream(1, Purpose::parameters));
  const auto other = Make("hog-linear", RngStream(2, Purpose::parameters));
  EXPECT_TRUE(one->buffers().constants().equal(other->buffers().constants()));
  EXPECT_GT(one->buffers().constants().abs().sum().item<double>(), 0);
}

class FeatureNetwork : public ::testing::TestWithParam<const char*> {};

TEST_P(FeatureNetwork, StateHoldsItsConstants) {
  const Network& from = Fitted(GetParam());
  const auto to = Make(GetParam(), std::nullopt);
  ASSERT_TRUE(to->LoadState("student/", from.StateBlobs("student/")).ok());
  const at::Tensor images = at::randn({3, 1, 16, 16});
  EXPECT_TRUE(to->Forward(images).logits.equal(from.Forward(images).logits));
  auto lacking = from.StateBlobs("student/");
  std::erase_if(lacking, [](const storage::TensorBlob& blob) { return blob.name.ends_with(".components"); });
  EXPECT_EQ(to->LoadState("student/", lacking).code(), StatusCode::damage);
}

TEST_P(FeatureNetwork, GradientsOfItsHeadAreTheExamplesOwn) {
  const Network& network = Fitted(GetParam());
  const at::Tensor images = at::randn({6, 1, 16, 16}), labels = at::randint(10, {6}, at::kLong);
  const std::optional<std::size_t> front = FindFrozenFront(network);
  ASSERT_TRUE(front);
  const at::Tensor seen = ComputeHeadInputs(network, *front, Examples(images, labels));
  EXPECT_TRUE(at::allclose(seen.norm(2, 1), at::full({6}, std::sqrt(1.01)), 1e-4, 1e-4));
  const OuterGradients outer = ComputeHeadGradients(network.parameters().leaves().front(), seen, labels);
  const at::Tensor made = (outer.left.unsqueeze(2) * outer.right.unsqueeze(1)).flatten(1);
  EXPECT_TRUE(at::allclose(made, ComputePerSampleGradients(network, images, labels), 1e-3, 1e-5));
}

TEST_P(FeatureNetwork, PassesAFiniteGradientToTheImages) {
  at::Tensor images = at::zeros({2, 1, 16, 16});
  images.narrow(3, 4, 3).fill_(1);
  images.requires_grad_();
  Fitted(GetParam()).Forward(images).logits.select(1, 0).sum().backward();
  EXPECT_TRUE(at::isfinite(images.grad()).all().item<bool>());
  EXPECT_GT(images.grad().abs().max().item<double>(), 0);
}

INSTANTIATE_TEST_SUITE_P(Fronts, FeatureNetwork,
                         ::testing::Values("hog-linear", "patch-linear", "scattering-linear", "hog-scattering-linear"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(FrozenNetworks, RefusePicturesLargerThanTheirLayersAreFittedFor) {
  for (const NamedNetwork& network : kNamedNetworks) {
    if (network.max_extent == 0) continue;
    const ImageShape beyond{3, network.min_extent, network.max_extent + 1};
    const auto made = MakeNetwork(std::string(network.name), beyond, 10, RngStream(1, Purpose::parameters));
    ASSERT_FALSE(made.ok()) << network.name;
    EXPECT_NE(made.status().message().find("at most " + std::to_string(network.max_extent) + " pixels a side"),
              std::string::npos)
        << made.status().message();
  }
}

TEST(FindFrozenFront, IsOfNetworksWhoseLastLayerAloneIsTrained) {
  for (const char* name : {"logistic", "datalens", "tanh-cnn"})
    EXPECT_FALSE(FindFrozenFront(*Make(name, RngStream(1, Purpose::parameters)))) << name;
}

}  // namespace
}  // namespace retort::worker
