// Why an attempt ended without a result. Append only: the numbers are in journals on disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retort {

enum class FailureKind : std::uint8_t {
  none = 0,
  worker_crash = 1,    // the worker process broke: SIGSEGV, SIGABRT, ..., or an unexpected exit
  worker_hang = 2,     // no step progress before the deadline
  out_of_memory = 3,   // host or device allocation failed
  not_finite = 4,      // a loss or parameter became NaN or infinite
  bad_message = 5,     // an envelope that does not decode
  disk = 6,            // a write to the results folder failed
  data = 7,            // a data file is missing, truncated or not what its digest says
  agent_lost = 8,      // the rank that supervised the worker is gone
  budget_refused = 9,  // the ledger refused a reservation
  configuration = 10,  // the trial can never run as specified
  spawn = 11,          // the worker program could not be started
  stopped = 12,        // asked to stop (signal, drain); state was saved
  internal = 13,       // an exception that no other kind describes
  gang_broken = 14,    // a member of the gang could not be reached
  device = 15,         // the device failed, or its context is poisoned
  worker_killed = 16,  // the worker process was killed from outside: SIGKILL, SIGTERM, ...
  crowded = 17,        // out of memory while more trials shared its device than it has slots
};

// How a failure is treated. `max_attempts` counts all attempts that ended with this kind for one
// trial; 1 means never retried. `backoff_seconds` is the wait before the first retry, doubled for
// each later one.
struct RetryRule {
  int max_attempts;
  double backoff_seconds;
};

// Whether either the trial or the place where it ran may have caused the failure, so that a second failure, of the same
// trial elsewhere or of another trial at that place, tells which. False where neither did, and where the trial is known
// to be the cause.
[[nodiscard]] bool IsAmbiguousFailure(FailureKind kind);

// Whether neither trial nor slot caused the failure. Such failures are retried often, and forgotten once the trial
// makes progress.
[[nodiscard]] bool IsExternalFailure(FailureKind kind);

[[nodiscard]] RetryRule FindRetryRule(FailureKind kind);
// snake_case name, stable: used as metric label, in JSON and in journals.
[[nodiscard]] std::string_view GetFailureName(FailureKind kind);
// Of every kind, `none` among them.
[[nodiscard]] std::vector<std::string> ListFailureNames();
[[nodiscard]] std::optional<FailureKind> ParseFailureName(std::string_view name);

}  // namespace retort
