#include "worker/distill/vote_targets.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "experiments/base/status.h"
#include "worker/training/ridge_regression.h"

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

at::Tensor ComputeVoteEvidence(const at::Tensor& histograms, double gap, double noise, std::int64_t grain) {
  return histograms.to(at::kFloat) * (gap / (noise * noise * static_cast<double>(grain)));
}

at::Tensor PickMostVoted(const at::Tensor& histograms, const at::Tensor& candidates) {
  at::Tensor votes = histograms.to(at::kLong);
  if (candidates.defined())
    votes = votes.masked_fill(candidates.logical_not(), std::numeric_limits<std::int64_t>::min());
  return at::one_hot(votes.argmax(1), votes.size(1)).to(at::kFloat);
}

namespace {

constexpr double kMinSignal = 1e-3;     // over the noise, in variance
constexpr double kRounding = 1.0 / 12;  // variance of rounding to whole numbers

}  // namespace

Result<at::Tensor> RegressVotes(const at::Tensor& features, const at::Tensor& released, double noise) {
  RETORT_CHECK(noise >= 0 && released.size(0) <= features.size(0));
  const at::NoGradGuard no_grad;
  const at::Tensor asked = features.narrow(0, 0, released.size(0));
  const at::Tensor votes = (released - released.mean(1, true)).to(at::kDouble);
  const double varied = votes.square().mean().item<double>() / std::max(noise * noise, kRounding);
  const double strength = asked.square().sum(1).mean().item<double>() / std::max(varied - 1, kMinSignal);
  if (!(strength > 0 && std::isfinite(strength)))
    return UsageError("Votes cannot be regressed on features that are nothing, or where something is not finite.");
  const at::Tensor map = FitRidgeMap(asked, votes, strength);
  return at::matmul(features, map.to(features.device()).t());
}

namespace {

constexpr double kFirstTemperature = 1, kLastTemperature = 0.0625;  // of the mean standard deviation within a row
constexpr int kFittingRounds = 100;                                 // at each temperature
constexpr double kEven = 1e-6;                                      // tolerance of a class's share, in logarithms

// Adds to `shares` the softmax of a row's shifted scores.
void AddShares(const double* row, const std::vector<double>& shifts, double temperature, std::vector<double>& own,
               std::vector<double>& shares) {
  double most = row[0] + shifts[0];
  for (std::size_t c = 0; c < shifts.size(); ++c) most = std::max(most, row[c] + shifts[c]);
  double sum = 0;
  for (std::size_t c = 0; c < shifts.size(); ++c) sum += own[c] = std::exp((row[c] + shifts[c] - most) / temperature);
  for (std::size_t c = 0; c < shifts.size(); ++c) shares[c] += own[c] / sum;
}

// Raises every shift by the shortage of its class's share. Returns the largest shortage, in logarithms.
double Step(const at::Tensor& scores, double temperature, std::vector<double>& shifts) {
  const auto* values = scores.const_data_ptr<double>();
  const std::int64_t rows = scores.size(0), classes = scores.size(1);
  std::vector<double> own(shifts.size()), shares(shifts.size(), 0.0);
  for (std::int64_t r = 0; r < rows; ++r) AddShares(values + r * classes, shifts, temperature, own, shares);
  const double even = static_cast<double>(rows) / static_cast<double>(classes);
  double off = 0;
  for (std::size_t c = 0; c < shifts.size(); ++c) {
    const double missing = std::log(even / std::max(shares[c], 1e-300));
    shifts[c] += temperature * missing;
    off = std::max(off, std::abs(missing));
  }
  return off;
}

}  // namespace

at::Tensor AssignBalancedClasses(const at::Tensor& scores) {
  RETORT_CHECK(scores.dim() == 2 && scores.size(0) >= 1 && scores.size(1) >= 1);
  const at::NoGradGuard no_grad;
  const at::Tensor own = scores.cpu().to(at::kDouble).contiguous();
  const double spread = own.std(at::IntArrayRef{1}, false).mean().item<double>();
  std::vector<double> shifts(static_cast<std::size_t>(own.size(1)), 0.0);
  if (spread > 0)
    for (double part = kFirstTemperature; part >= kLastTemperature; part /= 2)
      for (int round = 0; round < kFittingRounds; ++round)
        if (Step(own, part * spread, shifts) < kEven) break;
  return (own + at::tensor(shifts, at::kDouble)).argmax(1).to(scores.device());
}

}  // namespace retort::worker
