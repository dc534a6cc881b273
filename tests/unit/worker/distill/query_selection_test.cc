// Selections against the same rules written naively.
#include "worker/distill/query_selection.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "worker/tensors/rng_streams.h"

namespace retort::worker {
namespace {

using Rows = std::vector<std::int64_t>;

Rows MakeRows(const at::Tensor& rows) {
  const auto* row = rows.const_data_ptr<std::int64_t>();
  return {row, row + rows.numel()};
}

at::Tensor LogitsFrom(std::uint64_t seed, std::int64_t n, std::int64_t classes) {
  return DrawNormalRows(n, classes, RngStream(seed, Purpose::queries)) * 2;
}

double Divergence(const at::Tensor& log_p, std::int64_t i, std::int64_t j) {
  const at::Tensor a = log_p[i].to(at::kDouble), b = log_p[j].to(at::kDouble);
  return (a.exp() * (a - b)).sum().item<double>();
}

// The row whose least divergence to a chosen one is largest, computed anew for every pair.
std::int64_t Farthest(const at::Tensor& log_p, const Rows& chosen) {
  std::int64_t best = -1;
  double most = -1;
  for (std::int64_t i = 0; i < log_p.size(0); ++i) {
    if (std::find(chosen.begin(), chosen.end(), i) != chosen.end()) continue;
    double least = std::numeric_limits<double>::infinity();
    for (const std::int64_t j : chosen) least = std::min(least, Divergence(log_p, i, j));
    if (least > most) most = least, best = i;
  }
  return best;
}

TEST(KCentre, TakesTheFarthestRowEachTime) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const at::Tensor log_p = at::log_softmax(LogitsFrom(seed, 37, 4) / 3, 1);
    const RngStream stream(seed, Purpose::queries);
    const Rows got = MakeRows(SelectKCentreQueries(log_p, 20, stream));
    Rows want = {stream.Below(0, 37)};
    while (want.size() < 20) want.push_back(Farthest(log_p, want));
    EXPECT_EQ(got, want);
  }
}

TEST(KCentre, StartsFromAskedPicturesWithoutRepeats) {
  const at::Tensor log_p = at::log_softmax(LogitsFrom(4, 30, 3), 1);
  Rows want = {7, 3, 21};
  const Rows got = MakeRows(SelectKCentreQueries(log_p, 27, RngStream(1, Purpose::queries), want));
  for (int i = 0; i < 27; ++i) {
    want.push_back(Farthest(log_p, want));
    EXPECT_EQ(got[static_cast<std::size_t>(i)], want.back());
  }
  EXPECT_EQ(std::set<std::int64_t>(want.begin(), want.end()).size(), 30U) << "in the end every row, once";
}

TEST(KCentre, EqualRowsAndCertainStudentsAreTakenOnceEach) {
  at::Tensor logits = at::zeros({40, 3});
  logits.narrow(0, 20, 20).select(1, 0).fill_(400);  // probabilities that round to 0
  const Rows got = MakeRows(SelectKCentreQueries(at::log_softmax(logits, 1), 40, RngStream(1, Purpose::queries)));
  EXPECT_EQ(std::set<std::int64_t>(got.begin(), got.end()).size(), 40U);
  EXPECT_NE(got[0] < 20, got[1] < 20) << "the second row is of the other kind";
}

TEST(KCentre, TilesGiveWhatOneRowAtATimeGives) {
  const at::Tensor log_p = at::log_softmax(LogitsFrom(5, 1300, 10), 1);
  Rows chosen = {11};
  const Rows got = MakeRows(SelectKCentreQueries(log_p, 6, RngStream(1, Purpose::queries), chosen));
  for (const std::int64_t row : got) {
    const at::Tensor p = log_p.to(at::kDouble).exp();
    at::Tensor nearest = at::full({1300}, std::numeric_limits<double>::infinity(), at::kDouble);
    for (const std::int64_t c : chosen) nearest = nearest.minimum((p * (log_p - log_p[c]).to(at::kDouble)).sum(1));
    EXPECT_NEAR(nearest[row].item<double>(), nearest.max().item<double>(), 1e-5);
    chosen.push_back(row);
  }
}

TEST(Margin, TakesTheLeastDifferencesOfTheTwoLargest) {
  const at::Tensor p = at::softmax(LogitsFrom(6, 50, 5), 1);
  std::vector<std::pair<float, std::int64_t>> margins;
  for (std::int64_t i = 0; i < 50; ++i) {
    std::vector<float> row(p[i].const_data_ptr<float>(), p[i].const_data_ptr<float>() + 5);
    std::sort(row.begin(), row.end());
    margins.emplace_back(row[4] - row[3], i);
  }
  std::sort(margins.begin(), margins.end());
  const Rows got = MakeRows(SelectMarginQueries(p, 12));
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(got[i], margins[i].second);
}

TEST(Random, IsAUniformSubsetThatTheStreamFixes) {
  const Rows got = MakeRows(DrawRandomQueries(100, 30, RngStream(1, Purpose::queries)));
  EXPECT_EQ(std::set<std::int64_t>(got.begin(), got.end()).size(), 30U);
  EXPECT_EQ(got, MakeRows(DrawRandomQueries(100, 30, RngStream(1, Purpose::queries))));
  EXPECT_NE(got, MakeRows(DrawRandomQueries(100, 30, RngStream(2, Purpose::queries))));
}

// Three clusters of 10, 5 and 5 rows; eight places: four, two and two by margin.
TEST(Diverse, TakesFromEachClusterItsShareBestFirst) {
  Rows ranked(20), cluster(20);
  for (std::int64_t i = 0; i < 20; ++i) {
    ranked[static_cast<std::size_t>(i)] = 19 - i;
    cluster[static_cast<std::size_t>(i)] = i < 10 ? 0 : i < 15 ? 1 : 2;
  }
  EXPECT_EQ(SpreadOverClusters(ranked, cluster, 8), (Rows{19, 18, 14, 13, 9, 8, 7, 6}));
}

// Shares of 1.75 and 1.25 of three places: two each until they are full, so one place is the first cluster's and the
// other two go by rank.
TEST(Diverse, SharesAreRoundedUpUntilThePlacesAreFull) {
  const Rows ranked = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const Rows cluster = {0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
  EXPECT_EQ(SpreadOverClusters(ranked, cluster, 3), (Rows{0, 1, 7}));
  const Rows fine = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(SpreadOverClusters(ranked, fine, 3), (Rows{0, 1, 2}));
}

TEST(Diverse, IsMarginWithinTheClustersOfWhatTheStudentSays) {
  const at::Tensor logits = LogitsFrom(8, 90, 3);
  const at::Tensor p = at::softmax(logits, 1), log_p = at::log_softmax(logits / 3, 1);
  const RngStream stream(3, Purpose::queries);
  const at::Tensor soft = log_p.exp(), centred = soft - soft.mean(0, true);
  const Rows cluster = ComputeKMeansClusters(centred / centred.square().mean(0, true).sqrt(), 3, stream);
  EXPECT_EQ(MakeRows(SelectDiverseQueries(p, log_p, 30, stream)),
            SpreadOverClusters(MakeRows(SelectMarginQueries(p, 90)), cluster, 30));
}

TEST(KMeans, FindsClustersThatLieApart) {
  at::Tensor points = DrawNormalRows(60, 2, RngStream(1, Purpose::queries)) * 0.1;
  points.narrow(0, 20, 20).select(1, 0).add_(5);
  points.narrow(0, 40, 20).select(1, 1).add_(5);
  const Rows got = ComputeKMeansClusters(points, 3, RngStream(2, Purpose::queries));
  for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ(got[i], got[i / 20 * 20]);
  EXPECT_EQ((std::set<std::int64_t>{got[0], got[20], got[40]}.size()), 3U);
}

TEST(KMeans, EqualPointsAreOneCluster) {
  const Rows got = ComputeKMeansClusters(at::ones({5, 2}), 3, RngStream(1, Purpose::queries));
  EXPECT_EQ(got, Rows(5, got[0]));
}

TEST(SelectQueries, NeverAsksTwice) {
  const at::Tensor logits = LogitsFrom(9, 40, 4);
  const Rows asked = {3, 17, 18, 30};
  for (const Selection selection : {Selection::k_centre, Selection::random, Selection::margin, Selection::diverse}) {
    const Rows got = MakeRows(SelectQueries(selection, logits, 3, 36, RngStream(1, Purpose::queries), asked));
    std::set<std::int64_t> all(got.begin(), got.end());
    for (const std::int64_t row : asked) EXPECT_FALSE(all.contains(row));
    EXPECT_EQ(all.size(), 36U);
  }
}

// A student that knows little yet says nearly the same of all rows; another device rounds its logits otherwise.
TEST(SelectQueries, RoundingOfTheLogitsChoosesNoOtherRows) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RngStream stream(seed, Purpose::queries);
    const at::Tensor logits = LogitsFrom(seed, 1, 10) + LogitsFrom(seed + 100, 200, 10) * 0.02;
    const at::Tensor rounded = logits + LogitsFrom(seed + 200, 200, 10).sign() * 1e-7;
    ASSERT_FALSE(rounded.equal(logits));
    for (const Selection selection : {Selection::k_centre, Selection::margin, Selection::diverse})
      EXPECT_EQ(MakeRows(SelectQueries(selection, logits, 3, 40, stream)),
                MakeRows(SelectQueries(selection, rounded, 3, 40, stream)))
          << seed << ", selection " << static_cast<int>(selection);
  }
}

// CIFAR-10 at the paper's public fraction and query rate. Half a minute would be a tenth of what an epoch of the
// paper's networks takes on as few cores.
TEST(KCentre, SelectsThousandsWithoutRepeating) {
  const at::Tensor log_p = at::log_softmax(LogitsFrom(10, 40'000, 10) / 3, 1);
  const at::Tensor got = SelectKCentreQueries(log_p, 2'000, RngStream(1, Purpose::queries));
  EXPECT_EQ(std::get<0>(at::_unique(got)).numel(), 2'000);
}

}  // namespace
}  // namespace retort::worker
