#include "worker/methods/image_source.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <chrono>

#include "worker/data/procedural_images.h"
#include "worker/distill/transfer_set.h"
#include "worker/gang/local_collective.h"

namespace retort::worker {
namespace {

constexpr ImageShape kImageShape{3, 16, 16};

Dataset Colours() {
  Dataset data;
  data.shape = kImageShape;
  data.classes = 4;
  data.scale = {{0.5, 0.4, 0.3}, {0.2, 0.25, 0.5}};
  return data;
}

TrialSpec Spec(Pictures pictures) {
  TrialSpec spec;
  spec.source = QuerySource::procedural;
  spec.inputs.pictures = pictures;
  spec.seed = 9;
  return spec;
}

TEST(ProceduralSource, RowsAlternateKindsAndAreNormalised) {
  const Dataset data = Colours();
  const TrialSpec spec = Spec(Pictures::natural);
  const auto solo = MakeSoloCollective();
  ProceduralSource source(spec, data, *solo);
  const at::Tensor images = source.Images(2, 7).value();
  const RngStream stream(9, Purpose::latents, 2);
  const at::Tensor mean = at::tensor({0.5F, 0.4F, 0.3F}).view({1, 3, 1, 1});
  const at::Tensor std = at::tensor({0.2F, 0.25F, 0.5F}).view({1, 3, 1, 1});
  const at::Tensor leaves = DrawProceduralImages(ProceduralKind::dead_leaves, 4, 3, 16, stream.Lane(0));
  const at::Tensor noise = DrawProceduralImages(ProceduralKind::noise, 3, 3, 16, stream.Lane(1));
  EXPECT_TRUE(at::allclose(images.slice(0, 0, 7, 2) * std + mean, leaves, 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(images.slice(0, 1, 7, 2) * std + mean, noise, 1e-5, 1e-5));
  EXPECT_FALSE(at::equal(source.Images(3, 7).value(), images));
  EXPECT_TRUE(at::equal(source.Images(2, 7).value(), images));
}

TEST(ProceduralSource, AGangDrawsWhatOneDeviceWouldWhereverItsSharesBegin) {
  const Dataset data = Colours();
  const TrialSpec spec = Spec(Pictures::writing);
  const auto solo = MakeSoloCollective();
  const at::Tensor whole = ProceduralSource(spec, data, *solo).Images(1, 11).value();
  for (const int size : {2, 3, 4}) {
    for (const auto& member : MakeLocalGang(size, std::chrono::seconds(20))) {
      const RowShare own = ComputeRowShare(11, *member);
      EXPECT_TRUE(at::equal(ProceduralSource(spec, data, *member).Images(1, 11).value(),
                            whole.narrow(0, own.first, own.count)));
    }
  }
}

TEST(ProceduralSource, TheFirstKindAloneIsEveryOtherRowWholeOnEveryMember) {
  const Dataset data = Colours();
  const TrialSpec spec = Spec(Pictures::natural);
  const auto solo = MakeSoloCollective();
  const at::Tensor both = ProceduralSource(spec, data, *solo).Images(5, 14).value();
  for (const auto& member : MakeLocalGang(3, std::chrono::seconds(20)))
    EXPECT_TRUE(at::equal(ProceduralSource(spec, data, *member).ImagesOfFirstKind(5, 7), both.slice(0, 0, 14, 2)));
}

TEST(TransferSet, DrawsEvenlyAmongTheClassesThatWereReleased) {
  TransferSet set(2, 50, {1, 2, 2}, 4);
  at::Tensor images = at::arange(100, at::kFloat).view({100, 1, 1, 1}).expand({100, 1, 2, 2}).contiguous();
  at::Tensor targets = at::zeros({100, 4});
  for (std::int64_t row = 0; row < 100; ++row) targets[row][row < 90 ? 0 : row < 98 ? 1 : 3] = 1;
  set.Push(images.narrow(0, 0, 50), targets.narrow(0, 0, 50));
  EXPECT_EQ(set.Take(set.DrawEvenly(30, RngStream(2))).second.sum(0).select(0, 0).item<float>(), 30);
  set.Push(images.narrow(0, 50, 50), targets.narrow(0, 50, 50));
  const auto [x, y] = set.Take(set.DrawEvenly(3000, RngStream(3)));
  const at::Tensor counts = y.sum(0);
  EXPECT_EQ(counts[2].item<float>(), 0);
  for (const std::int64_t label : {0, 1, 3}) EXPECT_NEAR(counts[label].item<float>(), 1000, 120) << label;
  const at::Tensor rows = x.select(1, 0).select(1, 0).select(1, 0).to(at::kLong);
  EXPECT_TRUE(at::equal(targets.index_select(0, rows), y));
}

}  // namespace
}  // namespace retort::worker
