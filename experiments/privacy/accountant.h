// Claims of many trials: equal ones are computed once.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "experiments/privacy/claim.h"

namespace retort::privacy {

// Remembers results of ClaimsFor; nothing else. Not thread-safe.
class Accountant {
 public:
  // As the free ClaimsFor. The reference stays valid until the accountant is destroyed.
  [[nodiscard]] const std::vector<Claim>& ClaimsFor(const ClaimContext& context,
                                                    const std::vector<PrivacyEvent>& events);
  [[nodiscard]] std::size_t computed() const { return known_.size(); }

 private:
  std::unordered_map<std::string, std::vector<Claim>> known_;
};

}  // namespace retort::privacy
