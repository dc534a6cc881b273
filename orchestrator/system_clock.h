// The process's clocks, read in one place.
#pragma once

#include "orchestrator/core.h"

namespace retort::orchestrator {

[[nodiscard]] Now ReadClocks();

}  // namespace retort::orchestrator
