// A claim: an epsilon with everything that makes it mean something.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/privacy/privacy_event.h"
#include "experiments/spec/trial_spec.h"

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
  std::string reason;  // why unbounded, or where the bound comes from
  bool operator==(const Claim&) const = default;
};

[[nodiscard]] std::string_view AdjacencyName(Adjacency adjacency);  // "example", ...
[[nodiscard]] std::string_view NeighbourName(Neighbour neighbour);  // "replace", "add-remove", ...
[[nodiscard]] std::string_view StatusName(ClaimStatus status);      // "proven", "paper-formula", ...

// Contract form: {"adjacency","neighbour","delta","epsilon","lower","units","accountant","status",
// "assumptions","reason"}; infinity is the string "inf".
[[nodiscard]] std::string EncodeClaim(const Claim& claim);
// A proven claim of an earlier version that assumes `float-noise` comes back unbounded, with that reason.
[[nodiscard]] Result<Claim> DecodeClaim(const std::string& json);

// What the accountant is told about the trial; never the noise, which comes from the events alone.
struct ClaimContext {
  const TrialSpec* spec = nullptr;
  std::vector<Claim> teacher_claims;  // of the parent teacher; empty when there is none
};

// The events that the trial will cause if nothing fails, for planning and calibration.
[[nodiscard]] Result<std::vector<PrivacyEvent>> PlannedEvents(const TrialSpec& spec);

// The same with what spec.retries lost attempts may charge beside it: a block each of reserve_block releases, and none
// beyond what the plan draws. Calibration solves for these.
[[nodiscard]] Result<std::vector<PrivacyEvent>> EventsWithRetries(const TrialSpec& spec);

// Every claim that applies: the paper's formula, and for each adjacency the proven one or the reason
// there is none. Fails closed: what cannot be bounded is unbounded, with its reason.
// Planning many trials: see class Accountant (accountant.h), which remembers equal ones.
[[nodiscard]] std::vector<Claim> ClaimsFor(const ClaimContext& context,
                                           const std::vector<PrivacyEvent>& events);

// Fills sigma, noise_multiplier, vote_noise or steps from (claim, epsilon, delta) by
// `calibrate` (contracts: calibration of an epsilon axis). No-op when calibrate is none. Solved noise is
// rounded up to nine digits, solved counts down. noise = "seeded" calibrates as secure noise does, although
// the run's claims stay unbounded. Sweeps: see class Calibrator (calibration.h), which remembers equal
// trials. Error: usage, naming the key and why the combination cannot be met.
[[nodiscard]] Status CalibrateTrial(TrialSpec& spec);

// The trial's events as every total of its private data set takes them, by the rules that its claims follow: none where
// it only asks a teacher whose own training carries a proven `example` claim, since that training is charged by itself;
// each void, with the reason, where releases of such a trial have no finite `example` claim. Those of a trial that nobody
// knows are void, too.
[[nodiscard]] std::vector<PrivacyEvent> ChargedEvents(const ClaimContext& context,
                                                      const std::vector<PrivacyEvent>& events);

// The events with `reason` (of reasons.h, or a void) as the first of their voids: no total with one of them is finite.
[[nodiscard]] std::vector<PrivacyEvent> Voided(std::vector<PrivacyEvent> events, std::string_view reason);

// Takes from `claims`, which the trial was given before, those proven ones that cannot hold by its events and today's
// rules (of a row that an older program wrote, whose ledger lacks a fact). Whether there was one. No events: nothing is
// looked at.
bool WithdrawUnsupported(const ClaimContext& context, const std::vector<PrivacyEvent>& events,
                         std::vector<Claim>& claims);

// Total over all charged events of one private data set, for the adjacency `example`, where an example's place
// is filled or stays empty (a bound on a replaced member holds there, though not where later examples move up): the bound
// of their composition (composition.h), so that one trial costs what it claims. 0 for no events. Infinity when any event
// is unbounded. Pass each trial's ChargedEvents. See TotalBound (total_bound.h) for what goes with it.
[[nodiscard]] double TotalEpsilon(const std::vector<std::vector<PrivacyEvent>>& trials, double delta);

// TotalEpsilon at budget.delta where it is above budget.epsilon, nothing where it is not; the sooner known
// the further below it is.
[[nodiscard]] std::optional<double> TotalEpsilonOver(const std::vector<std::vector<PrivacyEvent>>& trials,
                                                     const Budget& budget);

}  // namespace retort::privacy
