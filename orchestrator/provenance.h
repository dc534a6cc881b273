// Where a row came from, beyond its spec.
#pragma once

#include <string>

#include "orchestrator/service.h"

namespace retort::orchestrator {

// JSON object: version, build facts, host, machine, processors, devices, world size, slots, and when the run has to
// stop: `work_ends`, in Unix seconds, 0 = never. RunTerms (run_terms.h) reads it.
[[nodiscard]] std::string ProvenanceJson(const RunOptions& options, int world_size, double work_ends = 0);

}  // namespace retort::orchestrator
