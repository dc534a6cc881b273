// A distribution over fixed buckets. A plain value: copy it to hand it to another thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace retort::monitoring {

class Histogram {
 public:
  Histogram() = default;
  // `bounds`: inclusive upper bounds in rising order; one more bucket has none.
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds.begin(), bounds.end()), counts_(bounds.size() + 1, 0) {}

  // `times` observations of `value`; NaN is none.
  void Observe(double value, std::uint64_t times = 1) {
    if (value != value || counts_.empty()) return;
    const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
    counts_[static_cast<std::size_t>(bucket)] += times;
    sum_ += value * static_cast<double>(times);
  }

  [[nodiscard]] const std::vector<double>& bounds() const { return bounds_; }
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }  // by bucket, not cumulated
  [[nodiscard]] double sum() const { return sum_; }
  bool operator==(const Histogram&) const = default;

 private:
  std::vector<double> bounds_;
  std::vector<std::uint64_t> counts_;
  double sum_ = 0;
};

}  // namespace retort::monitoring
