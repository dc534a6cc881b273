// Private selection: K candidates are drawn with replacement, and the best one alone is released. Two bounds on what
// that costs, from what one candidate costs.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "experiments/privacy/accountants/composition.h"
#include "experiments/privacy/accountants/selection_draws.h"
#include "experiments/privacy/accountants/selection_pool.h"

namespace retort::privacy {

struct SelectionEpsilon {
  double epsilon = std::numeric_limits<double>::infinity();  // >= 0, not rounded to thousandths
  std::string how;                                           // the orders, or how many slopes
  std::string reason;                                        // of reasons.h, where epsilon is infinite
};

// Returns RDP of the selection at one order > 1 [Papernot-Steinke 2022, theorem 2; theorem 6, with what K = 0 adds].
// Infinity where a candidate has none.
[[nodiscard]] double ComputeSelectionRdp(const DrawLaw& law, const SelectionPool& pool, double order);

// Returns a bound on the hockey-stick divergence of the selection at epsilon >= 0, from that of the candidates. Any
// `target` in (0, 1) gives a valid one; it is tight where it is about `target`.
[[nodiscard]] double ComputeSelectionDelta(const DrawLaw& law, const SelectionPool& pool, double epsilon,
                                           double target);

// Each returns epsilon at delta by one of these. What noise with an end and a K beyond kMaxDrawnCandidates give away is
// taken off delta.
[[nodiscard]] SelectionEpsilon SelectByRdp(const DrawLaw& law, const SelectionPool& pool, double delta);
[[nodiscard]] SelectionEpsilon SelectByProfile(const DrawLaw& law, const SelectionPool& pool, double delta);

// Returns epsilon at delta of one candidate, the worst: what the selection is to be compared with. Infinity where there
// is none up to 10^5.
[[nodiscard]] double ComputeCandidateEpsilon(const SelectionPool& pool, double delta);

// Returns the lesser of both, rounded up: accountant "selection-profile" or "selection-rdp".
[[nodiscard]] Bound ComputeSelectionBound(const DrawLaw& law, const SelectionPool& pool, double delta);

// Selections as terms of a composition.
struct SelectionTerm {
  DrawLaw law;
  SelectionPool pool;
  std::int64_t count = 1;
};

// Returns a bound on the probability that what was drawn is not of the laws as they are meant: K and noise have ends.
[[nodiscard]] double ComputeSelectionDistance(const SelectionTerm& term);

}  // namespace retort::privacy
