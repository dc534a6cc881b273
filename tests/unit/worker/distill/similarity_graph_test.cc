#include "worker/distill/similarity_graph.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "experiments/base/rng_stream.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {
namespace {

// Two bunches of directions, a right angle apart.
at::Tensor Bunches(std::int64_t each) {
  at::Tensor features = DrawNormalRows(2 * each, 6, RngStream(5)) * 0.1;
  features.slice(0, 0, each).select(1, 0).add_(1);
  features.slice(0, each).select(1, 1).add_(1);
  return features;
}

// The graph written out: nearest by cosine, both directions, weights over the roots of both ends' sums.
at::Tensor Dense(const at::Tensor& features, std::int64_t neighbours) {
  const at::Tensor unit = (features / features.norm(2, at::IntArrayRef{1}, true)).to(at::kDouble);
  const at::Tensor cosines = at::matmul(unit, unit.t());
  const at::Tensor others = cosines.clone().fill_diagonal_(-2);
  const auto nearest = std::get<1>(others.topk(neighbours, 1));
  at::Tensor joined = at::zeros_like(cosines).scatter_(1, nearest, 1);
  joined = at::maximum(joined, joined.t());
  const at::Tensor weights = joined * ((cosines - 1) * 20).exp();
  const at::Tensor roots = weights.sum(1).sqrt();
  return weights / roots.unsqueeze(0) / roots.unsqueeze(1);
}

TEST(SimilarityGraph, PropagatesAsTheInverseOfTheMatrixWrittenOut) {
  const at::Tensor features = Bunches(20);
  const at::Tensor labels = DrawNormalRows(40, 3, RngStream(6));
  for (const double share : {0.0, 0.5, 0.99}) {
    const at::Tensor matrix = at::eye(40, at::kDouble) - Dense(features, 4) * share;
    const at::Tensor expected = at::matmul(at::linalg_inv(matrix), labels.to(at::kDouble)) * (1 - share);
    const at::Tensor found = SimilarityGraph(features, 4).PropagateLabels(labels, share);
    EXPECT_TRUE(at::allclose(found.to(at::kDouble), expected, 1e-5, 1e-6)) << share;
  }
}

TEST(SimilarityGraph, LabelsSpreadAndWrongOnesAreOutvoted) {
  const SimilarityGraph graph(Bunches(20), 5);
  at::Tensor labels = at::zeros({40, 2});
  labels[3][0] = 1;
  labels[25][1] = 1;
  const at::Tensor spread = graph.PropagateLabels(labels, 0.99).argmax(1);
  EXPECT_TRUE((spread.narrow(0, 0, 20) == 0).all().item<bool>());
  EXPECT_TRUE((spread.narrow(0, 20, 20) == 1).all().item<bool>());
  for (std::int64_t row = 0; row < 10; ++row) labels[row][0] = 1;
  labels[4][0] = 0;
  labels[4][1] = 1;
  EXPECT_EQ(graph.PropagateLabels(labels, 0.99).argmax(1)[4].item<std::int64_t>(), 0);
}

TEST(SimilarityGraph, LeadingEigenvectorsSpanWhatTheMatrixWrittenOutSays) {
  const at::Tensor features = Bunches(20);
  const auto vectors = std::get<1>(at::linalg_eigh(Dense(features, 4)));
  for (const std::int64_t count : {2, 3, 40}) {  // both bunches have an eigenvalue of 1
    const at::Tensor found = SimilarityGraph(features, 4).Leading(count).to(at::kDouble);
    EXPECT_TRUE(at::allclose(at::matmul(found.t(), found), at::eye(count, at::kDouble), 1e-5, 1e-6)) << count;
    const at::Tensor expected = vectors.narrow(1, 40 - count, count);
    // The root of the mean squared cosine of the angles between both subspaces.
    const double likeness = at::matmul(found.t(), expected).square().sum().item<double>() / static_cast<double>(count);
    EXPECT_GT(likeness, 0.999) << count;
  }
}

TEST(SimilarityGraph, LeadingEigenvectorsTellBunchesApart) {
  const at::Tensor found = SimilarityGraph(Bunches(20), 5).Leading(2);
  const at::Tensor unit = found / found.norm(2, at::IntArrayRef{1}, true);
  const at::Tensor likeness = at::matmul(unit, unit.t());
  EXPECT_GT(likeness.slice(0, 0, 20).slice(1, 0, 20).min().item<float>(), 0.9f);
  EXPECT_LT(likeness.slice(0, 0, 20).slice(1, 20).abs().max().item<float>(), 0.1f);
}

TEST(SimilarityGraph, RowsOfZerosKeepTheirLabelsToThemselves) {
  at::Tensor features = Bunches(4);
  features[2].zero_();
  at::Tensor labels = at::zeros({8, 2});
  labels[2][1] = 1;
  const at::Tensor spread = SimilarityGraph(features, 3).PropagateLabels(labels, 0.9);
  EXPECT_EQ(spread.count_nonzero().item<std::int64_t>(), 1);
  EXPECT_NEAR(spread[2][1].item<float>(), 0.1, 1e-6);
}

TEST(SimilarityGraph, JoinsAllRowsWhereThereAreFewerThanNeighbours) {
  const at::Tensor features = Bunches(2);
  const at::Tensor labels = DrawNormalRows(4, 2, RngStream(1));
  EXPECT_TRUE(at::equal(SimilarityGraph(features, 3).PropagateLabels(labels, 0.7),
                        SimilarityGraph(features, 50).PropagateLabels(labels, 0.7)));
}

}  // namespace
}  // namespace retort::worker
