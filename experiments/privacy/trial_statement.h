// The privacy of one trial in a paragraph.
#pragma once

#include <string>
#include <vector>

#include "experiments/privacy/claim.h"

namespace retort::privacy {

// Whole sentences for a reader who knows no jargon: what left the private side (mechanism, count, noise,
// sampling), what is proven for people and under which neighbours, delta, accountant and assumptions, what is
// known about the other units, what the paper's formula says, and what no claim covers. Every epsilon stands
// with its unit, neighbour, delta and accountant. `events` are those charged in the trial's ledger; without a
// claim about one example the paragraph says that nothing is known.
[[nodiscard]] std::string TrialStatement(const TrialSpec& spec, const std::vector<Claim>& claims,
                                         const std::vector<PrivacyEvent>& events);

}  // namespace retort::privacy
