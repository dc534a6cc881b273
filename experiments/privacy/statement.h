// Claims in words, for tables, terminals and reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/privacy/claim.h"

namespace retort::privacy {

// Returns the number alone with its mark: "2.997", "0.043†" (paper formula), "≥ 1.200" (audited), "∞".
[[nodiscard]] std::string FormatEpsilon(const Claim& claim);

// Returns "1e-5", or "not stated" for a value that is quoted from a source without a delta.
[[nodiscard]] std::string FormatDelta(const Claim& claim);

// One line for a table:
//   ε ≤ 2.997 (example, add-remove, δ=1e-05, rdp)
//   ε = 0.043† (example, replace, δ=1e-05, paper:dpdfd-thm3, not a guarantee)
//   ε ≥ 1.200 (example, replace, δ=1e-05, 95 % audit)
//   ε = ∞ (seeded-noise; example, replace)
[[nodiscard]] std::string FormatStatementLine(const Claim& claim);

// Returns sentences that explain the line to a reader who knows no jargon.
[[nodiscard]] std::string FormatStatementSentence(const Claim& claim);

// A delta above 1/N of the private examples lets a mechanism publish some of them whole. Returns the warning, or empty.
// `examples` = size of the private training split.
[[nodiscard]] std::string FormatDeltaWarning(const Claim& claim, std::int64_t examples);

// Returns the privacy of one trial in a paragraph: whole sentences for a reader who knows no jargon: what left the
// private side (mechanism, count, noise, sampling), what is proven for people and under which neighbours, delta,
// accountant and assumptions, what is known about the other units, what the paper's formula says, and what no claim
// covers. Every epsilon stands with its unit, neighbour, delta and accountant. `events` are those charged in the
// trial's ledger; without a claim about one example the paragraph says that nothing is known.
[[nodiscard]] std::string WriteTrialStatement(const TrialSpec& spec, const std::vector<Claim>& claims,
                                              const std::vector<PrivacyEvent>& events);

}  // namespace retort::privacy
