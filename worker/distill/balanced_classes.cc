#include "worker/distill/balanced_classes.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "experiments/spec/status.h"

namespace retort::worker {
namespace {

constexpr double kFirstTemperature = 1, kLastTemperature = 0.0625;  // of the mean standard deviation within a row
constexpr int kRounds = 100;                                        // at each temperature
constexpr double kEven = 1e-6;                                      // what a class's share may be off by, in logarithms

// Adds to `shares` the softmax of a row's shifted scores.
void AddShares(const double* row, const std::vector<double>& shifts, double temperature, std::vector<double>& own,
               std::vector<double>& shares) {
  double most = row[0] + shifts[0];
  for (std::size_t c = 0; c < shifts.size(); ++c) most = std::max(most, row[c] + shifts[c]);
  double sum = 0;
  for (std::size_t c = 0; c < shifts.size(); ++c) sum += own[c] = std::exp((row[c] + shifts[c] - most) / temperature);
  for (std::size_t c = 0; c < shifts.size(); ++c) shares[c] += own[c] / sum;
}

// Moves every shift by what its class's share is short of an even one. Returns the largest shortage, in logarithms.
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

at::Tensor BalancedClasses(const at::Tensor& scores) {
  RETORT_CHECK(scores.dim() == 2 && scores.size(0) >= 1 && scores.size(1) >= 1);
  const at::NoGradGuard no_grad;
  const at::Tensor own = scores.cpu().to(at::kDouble).contiguous();
  const double spread = own.std(at::IntArrayRef{1}, false).mean().item<double>();
  std::vector<double> shifts(static_cast<std::size_t>(own.size(1)), 0.0);
  if (spread > 0)
    for (double part = kFirstTemperature; part >= kLastTemperature; part /= 2)
      for (int round = 0; round < kRounds; ++round)
        if (Step(own, part * spread, shifts) < kEven) break;
  return (own + at::tensor(shifts, at::kDouble)).argmax(1).to(scores.device());
}

}  // namespace retort::worker
