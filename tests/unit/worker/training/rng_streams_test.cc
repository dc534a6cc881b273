#include "worker/tensors/rng_streams.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace retort::worker {
namespace {

TEST(RngStreams, AreFixedForever) {
  const RngStream stream(1, Purpose::latents, 2, 3);
  EXPECT_EQ(stream.Word(0), RngStream(1, Purpose::latents, 2, 3).Word(0));
  EXPECT_NE(stream.Word(0), stream.Word(1));
  EXPECT_NE(stream.Word(0), RngStream(2, Purpose::latents, 2, 3).Word(0));
  EXPECT_NE(stream.Word(0), RngStream(1, Purpose::dropout, 2, 3).Word(0));
  EXPECT_NE(stream.Word(0), RngStream(1, Purpose::latents, 3, 3).Word(0));
  EXPECT_NE(stream.Word(0), RngStream(1, Purpose::latents, 2, 4).Word(0));
}

TEST(RngStreams, PermutationHoldsEveryIndexOnce) {
  std::vector<std::int64_t> order = DrawPermutation(1000, RngStream(1, Purpose::split));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (std::int64_t i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(RngStreams, NormalsHaveUnitVarianceAndNoCorrelation) {
  const at::Tensor x = DrawNormalRows(2000, 100, RngStream(1, Purpose::latents));
  EXPECT_NEAR(x.mean().item<double>(), 0, 0.01);
  EXPECT_NEAR(x.var().item<double>(), 1, 0.015);
  EXPECT_NEAR(x.pow(4).mean().item<double>(), 3, 0.1);
  EXPECT_NEAR((x.select(1, 0) * x.select(1, 1)).mean().item<double>(), 0, 0.1);
}

TEST(RngStreams, RowsDoNotDependOnTheirNeighbours) {
  const RngStream stream(9, Purpose::latents, 4);
  const at::Tensor all = DrawNormalRows(8, 13, stream);
  EXPECT_TRUE(DrawNormalRows(3, 13, stream, 5).equal(all.narrow(0, 5, 3)));
}

TEST(RngStreams, ThreadsDoNotChangeTheNumbers) {
  const int threads = at::get_num_threads();
  const RngStream stream(9, Purpose::dropout, 4);
  at::set_num_threads(1);
  const at::Tensor normals = DrawNormalRows(64, 100, stream),
                   mask = DrawDropoutMask(at::zeros({64, 64, 11, 11}), 0.25, stream);
  at::set_num_threads(2);
  EXPECT_TRUE(DrawNormalRows(64, 100, stream).equal(normals));
  EXPECT_TRUE(DrawDropoutMask(at::zeros({64, 64, 11, 11}), 0.25, stream).equal(mask));
  at::set_num_threads(threads);
}

TEST(RngStreams, DropoutKeepsTheMean) {
  const at::Tensor mask = DrawDropoutMask(at::zeros({500, 501}), 0.2, RngStream(1, Purpose::dropout));
  EXPECT_NEAR(mask.mean().item<double>(), 1, 0.005);
  EXPECT_NEAR((mask == 0).to(at::kFloat).mean().item<double>(), 0.2, 0.005);
}

TEST(RngStreams, BelowIsUniform) {
  std::vector<int> counts(7);
  const RngStream stream(1, Purpose::replay);
  for (std::uint64_t i = 0; i < 70'000; ++i) ++counts[static_cast<std::size_t>(stream.Below(i, 7))];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
}

}  // namespace
}  // namespace retort::worker
