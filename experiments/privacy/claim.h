// A claim: an epsilon with everything that makes it mean something.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/privacy_event.h"

namespace retort::privacy {

enum class Adjacency : std::uint8_t { example, answer, slot, teacher, member, label };
enum class Neighbour : std::uint8_t { replace, add_remove, zero_out, answer };
enum class ClaimStatus : std::uint8_t { proven, paper_formula, audited, unbounded };

struct Claim {
  Adjacency adjacency = Adjacency::example;
  Neighbour neighbour = Neighbour::replace;
  double delta = 0;
  double epsilon = std::numeric_limits<double>::infinity();  // rounded up to 3 decimals; inf = unbounded
  std::optional<double> lower;                               // other end of a bracket, or an audit's bound
  ClaimStatus status = ClaimStatus::unbounded;
  std::string units;       // what one unit is: "one training example", ...
  std::string accountant;  // "exact-gdp", "rdp", "paper:dpdfd-thm3", ...
  std::vector<std::string> assumptions;
  std::string reason;        // why unbounded, or where the bound comes from
  bool delta_stated = true;  // false: quoted from a source that names no delta, and `delta` is 0
  bool operator==(const Claim&) const = default;
};

[[nodiscard]] std::string_view GetAdjacencyName(Adjacency adjacency);  // "example", ...
[[nodiscard]] std::string_view GetNeighbourName(Neighbour neighbour);  // "replace", "add-remove", ...
[[nodiscard]] std::string_view GetStatusName(ClaimStatus status);      // "proven", "paper-formula", ...

// Contract form: {"adjacency","neighbour","delta","epsilon","lower","units","accountant","status",
// "assumptions","reason"}; infinity is the string "inf", and a delta that is not stated is null.
[[nodiscard]] std::string EncodeClaim(const Claim& claim);
// A proven claim of an earlier version that assumes `float-noise` comes back unbounded, with that reason; the formula
// of one label that an earlier version called a claim about an example comes back as one about the label. Error: usage,
// also without a delta, since no trial makes such a claim.
[[nodiscard]] Result<Claim> DecodeClaim(const std::string& json);

// The same relation and units without a bound, for `reason` (of reasons.h, or a sentence). Nothing of how the bound
// came about is left.
[[nodiscard]] Claim WithdrawClaim(Claim claim, std::string reason);

}  // namespace retort::privacy
