#include "worker/methods/image_source.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "worker/data/augmentation.h"
#include "worker/gang/local_collective.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kMixSide = 8;

Examples Flat(std::int64_t count, double first) {
  const at::Tensor levels = at::arange(count, at::kFloat) + first;
  return {levels.view({count, 1, 1, 1}).expand({count, 2, kMixSide, kMixSide}).contiguous(),
          at::zeros({count}, at::kLong)};
}

// Public images of one level each, 0 to 6; private ones of others.
Dataset Levels() {
  Dataset data;
  data.shape = {2, kMixSide, kMixSide};
  data.classes = 4;
  data.scale = {{0, 0}, {1, 1}};
  data.train = Flat(9, 100);
  data.public_split = Flat(7, 0);
  return data;
}

TrialSpec Spec(Augment augment) {
  TrialSpec spec;
  spec.source = QuerySource::public_mixes;
  spec.inputs.augment = augment;
  spec.inputs.shift = 2;
  spec.seed = 5;
  return spec;
}

at::Tensor MixedImages(const TrialSpec& spec, const Dataset& data, const Collective& gang, std::int64_t step,
                       std::int64_t rows) {
  return MixedSource::Create(spec, data, gang).value()->Images(step, rows).value();
}

TEST(PictureMixes, AThirdEachIsWholeBlendedAndPatched) {
  constexpr std::int64_t kRows = 3000;
  const at::Tensor a = at::zeros({kRows, 2, kMixSide, kMixSide}), b = at::ones({kRows, 2, kMixSide, kMixSide});
  const at::Tensor mixed = MixRows(a, b, RngStream(4));
  std::int64_t whole = 0, blended = 0, patched = 0;
  double weight = 0, area = 0;
  for (std::int64_t i = 0; i < kRows; ++i) {
    EXPECT_TRUE(at::equal(mixed[i][0], mixed[i][1]));
    const double least = mixed[i].min().item<float>(), most = mixed[i].max().item<float>();
    const double mean = mixed[i].mean().item<float>();
    const bool binary = at::all((mixed[i] == 0).logical_or(mixed[i] == 1)).item<bool>();
    if (most == 0) {
      ++whole;
    } else if (binary) {
      ++patched;
      area += mean;
      const at::Tensor rows = mixed[i][0].amax(1), columns = mixed[i][0].amax(0);
      EXPECT_EQ(mixed[i][0].sum().item<float>(), (rows.sum() * columns.sum()).item<float>());
    } else {
      ++blended;
      weight += mean;
      EXPECT_NEAR(least, most, 1e-6);
    }
  }
  // A patch of no pixel leaves the image whole: its side is below half a pixel in 1 of 256.
  EXPECT_NEAR(static_cast<double>(whole) / kRows, 1.0 / 3, 0.04);
  EXPECT_NEAR(static_cast<double>(blended) / kRows, 1.0 / 3, 0.04);
  EXPECT_NEAR(static_cast<double>(patched) / kRows, 1.0 / 3, 0.04);
  EXPECT_NEAR(weight / static_cast<double>(blended), 0.5, 0.05);
  EXPECT_NEAR(area / static_cast<double>(patched), 0.5, 0.05);
}

TEST(PictureMixes, ARowDependsOnItsOwnTwoPicturesAndLane) {
  const at::Tensor a = at::rand({12, 2, kMixSide, kMixSide}), b = at::rand({12, 2, kMixSide, kMixSide});
  const at::Tensor all = MixRows(a, b, RngStream(9));
  EXPECT_TRUE(
      at::equal(MixRows(a.narrow(0, 5, 4), b.narrow(0, 5, 4), RowStream(RngStream(9), 5)), all.narrow(0, 5, 4)));
  EXPECT_FALSE(at::equal(MixRows(a, b, RngStream(8)), all));
}

TEST(MixedSource, ShowsPublicPicturesAloneAndNewOnesAtEveryStep) {
  const Dataset data = Levels();
  const auto solo = MakeSoloCollective();
  const TrialSpec spec = Spec(Augment::none);
  const at::Tensor images = MixedImages(spec, data, *solo, 0, 200);
  EXPECT_EQ(images.sizes(), (std::vector<std::int64_t>{200, 2, kMixSide, kMixSide}));
  EXPECT_GE(images.min().item<float>(), 0);
  EXPECT_LE(images.max().item<float>(), 6);
  EXPECT_GT(std::get<0>(at::unique_dim(images.flatten(1), 0)).size(0), 100);
  EXPECT_TRUE(at::equal(MixedImages(spec, data, *solo, 0, 200), images));
  EXPECT_FALSE(at::equal(MixedImages(spec, data, *solo, 1, 200), images));
}

TEST(MixedSource, PicturesAreAugmentedBeforeTheyAreMixed) {
  Dataset data = Levels();
  data.public_split = Flat(7, 1);  // none is black
  const auto solo = MakeSoloCollective();
  EXPECT_GT(MixedImages(Spec(Augment::none), data, *solo, 0, 50).min().item<float>(), 0);
  EXPECT_EQ(MixedImages(Spec(Augment::shift), data, *solo, 0, 50).min().item<float>(), 0);  // what moves in is
}

TEST(MixedSource, AGangDrawsWhatOneDeviceWould) {
  const Dataset data = Levels();
  const TrialSpec spec = Spec(Augment::shift);
  const auto solo = MakeSoloCollective();
  const at::Tensor whole = MixedImages(spec, data, *solo, 3, 11);
  for (const int size : {2, 3, 4}) {
    for (const auto& member : MakeLocalGang(size, std::chrono::seconds(20))) {
      const RowShare own = ComputeRowShare(11, *member);
      EXPECT_TRUE(at::equal(MixedImages(spec, data, *member, 3, 11), whole.narrow(0, own.first, own.count)));
    }
  }
}

TEST(MixedSource, APictureThatIsPrivateTooIsRefused) {
  Dataset data = Levels();
  data.public_split = data.train.First(3);
  const auto solo = MakeSoloCollective();
  const TrialSpec spec = Spec(Augment::none);
  const auto refused = MixedSource::Create(spec, data, *solo);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::environment);
  EXPECT_THAT(refused.status().message(), ::testing::HasSubstr("is picture 0 of the private"));
  data.public_split = {};
  EXPECT_EQ(MixedSource::Create(spec, data, *solo).status().code(), StatusCode::usage);
}

}  // namespace
}  // namespace retort::worker
