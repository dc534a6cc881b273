// Where a row came from, beyond its spec.
#pragma once

#include <string>

#include "orchestrator/service.h"

namespace retort::orchestrator {

// JSON object: version, build facts, host, processors, world size.
[[nodiscard]] std::string ProvenanceJson(const RunOptions& options, int world_size);

}  // namespace retort::orchestrator
