#include "worker/distill/vote_targets.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/one_hot.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace retort::worker {

double EstimateVoteGap(const at::Tensor& histograms, double noise, std::int64_t members, std::int64_t grain) {
  const auto classes = static_cast<double>(histograms.size(1));
  const auto most = static_cast<double>(members);
  if (histograms.size(1) < 2) return most;
  const at::Tensor h = histograms.to(at::kDouble) / static_cast<double>(grain);
  const double spread = (h - h.mean(1, true)).square().sum(1).mean().item<double>();
  const double signal = std::max(0.0, spread - (classes - 1) * noise * noise);
  return std::clamp(std::sqrt(signal * classes / (classes - 1)), most / 6, most);
}

at::Tensor VoteEvidence(const at::Tensor& histograms, double gap, double noise, std::int64_t grain) {
  return histograms.to(at::kFloat) * (gap / (noise * noise * static_cast<double>(grain)));
}

at::Tensor FirstVotes(const at::Tensor& histograms, const at::Tensor& candidates) {
  at::Tensor votes = histograms.to(at::kLong);
  if (candidates.defined())
    votes = votes.masked_fill(candidates.logical_not(), std::numeric_limits<std::int64_t>::min());
  return at::one_hot(votes.argmax(1), votes.size(1)).to(at::kFloat);
}

}  // namespace retort::worker
