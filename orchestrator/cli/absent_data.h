// Data sets whose files are not here, as they were published: enough for the rows and columns of a table.
#pragma once

#include "experiments/spec/trial_spec.h"

namespace retort::orchestrator::cli {

// Fills classes, shape, number of examples and the parts and fractions of the split from what is known of the set that
// its reader is for. Its digest stays empty, so that its trials are none that were ever run. What is known of no
// published set stays as the sweep file has it.
void AssumeAsPublished(DataSpec& data);

}  // namespace retort::orchestrator::cli
