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

// `failures` counts the trial's ended attempts by kind, the one of this `kind` included. Pure.
[[nodiscard]] RetryDecision DecideRetry(const std::map<FailureKind, int>& failures, FailureKind kind);

}  // namespace retort::orchestrator
