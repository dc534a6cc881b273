// How an attempt ends without success, and what follows: whether and when its trial is tried again, and what becomes of
// the slots that it had.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "experiments/base/failure_kind.h"
#include "orchestrator/core/core.h"
#include "orchestrator/core/outbox.h"

namespace retort::orchestrator {

// Stands in the detail of a failure before the slot on which the trial failed as well.
inline constexpr const char* kFailedOnSlot = "; it failed on slot ";

// Ends an active attempt without success: its trial is queued again as the retry policy says, or fails for good, and
// its slots are free. All members are told to stop at once. A slot where enough different trials failed gets no more
// work. `reporter`: the rank whose worker failed; nothing where no rank reported it.
void FailAttempt(Core& core, AttemptId attempt, FailureKind failure, const std::string& detail, Now now, Outbox& outbox,
                 std::optional<WorldRank> reporter = std::nullopt);

// When a trial is tried again.

inline constexpr double kMaxBackoffSeconds = 60;

struct RetryDecision {
  bool retry = false;
  double wait_seconds = 0;
};

// Whether a retry that was set for `retry_at` is due at `now`, both Unix seconds. No retry waits longer than
// kMaxBackoffSeconds: what lies further ahead was set by a clock that has been put back since.
[[nodiscard]] inline bool IsRetryDue(double retry_at, double now) {
  return retry_at <= now || retry_at > now + kMaxBackoffSeconds;
}

// `failures` counts the trial's ended attempts by kind, the one of this `kind` included. Pure.
[[nodiscard]] RetryDecision DecideRetry(const std::map<FailureKind, int>& failures, FailureKind kind);

}  // namespace retort::orchestrator
