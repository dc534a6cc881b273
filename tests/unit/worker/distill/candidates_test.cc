#include "worker/distill/response_targets.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

namespace retort::worker {
namespace {

using Set = std::vector<std::int64_t>;

Set Marked(const at::Tensor& row) {
  Set set;
  for (std::int64_t c = 0; c < row.numel(); ++c)
    if (row[c].item<bool>()) set.push_back(c);
  return set;
}

Set Likely(const std::vector<float>& p, double threshold) {
  return Marked(SelectLikelyCandidates(at::tensor(p).unsqueeze(0), threshold)[0]);
}

Set Top(const std::vector<float>& scores, std::int64_t k) {
  return Marked(SelectTopCandidates(at::tensor(scores).unsqueeze(0), k)[0]);
}

TEST(LikelyCandidates, AreTheClassesAboveTheThreshold) {
  EXPECT_EQ(Likely({0.1F, 0.4F, 0.2F, 0.3F}, 0.15), (Set{1, 2, 3}));
  EXPECT_EQ(Likely({0.25F, 0.25F, 0.25F, 0.25F}, 0.125), (Set{0, 1, 2, 3}));
}

TEST(LikelyCandidates, ProbabilityOfTheThresholdItselfIsNotAbove) {
  EXPECT_EQ(Likely({0.5F, 0.25F, 0.125F, 0.125F}, 0.125), (Set{0, 1}));
  EXPECT_EQ(Likely({0.4F, 0.25F, 0.25F, 0.1F}, 0.25), (Set{0, 1}));
}

TEST(LikelyCandidates, AreTheTwoMostLikelyWhereFewerPass) {
  EXPECT_EQ(Likely({0.96F, 0.01F, 0.02F, 0.01F}, 0.125), (Set{0, 2}));
  EXPECT_EQ(Likely({0.3F, 0.2F, 0.4F, 0.1F}, 0.9), (Set{0, 2})) << "none passes";
}

TEST(LikelyCandidates, OfEquallyLikelyClassesTheLowerGoesFirst) {
  EXPECT_EQ(Likely({0.25F, 0.25F, 0.25F, 0.25F}, 0.5), (Set{0, 1}));
  EXPECT_EQ(Likely({0.1F, 0.1F, 0.7F, 0.1F}, 0.5), (Set{0, 2}));
}

TEST(TopCandidates, AreTheMostLikelyK) {
  EXPECT_EQ(Top({-1, 3, 2, 0}, 2), (Set{1, 2}));
  EXPECT_EQ(Top({-1, 3, 2, 0}, 1), (Set{1}));
  EXPECT_EQ(Top({-1, 3, 2, 0}, 4), (Set{0, 1, 2, 3}));
}

TEST(TopCandidates, AreExactlyKWhereClassesTie) {
  EXPECT_EQ(Top({1, 1, 1, 1, 1}, 3), (Set{0, 1, 2}));
  EXPECT_EQ(Top({0, 2, 1, 1, 1}, 3), (Set{1, 2, 3}));
  const at::Tensor ties = SelectTopCandidates(at::zeros({50, 100}), 7);
  EXPECT_TRUE(ties.narrow(1, 0, 7).all().item<bool>());
  EXPECT_EQ(ties.sum().item<std::int64_t>(), 350);
}

TEST(TopCandidates, AreKOfThemWhateverTheStudentSays) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Top({nan, nan, 0, 1}, 2).size(), 2U);
  EXPECT_EQ(Top({-inf, -inf, -inf}, 2), (Set{0, 1}));
  EXPECT_GE(Likely({nan, nan, nan}, 0.1).size(), 2U);
}

TEST(ChooseCandidates, AreTheTopClassesAndThoseAboveTheThreshold) {
  const at::Tensor logits = at::tensor({0.4F, 0.3F, 0.2F, 0.1F}).log().unsqueeze(0);
  TrialSpec spec;
  EXPECT_EQ(Marked(ChooseCandidates(spec, logits)[0]), (Set{0, 1, 2})) << "1 / (2 classes) is 0.125";
  spec.release.threshold = 0.25;
  EXPECT_EQ(Marked(ChooseCandidates(spec, logits)[0]), (Set{0, 1}));
  spec.release.top_k = 3;
  EXPECT_EQ(Marked(ChooseCandidates(spec, logits)[0]), (Set{0, 1, 2})) << "three, whatever the threshold";
  spec.release.top_k = 2;
  spec.release.threshold = 0.15;
  EXPECT_EQ(Marked(ChooseCandidates(spec, logits)[0]), (Set{0, 1, 2})) << "two, and the third is above";
  spec.release.threshold = 0;
  EXPECT_EQ(Marked(ChooseCandidates(spec, logits)[0]), (Set{0, 1})) << "two exactly";
}

}  // namespace
}  // namespace retort::worker
