#include "experiments/privacy/withdrawn_claim.h"

#include <limits>
#include <utility>

namespace retort::privacy {

Claim Withdrawn(Claim claim, std::string reason) {
  claim.epsilon = std::numeric_limits<double>::infinity();
  claim.lower.reset();
  claim.status = ClaimStatus::unbounded;
  claim.accountant.clear();
  claim.assumptions.clear();
  claim.reason = std::move(reason);
  return claim;
}

}  // namespace retort::privacy
