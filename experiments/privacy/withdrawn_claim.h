// A guarantee that does not hold after all.
#pragma once

#include <string>

#include "experiments/privacy/claim.h"

namespace retort::privacy {

// The same relation and units without a bound, for `reason` (of reasons.h, or a sentence). Nothing of how the
// bound came about is left.
[[nodiscard]] Claim Withdrawn(Claim claim, std::string reason);

}  // namespace retort::privacy
