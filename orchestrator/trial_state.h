// The one closed state machine of trials.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace retort::orchestrator {

// Append only: in journals.
enum class TrialState : std::uint8_t {
  waiting = 1,  // for its teacher or its data
  queued = 2,
  leased = 3,
  running = 4,
  succeeded = 5,
  failed = 6,
  parent_failed = 7,
  cancelled = 8,  // by the user
};

enum class TrialEvent : std::uint8_t {
  parent_succeeded,
  parent_ended_badly,
  lease,
  started,
  progress,
  attempt_succeeded,
  attempt_failed_retry,
  attempt_failed_for_good,
  cancel,
  reopen,
};

// The state after `event`, or nothing when the pair is illegal.
[[nodiscard]] std::optional<TrialState> Next(TrialState state, TrialEvent event);
[[nodiscard]] std::string_view StateName(TrialState state);  // "waiting", ..., "parent-failed"
[[nodiscard]] std::optional<TrialState> ParseStateName(std::string_view name);
[[nodiscard]] bool IsFinal(TrialState state);

}  // namespace retort::orchestrator
