#include "worker/release/vote_shares.h"

#include <ATen/ATen.h>

#include "experiments/spec/status.h"

namespace retort::worker::release {

at::Tensor WholeShares(const at::Tensor& probabilities, std::int64_t grain) {
  RETORT_CHECK(grain >= 1);
  const auto whole = static_cast<double>(grain);
  const at::Tensor wanted =
      (probabilities * whole).floor().nan_to_num(0, whole, 0).clamp(0, whole).to(at::kLong);
  // Integers from here on: running sums that never fall and never pass G have differences >= 0 that add up to
  // the last of them.
  const at::Tensor spent = wanted.cumsum(-1).clamp_max(grain);
  at::Tensor shares = spent.clone();
  shares.slice(-1, 1).sub_(spent.slice(-1, 0, -1));
  return shares;
}

at::Tensor FirstLargest(const at::Tensor& logits) { return logits.argmax(-1); }

at::Tensor VoteShares(const at::Tensor& logits, std::int64_t grain) {
  if (grain == 1) return at::one_hot(FirstLargest(logits), logits.size(-1));
  return WholeShares(logits.softmax(-1), grain);
}

}  // namespace retort::worker::release
