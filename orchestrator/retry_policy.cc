#include "orchestrator/retry_policy.h"

#include <algorithm>
#include <cmath>

namespace retort::orchestrator {

RetryDecision DecideRetry(const std::map<FailureKind, int>& failures, FailureKind kind) {
  const RetryRule rule = RetryRuleFor(kind);
  const auto found = failures.find(kind);
  const int ended = found == failures.end() ? 1 : found->second;
  if (ended >= rule.max_attempts) return {};
  // 2^60 times any back-off is past the cap.
  const double wait = std::ldexp(rule.backoff_seconds, std::min(ended - 1, 60));
  return {true, std::min(wait, kLongestBackoffSeconds)};
}

}  // namespace retort::orchestrator
