// Whether an attempt that failed is tried again, and when.
#pragma once

#include <map>

#include "experiments/spec/failure_kind.h"

namespace retort::orchestrator {

inline constexpr double kLongestBackoffSeconds = 60;

struct RetryDecision {
  bool retry = false;
  double wait_seconds = 0;
};

// Whether a retry that was set for `retry_at` is due at `now`, both Unix seconds. No retry waits longer than
// kLongestBackoffSeconds: what lies further ahead was set by a clock that has been put back since.
[[nodiscard]] inline bool RetryIsDue(double retry_at, double now) {
  return retry_at <= now || retry_at > now + kLongestBackoffSeconds;
}

// `failures` counts the trial's ended attempts by kind, the one of this `kind` included. Pure.
[[nodiscard]] RetryDecision DecideRetry(const std::map<FailureKind, int>& failures, FailureKind kind);

}  // namespace retort::orchestrator
