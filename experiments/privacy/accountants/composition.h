// The releases of a trial as terms that one neighbouring relation sees, and the epsilon of their composition.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/privacy/accountants/exact_gdp.h"

namespace retort::privacy {

struct SubsampledTerm {
  double sampling_rate = 1;  // Poisson q in (0, 1]
  double multiplier = 0;     // noise standard deviation over sensitivity
  std::int64_t steps = 0;
};

// Randomised response over an adaptively chosen set, accounted at two choices, the worst case.
struct ResponseTerm {
  double epsilon0 = 0;
  std::int64_t count = 0;
};

// Tests of what votes cost, by noise that goes by a smooth sensitivity (vote_costs.h, SmoothGaussianRdp).
struct TestTerm {
  double smoothness = 0;
  double noise = 0;
  double moved = 0;
  std::int64_t count = 0;
};

// What a test that was passed says of all Gaussian terms together: RDP of `order` and of lower ones at most `cost`, but
// for votes that pass with probability `missing` although they cost more.
struct TestedCost {
  double order = 0;
  double cost = 0;
  double missing = 0;
};

struct SelectionTerm;  // selection.h

struct Composition {
  std::vector<GaussianTerm> gaussian;
  std::vector<SubsampledTerm> subsampled;
  std::vector<ResponseTerm> responses;
  std::vector<TestTerm> tests;
  std::vector<std::shared_ptr<const SelectionTerm>> selections;
  std::optional<TestedCost> tested;
  // Of subsampled terms: false, an example is added or removed; true, it is replaced, which RDP takes for one
  // removal and one addition.
  bool replace_one = false;
  double missing = 0;                    // part of delta that noise with an end gives away (lattice_noise.h)
  std::string unbounded;                 // a reason; empty = every term above is valid
  std::vector<std::string> assumptions;  // sorted, each once

  [[nodiscard]] bool empty() const {
    return gaussian.empty() && subsampled.empty() && responses.empty() && tests.empty() && selections.empty();
  }
};

struct Bound {
  double epsilon = 0;  // rounded up to 3 decimals; infinity = unbounded
  // "exact-gdp", "exact-lattice", "pld", "rdp", "rdp-group-of-2", "rdp-tested", "selection-profile", "selection-rdp";
  // empty when unbounded
  std::string accountant;
  std::string reason;  // where the bound comes from, or why there is none
};

inline constexpr std::int64_t kMaxPldSteps = 1'000'000;  // beyond, searches among its transforms take seconds

// Fails closed: infinity with its reason for anything undefined. Gaussian terms alone are exact GDP, equal
// response terms alone an exact lattice. Of everything else the least of: summed RDP, converted once; the composed loss
// distribution, of one subsampled term alone that has kMaxPldSteps at most; steps counted as if they sampled
// everything, where no response is among them; what a test says of the Gaussian terms, where there is nothing but these
// and the test. A selection alone has the lesser of its two bounds (selection.h), one with anything else its RDP.
[[nodiscard]] Bound ComputeBound(const Composition& composition, double whole_delta);

// Returns the part of delta that is left for the losses of ideal noise, rounded down; 0 where that is less than half.
[[nodiscard]] double ComputeRemainingDelta(const Composition& composition, double delta);

// Summed RDP of all terms at an order > 1.
[[nodiscard]] std::function<double(double)> MakeRdpCurve(const Composition& composition);

}  // namespace retort::privacy
