// When the batch system takes the machine away, as the environment says it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/spec/status.h"

namespace retort::cluster {

struct AllocationEnd {
  double unix_seconds = 0;
  std::string named_by;  // the variable that says so
};

// Kept free between the end of the grace period and that of the allocation: to write the results, to end MPI.
inline constexpr double kClosingSeconds = 15;

// RETORT_END_TIME, which the scripts in cluster/launch set where the batch system itself names no time, else
// SLURM_JOB_END_TIME: both in Unix seconds. Nothing outside an allocation and in one without a limit.
// Error: usage, for a RETORT_END_TIME that is no time.
[[nodiscard]] Result<std::optional<AllocationEnd>> FindAllocationEnd(
    const std::vector<std::string>& environment);

// How long work may go on from `now` (Unix seconds) so that `grace_seconds` and kClosingSeconds are left;
// not above zero when they are not.
[[nodiscard]] double WorkSeconds(const AllocationEnd& end, double now, double grace_seconds);

}  // namespace retort::cluster
