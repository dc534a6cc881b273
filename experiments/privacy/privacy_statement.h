// Claims in words, for tables, terminals and reports.
#pragma once

#include <cstdint>
#include <string>

#include "experiments/privacy/claim.h"

namespace retort::privacy {

// The number alone with its mark: "2.997", "0.043†" (paper formula), "≥ 1.200" (audited), "∞".
[[nodiscard]] std::string EpsilonText(const Claim& claim);

// One line for a table:
//   ε ≤ 2.997 (example, add-remove, δ=1e-05, rdp)
//   ε = 0.043† (example, replace, δ=1e-05, paper:dpdfd-thm3, not a guarantee)
//   ε ≥ 1.200 (example, replace, δ=1e-05, 95 % audit)
//   ε = ∞ (seeded-noise; example, replace)
[[nodiscard]] std::string StatementLine(const Claim& claim);

// Sentences that say what the line means to a reader who knows no jargon.
[[nodiscard]] std::string StatementSentence(const Claim& claim);

// Rule: a delta above 1/N of the private examples lets a mechanism publish some of them whole. The warning,
// or empty. `examples` = size of the private training split.
[[nodiscard]] std::string DeltaWarning(const Claim& claim, std::int64_t examples);

}  // namespace retort::privacy
