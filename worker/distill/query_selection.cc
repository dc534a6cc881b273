#include "worker/distill/query_selection.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/cdist.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <limits>

#include "experiments/base/status.h"
#include "worker/tensors/vector_clones.h"

namespace retort::worker {

namespace {

constexpr int kSelectionRounds = 50;

// f64 [n]: squared distances of all points to one.
at::Tensor DistancesTo(const at::Tensor& points, const at::Tensor& centre) {
  return (points - centre).square().sum(1).contiguous();
}

// The first row at which the running sum of `weights` f64 [n] passes `share` of the whole.
std::int64_t FindShare(const at::Tensor& weights, double share) {
  const auto* weight = weights.const_data_ptr<double>();
  double total = 0, sum = 0;
  for (std::int64_t i = 0; i < weights.numel(); ++i) total += weight[i];
  for (std::int64_t i = 0; i < weights.numel(); ++i)
    if ((sum += weight[i]) > share * total) return i;
  return 0;  // all points are centres
}

// f64 [k, d]: a row at random, then each with probability by its squared distance to the nearest so far.
at::Tensor FirstCentres(const at::Tensor& points, std::int64_t k, const RngStream& stream) {
  std::vector<at::Tensor> centres = {points[stream.Below(0, points.size(0))]};
  at::Tensor nearest = DistancesTo(points, centres[0]);
  while (static_cast<std::int64_t>(centres.size()) < k) {
    const std::int64_t row = FindShare(nearest, stream.Uniform(centres.size()));
    centres.push_back(points[row]);
    nearest = nearest.minimum(DistancesTo(points, centres.back()));
  }
  return at::stack(centres);
}

}  // namespace

std::vector<std::int64_t> ComputeKMeansClusters(const at::Tensor& given, std::int64_t k, const RngStream& stream) {
  const at::Tensor points = given.to(at::kDouble);
  const std::int64_t n = points.size(0);
  if (n == 0) return {};
  RETORT_CHECK(k >= 1 && k <= n);
  at::Tensor centres = FirstCentres(points, k, stream), cluster;
  for (int round = 0; round < kSelectionRounds; ++round) {
    const at::Tensor now = at::cdist(points, centres, 2, /*compute_mode=*/2).argmin(1);
    if (cluster.defined() && now.equal(cluster)) break;
    cluster = now;
    at::Tensor sums = at::zeros_like(centres), sizes = at::zeros({k, 1}, centres.options());
    sums.index_add_(0, cluster, points);
    sizes.index_add_(0, cluster, at::ones({n, 1}, points.options()));
    centres = at::where(sizes > 0, sums / sizes.clamp_min(1), centres);
  }
  const at::Tensor flat = cluster.contiguous();
  const auto* c = flat.const_data_ptr<std::int64_t>();
  return {c, c + n};
}

namespace {

constexpr std::int64_t kTile = 512, kLanes = 16;
constexpr double kChosen = -std::numeric_limits<double>::infinity();

// In float64: students that know little yet say nearly the same of all rows, and KL, a small difference of large sums,
// would have no digit of float32 that does not depend on the device.
// A tile of rows: p and its columns one after another, `stride` apart.
struct Tile {
  const double* p;  // [classes][stride]
  const double* negative_entropy;
  double* nearest;  // least KL to a centre so far
  std::int64_t rows, stride, classes;
};

// nearest = min(nearest, KL(p_i || centre)) with the centre's logarithms; returns the largest of them afterwards.
RETORT_VECTOR_CLONES double Relax(const Tile& tile, const double* log_centre) {
  std::array<double, kTile> distance;
  for (std::int64_t i = 0; i < tile.rows; ++i) distance[static_cast<std::size_t>(i)] = tile.negative_entropy[i];
  for (std::int64_t c = 0; c < tile.classes; ++c) {
    const double* p = tile.p + c * tile.stride;
    const double log_q = log_centre[c];
    for (std::int64_t i = 0; i < tile.rows; ++i) distance[static_cast<std::size_t>(i)] -= p[i] * log_q;
  }
  double* nearest = tile.nearest;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const double d = distance[static_cast<std::size_t>(i)];
    nearest[i] = d < nearest[i] ? d : nearest[i];
  }
  std::array<double, kLanes> largest;
  largest.fill(kChosen);
  std::int64_t i = 0;
  for (; i + kLanes <= tile.rows; i += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      double& most = largest[static_cast<std::size_t>(lane)];
      most = nearest[i + lane] > most ? nearest[i + lane] : most;
    }
  for (; i < tile.rows; ++i) largest[0] = std::max(largest[0], nearest[i]);
  return *std::max_element(largest.begin(), largest.end());
}

class Centres {
 public:
  explicit Centres(const at::Tensor& log_p)
      : n_(log_p.size(0)),
        classes_(log_p.size(1)),
        log_p_(log_p.detach().cpu().to(at::kDouble).contiguous()),
        columns_(log_p_.exp().t().contiguous()),
        negative_entropy_((log_p_.exp() * log_p_).sum(1).contiguous()),
        nearest_(static_cast<std::size_t>(n_), std::numeric_limits<double>::infinity()) {}

  // Makes `row` a centre; the row farthest from all centres so far, or -1 when every row is one.
  std::int64_t Add(std::int64_t row) {
    nearest_[static_cast<std::size_t>(row)] = kChosen;
    const double* log_centre = log_p_.const_data_ptr<double>() + row * classes_;
    double most = kChosen;
    std::int64_t best_tile = -1;
    for (std::int64_t first = 0; first < n_; first += kTile) {
      const Tile tile{columns_.const_data_ptr<double>() + first,
                      negative_entropy_.const_data_ptr<double>() + first,
                      nearest_.data() + first,
                      std::min(kTile, n_ - first),
                      n_,
                      classes_};
      if (const double largest = Relax(tile, log_centre); largest > most) most = largest, best_tile = first;
    }
    if (best_tile < 0) return -1;
    return std::find(nearest_.begin() + best_tile, nearest_.end(), most) - nearest_.begin();
  }

 private:
  std::int64_t n_, classes_;
  at::Tensor log_p_, columns_, negative_entropy_;  // f64 [n, c], [c, n], [n]
  std::vector<double> nearest_;
};

// All rows, least margin first.
std::vector<std::int64_t> RankedByMargin(const at::Tensor& probabilities) {
  const at::Tensor two = std::get<0>(probabilities.detach().cpu().topk(2, 1));
  const at::Tensor order = at::argsort(two.select(1, 0) - two.select(1, 1), /*stable=*/true, 0).contiguous();
  const auto* row = order.const_data_ptr<std::int64_t>();
  return {row, row + order.numel()};
}

// Columns less their means, of variance 1; one that never varies is zero.
at::Tensor UnitVariance(const at::Tensor& columns) {
  const at::Tensor centred = columns - columns.mean(0, true);
  const at::Tensor deviation = centred.square().mean(0, true).sqrt();
  return centred / deviation.where(deviation > 0, 1.0);
}

// i64: the rows of n that are not in `asked`, growing.
at::Tensor Others(std::int64_t n, const std::vector<std::int64_t>& asked) {
  std::vector<bool> known(static_cast<std::size_t>(n), false);
  for (const std::int64_t row : asked) known[static_cast<std::size_t>(row)] = true;
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < n; ++row)
    if (!known[static_cast<std::size_t>(row)]) rows.push_back(row);
  return at::tensor(rows, at::kLong);
}

}  // namespace

at::Tensor DrawRandomQueries(std::int64_t n, std::int64_t count, const RngStream& stream) {
  RETORT_CHECK(count >= 0 && count <= n);
  return at::tensor(DrawPermutation(n, stream), at::kLong).narrow(0, 0, count).clone();
}

at::Tensor SelectKCentreQueries(const at::Tensor& log_p, std::int64_t count, const RngStream& stream,
                                const std::vector<std::int64_t>& asked) {
  const std::int64_t n = log_p.size(0);
  RETORT_CHECK(count >= 0 && count + static_cast<std::int64_t>(asked.size()) <= n);
  Centres centres(log_p);
  std::int64_t next = asked.empty() && n > 0 ? stream.Below(0, n) : 0;
  for (const std::int64_t row : asked) next = centres.Add(row);
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < count; ++i) {
    chosen.push_back(next);
    if (i + 1 < count) next = centres.Add(next);
  }
  return at::tensor(chosen, at::kLong);
}

at::Tensor SelectMarginQueries(const at::Tensor& probabilities, std::int64_t count) {
  RETORT_CHECK(count >= 0 && count <= probabilities.size(0));
  std::vector<std::int64_t> ranked = RankedByMargin(probabilities);
  ranked.resize(static_cast<std::size_t>(count));
  return at::tensor(ranked, at::kLong);
}

at::Tensor SelectDiverseQueries(const at::Tensor& probabilities, const at::Tensor& log_p, std::int64_t count,
                                const RngStream& stream) {
  RETORT_CHECK(count >= 0 && count <= probabilities.size(0));
  const at::Tensor points = UnitVariance(log_p.detach().cpu().to(at::kDouble).exp());
  const std::vector<std::int64_t> cluster =
      ComputeKMeansClusters(points, std::min(points.size(0), points.size(1)), stream);
  return at::tensor(SpreadOverClusters(RankedByMargin(probabilities), cluster, count), at::kLong);
}

at::Tensor SelectQueries(Selection selection, const at::Tensor& logits, double temperature, std::int64_t count,
                         const RngStream& stream, const std::vector<std::int64_t>& asked) {
  const at::Tensor exact = logits.detach().cpu().to(at::kDouble);
  const at::Tensor softened = at::log_softmax(exact / temperature, 1);
  if (selection == Selection::k_centre) return SelectKCentreQueries(softened, count, stream, asked);
  const at::Tensor left = Others(logits.size(0), asked);
  if (selection == Selection::random) return left.index_select(0, DrawRandomQueries(left.size(0), count, stream));
  const at::Tensor p = at::softmax(exact, 1).index_select(0, left);
  const at::Tensor chosen = selection == Selection::margin
                                ? SelectMarginQueries(p, count)
                                : SelectDiverseQueries(p, softened.index_select(0, left), count, stream);
  return left.index_select(0, chosen);
}

std::vector<std::int64_t> SpreadOverClusters(const std::vector<std::int64_t>& ranked,
                                             const std::vector<std::int64_t>& cluster, std::int64_t count) {
  const auto n = static_cast<std::int64_t>(ranked.size());
  std::vector<std::int64_t> size, taken;
  for (const std::int64_t c : cluster) {
    if (c >= static_cast<std::int64_t>(size.size())) size.resize(static_cast<std::size_t>(c) + 1, 0);
    ++size[static_cast<std::size_t>(c)];
  }
  taken.assign(size.size(), 0);
  std::vector<std::int64_t> chosen, left;
  for (const std::int64_t row : ranked) {
    const auto c = static_cast<std::size_t>(cluster[static_cast<std::size_t>(row)]);
    // taken / count < size / n in whole numbers
    const bool room = static_cast<std::int64_t>(chosen.size()) < count && taken[c] * n < size[c] * count;
    (room ? chosen : left).push_back(row);
    if (room) ++taken[c];
  }
  const auto missing = static_cast<std::size_t>(count) - chosen.size();
  chosen.insert(chosen.end(), left.begin(), left.begin() + static_cast<std::ptrdiff_t>(missing));
  return chosen;
}

}  // namespace retort::worker
