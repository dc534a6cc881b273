// Failures of an attempt: an error together with how the orchestrator is to treat it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "experiments/base/failure_kind.h"
#include "experiments/base/status.h"

namespace retort::worker {

struct Failure {
  FailureKind kind = FailureKind::internal;
  std::string detail;
};

// The failure that an error means: usage is a configuration error and cancelled a stop whatever the
// stage; the rest is `otherwise`.
[[nodiscard]] Failure MakeFailure(const Status& status, FailureKind otherwise);

// The failure that follows where an answer could not be copied or written down: of the device that it was on, else of
// the disk.
[[nodiscard]] Failure MakeReleaseFailure(const Status& status);

// Calls `body`. The one place where exceptions of LibTorch end: failed allocations become out_of_memory,
// errors of the device device, everything else internal. Nothing when `body` returned nothing.
[[nodiscard]] std::optional<Failure> CatchTorch(const std::function<std::optional<Failure>()>& body);

}  // namespace retort::worker
