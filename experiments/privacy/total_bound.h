// What all releases of one private data set cost together, with everything that makes the number mean something.
#pragma once

#include <string>
#include <vector>

#include "experiments/privacy/composition.h"
#include "experiments/privacy/privacy_event.h"

namespace retort::privacy {

// TotalEpsilon (claim.h) with its accountant, and with its reason where it is infinite: a void or a name of reasons.h.
// `assumptions`, when not null, receives what it rests on. Epsilon 0 without an accountant where nothing was charged.
[[nodiscard]] Bound TotalBound(const std::vector<std::vector<PrivacyEvent>>& trials, double delta,
                               std::vector<std::string>* assumptions = nullptr);

}  // namespace retort::privacy
