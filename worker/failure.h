// An error together with how the orchestrator is to treat it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "experiments/spec/failure_kind.h"
#include "experiments/spec/status.h"

namespace retort::worker {

struct Failure {
  FailureKind kind = FailureKind::internal;
  std::string detail;
};

// What an error of the given stage means: usage is a configuration error and cancelled a stop whatever the
// stage; the rest is `otherwise`.
[[nodiscard]] Failure FailureOf(const Status& status, FailureKind otherwise);

// Calls `body`. The one place where exceptions of LibTorch end: failed allocations become out_of_memory,
// errors of the device device, everything else internal. Nothing when `body` returned nothing.
[[nodiscard]] std::optional<Failure> CatchTorch(const std::function<std::optional<Failure>()>& body);

}  // namespace retort::worker
