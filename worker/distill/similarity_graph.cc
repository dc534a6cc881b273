#include "worker/distill/similarity_graph.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {

namespace {

constexpr std::int64_t kRowsOfBlock = 512;  // whose cosines with all others are held at once
constexpr double kMinResidual = 1e-8;       // of the labels
constexpr int kMaxRounds = 10'000;
// Of the subspace iteration: columns beyond those asked for, products of a turn, turns, and when it ends.
constexpr std::int64_t kSpare = 16;
constexpr int kDegree = 8, kMaxTurns = 200;
constexpr double kMinGrowth = 1e-6;
constexpr std::uint64_t kBasisKey = 0x737065637472;  // of the start vectors: a public constant

struct Edge {
  std::int64_t to;
  double weight;
};

// The nearest others of row `row`, whose cosines with all rows are given.
std::vector<Edge> Nearest(const float* cosines, std::int64_t rows, std::int64_t row, std::int64_t count) {
  std::vector<std::int64_t> order;
  order.reserve(static_cast<std::size_t>(rows));
  for (std::int64_t other = 0; other < rows; ++other)
    if (other != row) order.push_back(other);
  const auto nearer = [cosines](std::int64_t a, std::int64_t b) {
    return cosines[a] != cosines[b] ? cosines[a] > cosines[b] : a < b;
  };
  const auto last = order.begin() + std::min<std::int64_t>(count, static_cast<std::int64_t>(order.size()));
  std::partial_sort(order.begin(), last, order.end(), nearer);
  std::vector<Edge> edges;
  for (auto other = order.begin(); other != last; ++other)
    edges.push_back({*other, std::exp(kSimilaritySharpness * (static_cast<double>(cosines[*other]) - 1))});
  return edges;
}

// Sorts the edges by their ends and keeps the first of equal ones.
void Unify(std::vector<Edge>& edges) {
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.to < b.to; });
  const auto same = [](const Edge& a, const Edge& b) { return a.to == b.to; };
  edges.erase(std::unique(edges.begin(), edges.end(), same), edges.end());
}

// The edges of each row, in both directions, each once.
std::vector<std::vector<Edge>> Joined(const at::Tensor& features, std::int64_t neighbours) {
  const at::Tensor norms = features.norm(2, at::IntArrayRef{1}, true);
  const at::Tensor unit = features / norms.clamp_min(1e-12);
  const at::Tensor present = (norms > 0).to(at::kByte).cpu().contiguous();
  const auto* there = present.const_data_ptr<std::uint8_t>();
  const std::int64_t rows = features.size(0);
  std::vector<std::vector<Edge>> joined(static_cast<std::size_t>(rows));
  for (std::int64_t first = 0; first < rows; first += kRowsOfBlock) {
    const std::int64_t count = std::min(kRowsOfBlock, rows - first);
    const at::Tensor cosines = at::matmul(unit.narrow(0, first, count), unit.t()).cpu().contiguous();
    const float* values = cosines.const_data_ptr<float>();
    std::vector<std::vector<Edge>> nearest(static_cast<std::size_t>(count));
    at::parallel_for(0, count, 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        if (there[first + i] != 0)
          nearest[static_cast<std::size_t>(i)] = Nearest(values + i * rows, rows, first + i, neighbours);
    });
    for (std::int64_t i = 0; i < count; ++i) {
      for (const Edge& edge : nearest[static_cast<std::size_t>(i)]) {
        if (there[edge.to] == 0) continue;
        joined[static_cast<std::size_t>(first + i)].push_back(edge);
        joined[static_cast<std::size_t>(edge.to)].push_back({first + i, edge.weight});
      }
    }
  }
  at::parallel_for(0, rows, 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) Unify(joined[static_cast<std::size_t>(row)]);
  });
  return joined;
}

double Dot(const at::Tensor& a, const at::Tensor& b) { return (a * b).sum().item<double>(); }

}  // namespace

SimilarityGraph::SimilarityGraph(const at::Tensor& features, std::int64_t neighbours) : starts_{0} {
  RETORT_CHECK(features.dim() == 2 && neighbours >= 1);
  const at::NoGradGuard no_grad;
  const auto joined = Joined(features, neighbours);
  std::vector<double> sums;
  for (const auto& row : joined) {
    double sum = 0;
    for (const auto& [to, weight] : row) sum += weight;
    sums.push_back(sum);
  }
  for (std::size_t row = 0; row < joined.size(); ++row) {
    for (const auto& [to, weight] : joined[row]) {
      ends_.push_back(to);
      weights_.push_back(weight / std::sqrt(sums[row] * sums[static_cast<std::size_t>(to)]));
    }
    starts_.push_back(static_cast<std::int64_t>(ends_.size()));
  }
}

at::Tensor SimilarityGraph::Times(const at::Tensor& x) const {
  const std::int64_t columns = x.size(1);
  at::Tensor out = at::zeros_like(x);
  const auto* in = x.const_data_ptr<double>();
  auto* to = out.mutable_data_ptr<double>();
  at::parallel_for(0, rows(), 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t k = starts_[static_cast<std::size_t>(r)]; k < starts_[static_cast<std::size_t>(r + 1)]; ++k) {
        const double weight = weights_[static_cast<std::size_t>(k)];
        const double* other = in + ends_[static_cast<std::size_t>(k)] * columns;
        for (std::int64_t c = 0; c < columns; ++c) to[r * columns + c] += weight * other[c];
      }
    }
  });
  return out;
}

// By conjugate gradients: A is symmetric and its eigenvalues lie in [-1, 1], so that I - share A is positive definite.
at::Tensor SimilarityGraph::PropagateLabels(const at::Tensor& labels, double share) const {
  RETORT_CHECK(labels.dim() == 2 && labels.size(0) == rows() && share >= 0 && share < 1);
  const at::NoGradGuard no_grad;
  const at::Tensor wanted = labels.cpu().to(at::kDouble).contiguous();
  at::Tensor found = at::zeros_like(wanted), residual = wanted.clone(), direction = wanted.clone();
  const double least = kMinResidual * kMinResidual * Dot(wanted, wanted);
  double left = Dot(residual, residual);
  for (int round = 0; round < kMaxRounds && left > least; ++round) {
    const at::Tensor image = direction - Times(direction) * share;
    const double along = left / Dot(direction, image);
    found.add_(direction, along);
    residual.sub_(image, along);
    const double now = Dot(residual, residual);
    direction.mul_(now / left).add_(residual);
    left = now;
  }
  return (found * (1 - share)).to(labels.scalar_type()).to(labels.device());
}

// The Chebyshev polynomial that is small on [-1, cut] and grows beyond it, of A, times x.
at::Tensor SimilarityGraph::Filtered(const at::Tensor& x, double cut) const {
  const double middle = (cut - 1) / 2, half = (cut + 1) / 2;
  at::Tensor before = x, now = (Times(x) - x * middle) / half;
  for (int degree = 2; degree <= kDegree; ++degree) {
    const at::Tensor next = (Times(now) - now * middle) * (2 / half) - before;
    before = std::exchange(now, next);
  }
  return now;
}

at::Tensor SimilarityGraph::Leading(std::int64_t count) const {
  RETORT_CHECK(count >= 1 && count <= rows());
  const at::NoGradGuard no_grad;
  const std::int64_t wanted = std::min(count + std::max(count, kSpare), rows());
  at::Tensor basis = DrawNormalRows(rows(), wanted, RngStream(kBasisKey)).to(at::kDouble);
  double sum = 0, cut = 0;
  for (int turn = 0; turn < kMaxTurns; ++turn) {
    basis = std::get<0>(at::linalg_qr(Filtered(basis, cut))).contiguous();
    const auto [values, vectors] = at::linalg_eigh(at::matmul(basis.t(), Times(basis)));
    basis = at::matmul(basis, vectors).contiguous();  // by rising eigenvalues
    const double before = std::exchange(sum, values.narrow(0, wanted - count, count).sum().item<double>());
    if (turn > 0 && sum - before < kMinGrowth * static_cast<double>(count)) break;
    cut = std::clamp(values[0].item<double>(), -0.5, 0.999);
  }
  return basis.narrow(1, wanted - count, count).to(at::kFloat).contiguous();
}

namespace {

// At most so many values of the nearest images' coordinates are held at once.
constexpr std::int64_t kMaxHeldValues = 1LL << 24;
constexpr double kMinNorm = 1e-12;

at::Tensor Norms(const at::Tensor& rows) { return rows.norm(2, at::IntArrayRef{1}, true); }

}  // namespace

at::Tensor ExtendSpectralEmbedding(const at::Tensor& features, const at::Tensor& others, const at::Tensor& basis,
                                   std::int64_t neighbours) {
  RETORT_CHECK(features.dim() == 2 && others.dim() == 2 && features.size(1) == others.size(1));
  RETORT_CHECK(basis.dim() == 2 && basis.size(0) == others.size(0) && others.size(0) >= 1 && neighbours >= 1);
  const at::NoGradGuard no_grad;
  const at::Tensor to = others / Norms(others).clamp_min(kMinNorm);
  const std::int64_t near = std::min(neighbours, others.size(0));
  std::vector<at::Tensor> places = {at::empty({0, basis.size(1)}, at::kFloat)};
  const std::int64_t chunk =
      std::clamp<std::int64_t>(kMaxHeldValues / std::max<std::int64_t>(near * basis.size(1), 1), 1, kRowsOfBlock);
  for (std::int64_t first = 0; first < features.size(0); first += chunk) {
    const at::Tensor rows = features.narrow(0, first, std::min(chunk, features.size(0) - first));
    const at::Tensor norms = Norms(rows);
    const auto [cosines, nearest] = at::matmul(rows / norms.clamp_min(kMinNorm), to.t()).cpu().topk(near, 1);
    const at::Tensor weights = ((cosines - cosines.narrow(1, 0, 1)) * kSimilaritySharpness).exp() * (norms > 0).cpu();
    const at::Tensor of_nearest = basis.index_select(0, nearest.flatten()).view({rows.size(0), near, -1});
    const at::Tensor sums = (of_nearest * weights.unsqueeze(2)).sum(1);
    places.push_back(sums / Norms(sums).clamp_min(kMinNorm));
  }
  return at::cat(places);
}

}  // namespace retort::worker
