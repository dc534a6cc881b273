// The bytes that a trial is identified by.
#pragma once

#include <string>

#include "experiments/base/ids.h"
#include "experiments/methods/trial_spec.h"

namespace retort {

// Length-prefixed, sorted keys, resolved values; only fields that are part of identity.
[[nodiscard]] std::string EncodeCanonically(const TrialSpec& spec);
[[nodiscard]] TrialId ComputeTrialId(const TrialSpec& spec);

}  // namespace retort
