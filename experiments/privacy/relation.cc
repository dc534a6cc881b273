#include "experiments/privacy/relation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numbers>
#include <optional>
#include <set>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/lattice_noise.h"
#include "experiments/privacy/accountants/rdp_accountant.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/accountants/selection.h"
#include "experiments/privacy/claim.h"

namespace retort::privacy {
namespace {

std::int64_t CountBatches(const PrivacyEvent& event) {
  if (event.unit == EventUnit::batch) return event.count;
  return event.count / event.rows_per_batch + (event.count % event.rows_per_batch != 0 ? 1 : 0);
}

// Normalised output gradients. S = sensitivity, the change of one row (2C). A changed row changes S of its
// own draw, or of its batch's sum; under a Frobenius norm it rescales the batch, whose rows then change by S
// in all and whose sum by sqrt(B) S. A changed teacher changes every row: B S in a sum of B normalised rows.
GaussianTerm GradientTerm(const PrivacyEvent& event, Adjacency adjacency) {
  GaussianTerm term;
  term.sensitivity = event.sensitivity;
  term.noise_std = event.noise_std;
  const bool shared = event.unit == EventUnit::batch;
  const std::int64_t rows = event.rows_per_batch;
  if (event.frobenius) {
    term.count = adjacency == Adjacency::answer ? 1 : CountBatches(event);
    term.factor = shared ? rows : 1;
  } else if (adjacency == Adjacency::answer) {
    term.count = 1;
  } else if (adjacency == Adjacency::slot) {
    term.count = CountBatches(event);
  } else {
    term.count = event.count;
    term.factor = shared ? rows * rows : 1;
  }
  return term;
}

// The whole number G in sensitivity = sqrt(2) G, or 0.
double VotesPerMember(const PrivacyEvent& event) {
  const double votes = event.sensitivity / std::sqrt(2.0);
  const double whole = std::round(votes);
  return whole >= 1 && std::abs(votes - whole) <= 1e-12 * whole ? whole : 0;
}

// Vote vectors of whole numbers >= 0 that add up to at most G: two of them differ by sqrt(2) G at most, one
// from zero by G. G is read back, so that its square is exact.
GaussianTerm VoteTerm(const PrivacyEvent& event, const Relation& relation) {
  GaussianTerm term;
  term.sensitivity = VotesPerMember(event);
  term.factor = relation.neighbour == Neighbour::zero_out ? 1 : 2;
  term.noise_std = event.noise_std;
  term.count = relation.adjacency == Adjacency::answer ? 1 : event.count;
  return term;
}

// A count that one unit moves by 1 at most: the largest one of a histogram, whichever class a vote moves to or is taken
// from, and that of the validation examples classified right.
GaussianTerm ThresholdTerm(const PrivacyEvent& event, const Relation& relation) {
  return {relation.adjacency == Adjacency::answer ? 1 : event.count, event.sensitivity, event.noise_std, 1};
}

// A member's normalised gradient has norm C = S / 2 at most: replaced it moves the sum by S, silenced by S / 2. The
// noise is that on the sum, or the member's own.
GaussianTerm MemberTerm(const PrivacyEvent& event, const Relation& relation) {
  GaussianTerm term;
  const double half = event.sensitivity / 2;
  const bool halved = relation.neighbour == Neighbour::zero_out && half + half == event.sensitivity;
  term.sensitivity = halved ? half : event.sensitivity;  // the least doubles have no half
  term.noise_std = event.noise_std;
  term.count = event.count;
  if (relation.adjacency == Adjacency::answer) term.count = 1;
  if (relation.adjacency == Adjacency::slot) term.count = CountBatches(event);
  return term;
}

bool TakesAll(const PrivacyEvent& event) {
  return event.kind == MechanismKind::subsampled_gaussian && event.sampling_rate == 1;
}

void AddResponse(const PrivacyEvent& event, Adjacency adjacency, Composition& sum) {
  std::int64_t count = event.count;
  if (adjacency == Adjacency::answer) count = 1;
  if (adjacency == Adjacency::slot) count = CountBatches(event);
  for (ResponseTerm& term : sum.responses) {
    if (term.epsilon0 != event.epsilon0 || count > std::numeric_limits<std::int64_t>::max() - term.count) continue;
    term.count += count;
    return;
  }
  sum.responses.push_back({event.epsilon0, count});
}

// A label is in one part; what is released of the others is not about it. Over the parts, the largest epsilon0 and
// the most releases of any, however they are recorded.
void AddLabels(const PrivacyEvent& event, std::map<std::int64_t, std::int64_t>& releases, Composition& sum) {
  std::int64_t& of_part = releases[event.noise_coordinates];
  of_part += std::min(CountBatches(event), std::numeric_limits<std::int64_t>::max() - of_part);
  if (sum.responses.empty()) sum.responses.push_back({event.epsilon0, of_part});
  sum.responses[0].epsilon0 = std::max(sum.responses[0].epsilon0, event.epsilon0);
  sum.responses[0].count = std::max(sum.responses[0].count, of_part);
}

bool IsAboutVotes(MechanismKind kind) {
  return kind == MechanismKind::noisy_votes || kind == MechanismKind::vote_threshold ||
         kind == MechanismKind::consensus_test;
}

// What a test of the cost releases. A neighbour moves the cost by the smooth sensitivity, and the margin, which is that
// many deviations, with it; in these units a thousandth, and a millionth of the smoothness, are more than the test's
// arithmetic is off (worker/release/consensus_test.cc), and drawing the noise in parts of 2^-12 deviations moves it by
// one of them at most.
TestTerm MakeTestTerm(const PrivacyEvent& event) {
  constexpr double kArithmetic = 1e-3, kSmoother = 1e-6, kParts = 0x1p-12;
  TestTerm term;
  term.smoothness = event.test.smoothness + kSmoother;
  term.noise = event.noise_std;
  term.moved = 1 + kArithmetic +
               event.noise_std * (kParts * std::exp(term.smoothness) + event.sensitivity * std::expm1(term.smoothness));
  term.count = event.count;
  return term;
}

// What one test, passed once, says of votes that are those it is about: of their noise, and no more thresholds than it
// saw queries that differ, so that none was held against its threshold twice (a lost attempt's would be).
std::optional<TestedCost> FindTestedCost(const Relation& relation, const std::vector<PrivacyEvent>& events) {
  if (relation.neighbour == Neighbour::add_remove || relation.adjacency == Adjacency::answer) return std::nullopt;
  const PrivacyEvent* test = nullptr;
  for (const PrivacyEvent& event : events) {
    if (event.kind != MechanismKind::consensus_test || event.count == 0) continue;
    if (test != nullptr || event.count != 1) return std::nullopt;
    test = &event;
  }
  if (test == nullptr) return std::nullopt;
  std::int64_t thresholds = 0, answers = 0;
  for (const PrivacyEvent& event : events) {
    if (event.count == 0 || event.kind == MechanismKind::consensus_test) continue;
    const bool threshold = event.kind == MechanismKind::vote_threshold;
    const bool answer = event.kind == MechanismKind::noisy_votes && VotesPerMember(event) == 1;
    if (!threshold && !answer) return std::nullopt;
    if (event.noise_std != (threshold ? test->test.threshold_noise : test->test.vote_noise)) return std::nullopt;
    std::int64_t& drawn = threshold ? thresholds : answers;
    if (event.count > test->test.queries - drawn) return std::nullopt;
    drawn += event.count;
  }
  if (answers > thresholds) return std::nullopt;
  return TestedCost{test->test.order, test->test.cost,
                    std::erfc(test->sensitivity / std::numbers::sqrt2) / 2 * (1 + 1e-9)};
}

// An ensemble's events bound what one member changes, and by disjoint shards one example.
bool AsksMembers(MechanismKind kind) {
  return IsAboutVotes(kind) || kind == MechanismKind::member_gradient || kind == MechanismKind::member_response;
}

bool StandsBeforeAnswers(MechanismKind kind) {
  return kind == MechanismKind::vote_threshold || kind == MechanismKind::consensus_test;
}

bool Applies(const PrivacyEvent& event, const Relation& relation) {
  const Adjacency adjacency = relation.adjacency;
  if (event.kind == MechanismKind::private_selection) return true;  // its candidates are asked one by one
  if (event.kind == MechanismKind::validation_count)
    return adjacency == Adjacency::example || adjacency == Adjacency::label;
  if (adjacency == Adjacency::label) return event.kind == MechanismKind::label_response;
  switch (event.kind) {
    case MechanismKind::label_response:
      return false;
    case MechanismKind::member_gradient:
      return adjacency != Adjacency::teacher;
    case MechanismKind::member_response:
      return adjacency != Adjacency::teacher && relation.neighbour != Neighbour::zero_out;
    case MechanismKind::noisy_votes:
    case MechanismKind::vote_threshold:
    case MechanismKind::consensus_test:
      return adjacency == Adjacency::answer || adjacency == Adjacency::member || adjacency == Adjacency::example;
    case MechanismKind::subsampled_gaussian:
      return adjacency == Adjacency::example;
    default:
      return true;
  }
}

// Steps of equal rate and noise, up to rounding, are one term, whose loss distribution is known: at the smaller noise.
void AddSampled(const SubsampledTerm& term, Composition& sum) {
  constexpr double kRounding = 1e-12;
  for (SubsampledTerm& other : sum.subsampled) {
    const bool alike = other.sampling_rate == term.sampling_rate &&
                       std::abs(other.multiplier - term.multiplier) <= kRounding * term.multiplier;
    if (!alike || other.steps > std::numeric_limits<std::int64_t>::max() - term.steps) continue;
    other.multiplier = std::min(other.multiplier, term.multiplier);
    other.steps += term.steps;
    return;
  }
  sum.subsampled.push_back(term);
}

// Where every step takes every example there is no sampling to gain by, and the Gaussian is exact: an example that is
// added moves the sum by the norm bound, one that is replaced by twice that.
void AddSteps(const PrivacyEvent& event, const Relation& relation, Composition& sum) {
  if (!TakesAll(event)) {
    const double multiplier = std::nextafter(event.noise_std / event.sensitivity, 0.0);
    AddSampled({event.sampling_rate, multiplier, event.count}, sum);
    return;
  }
  const std::int64_t factor = relation.neighbour == Neighbour::replace ? 4 : 1;
  sum.gaussian.push_back({event.count, event.sensitivity, event.noise_std, factor});
}

void AddTerm(const PrivacyEvent& event, const Relation& relation, Composition& sum) {
  switch (event.kind) {
    case MechanismKind::gaussian_gradient:
      sum.gaussian.push_back(GradientTerm(event, relation.adjacency));
      return;
    case MechanismKind::noisy_votes:
      sum.gaussian.push_back(VoteTerm(event, relation));
      return;
    case MechanismKind::vote_threshold:
    case MechanismKind::validation_count:
      sum.gaussian.push_back(ThresholdTerm(event, relation));
      return;
    case MechanismKind::consensus_test:
      sum.tests.push_back(MakeTestTerm(event));
      return;
    case MechanismKind::subsampled_gaussian:
      AddSteps(event, relation, sum);
      return;
    case MechanismKind::randomized_response:
    case MechanismKind::member_response:
      AddResponse(event, relation.adjacency, sum);
      return;
    case MechanismKind::member_gradient:
      sum.gaussian.push_back(MemberTerm(event, relation));
      return;
    case MechanismKind::label_response:     // AddLabels
    case MechanismKind::private_selection:  // AddSelection
    case MechanismKind::none:
    case MechanismKind::loss_noise:
      break;  // FindEventProblem has refused them
  }
  sum.unbounded = reason::kUnexpectedMechanism;
}

// The part of delta that goes to the ends of the event's noise. A lattice's rounding moves a draw by a step at most.
double FindMissing(const PrivacyEvent& event, const Relation& relation) {
  const double coordinates = static_cast<double>(event.release_coordinates) * static_cast<double>(event.rows_per_batch);
  const auto of = [&](const GaussianTerm& term) {
    const double moved = term.sensitivity * std::sqrt(static_cast<double>(term.factor)) + event.granularity;
    return ComputeMissingMass(static_cast<double>(term.count), coordinates, moved / term.noise_std, kGaussianReach);
  };
  switch (event.kind) {
    case MechanismKind::gaussian_gradient:
      return of(GradientTerm(event, relation.adjacency));
    case MechanismKind::member_gradient:
      return of(MemberTerm(event, relation));
    case MechanismKind::subsampled_gaussian:
      return of({event.count, event.sensitivity, event.noise_std, relation.neighbour == Neighbour::replace ? 4 : 1});
    case MechanismKind::noisy_votes: {
      const GaussianTerm term = VoteTerm(event, relation);  // one count or two, by G each
      const double shift = (term.sensitivity + 1) / event.noise_std;
      const double counts = static_cast<double>(term.factor) * static_cast<double>(term.count);
      return ComputeMissingMass(counts, coordinates, shift, kVoteReach);
    }
    case MechanismKind::consensus_test: {
      const TestTerm term = MakeTestTerm(event);
      return ComputeMissingMass(static_cast<double>(term.count), coordinates, term.moved / term.noise, kVoteReach);
    }
    case MechanismKind::vote_threshold:
    case MechanismKind::validation_count: {
      const GaussianTerm term = ThresholdTerm(event, relation);
      const double shift = (term.sensitivity + 1) / event.noise_std;
      return ComputeMissingMass(static_cast<double>(term.count), coordinates, shift, kVoteReach);
    }
    default:
      return 0;
  }
}

bool UnitFits(const PrivacyEvent& event) {
  switch (event.kind) {
    case MechanismKind::gaussian_gradient:
      return event.unit == EventUnit::row || event.unit == EventUnit::batch;
    case MechanismKind::noisy_votes:
    case MechanismKind::vote_threshold:
    case MechanismKind::consensus_test:
      return event.unit == EventUnit::vote;
    case MechanismKind::subsampled_gaussian:
      return event.unit == EventUnit::step;
    case MechanismKind::randomized_response:
    case MechanismKind::member_response:
    case MechanismKind::member_gradient:
    case MechanismKind::label_response:
      return event.unit == EventUnit::row;
    case MechanismKind::validation_count:
      return event.unit == EventUnit::batch;
    default:
      return true;
  }
}

// Noise on real numbers counts only on a lattice.
bool IsPowerOfTwo(double step) {
  int exponent = 0;
  return std::isfinite(step) && std::frexp(step, &exponent) == 0.5;
}

bool IsWholeTest(const VoteTest& test) {
  for (const double value : {test.cost, test.smoothness, test.threshold_noise, test.vote_noise})
    if (!(value > 0) || !std::isfinite(value)) return false;
  return test.order > 1 && std::isfinite(test.order) && test.queries >= 1;
}

std::string NoiseProblem(const PrivacyEvent& event) {
  for (const double scale : {event.sensitivity, event.noise_std}) {
    if (!std::isfinite(scale)) return std::string(reason::kNotFinite);
  }
  if (event.noise_std == 0) return std::string(reason::kNoNoise);
  if (event.noise_std < 0 || event.sensitivity <= 0) return std::string(reason::kBadEvent);
  const bool whole = IsAboutVotes(event.kind) || event.kind == MechanismKind::validation_count;
  if (!whole && !IsPowerOfTwo(event.granularity)) return std::string(reason::kBadEvent);
  if (event.kind == MechanismKind::noisy_votes && VotesPerMember(event) == 0) return std::string(reason::kBadEvent);
  // Members give one vote each where their first class is held against a threshold, and an example is right or wrong.
  const bool by_one = event.kind == MechanismKind::vote_threshold || event.kind == MechanismKind::validation_count;
  if (by_one && event.sensitivity != 1) return std::string(reason::kBadEvent);
  if (event.kind == MechanismKind::consensus_test && !IsWholeTest(event.test)) return std::string(reason::kBadEvent);
  if (event.release_coordinates <= 0) return std::string(reason::kBadEvent);
  if (event.noise_coordinates < event.release_coordinates) return std::string(reason::kBroadcastNoise);
  return "";
}

std::string SelectionProblem(const PrivacyEvent& event) {
  if (event.selection == nullptr || event.selection->candidates.empty()) return std::string(reason::kBadEvent);
  const DrawLaw& law = event.selection->law;
  const bool known = law.family == DrawFamily::poisson
                         ? MakePoissonDraws(law.mean).ok()
                         : MakeNegativeBinomialDraws(law.eta, law.gamma).ok() &&
                               law.mean >= ComputeMeanDraws(law.eta, law.gamma) * (1 - 1e-9);
  return known ? "" : std::string(reason::kBadEvent);
}

std::string ResponseProblem(const PrivacyEvent& event) {
  if (!std::isfinite(event.epsilon0)) return std::string(reason::kNotFinite);
  return event.epsilon0 > 0 && event.choices >= 2 ? "" : std::string(reason::kBadEvent);
}

}  // namespace

std::vector<PrivacyEvent> Aggregate(const std::vector<PrivacyEvent>& events) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::vector<PrivacyEvent> sums;
  for (const PrivacyEvent& event : events) {
    const auto same = std::find_if(sums.begin(), sums.end(),
                                   [&](const PrivacyEvent& sum) { return sum.SameMechanism(event) && sum.count >= 0; });
    if (same == sums.end() || event.count < 0)
      sums.push_back(event);
    else if (event.count > kMax - same->count)
      same->count = -1;
    else
      same->count += event.count;
  }
  return sums;
}

std::string FindEventProblem(const PrivacyEvent& event) {
  if (event.source == NoiseSource::seeded) return std::string(reason::kSeededNoise);
  if (event.kind == MechanismKind::none) return std::string(reason::kRawAnswers);
  if (event.kind == MechanismKind::loss_noise) return std::string(reason::kLossNoise);
  if (event.source == NoiseSource::none) return std::string(reason::kNoNoiseSource);
  if (event.source == NoiseSource::secure_float) return std::string(reason::kFloatNoise);
  constexpr std::int64_t kMaxRows = 1'000'000'000;  // so that B^2 fits
  if (event.count < 0 || event.rows_per_batch < 1 || event.rows_per_batch > kMaxRows || !UnitFits(event)) {
    return std::string(reason::kBadEvent);
  }
  if (std::isnan(event.sampling_rate)) return std::string(reason::kNotFinite);
  if (!(event.sampling_rate > 0 && event.sampling_rate <= 1)) return std::string(reason::kBadEvent);
  const bool response = event.kind == MechanismKind::randomized_response ||
                        event.kind == MechanismKind::member_response || event.kind == MechanismKind::label_response;
  if (event.kind == MechanismKind::private_selection) return SelectionProblem(event);
  return response ? ResponseProblem(event) : NoiseProblem(event);
}

PrivacyEvent RestrictToSlot(PrivacyEvent event, std::int64_t steps) {
  const bool remembers =
      event.kind == MechanismKind::randomized_response || event.kind == MechanismKind::member_response;
  if (!remembers || event.count <= 0 || event.rows_per_batch < 1) return event;
  event.count = std::max(CountBatches(event), std::min(event.count, steps));
  event.rows_per_batch = 1;
  return event;
}

std::string FindVoid(const PrivacyEvent& event, const Relation& relation) {
  const bool one_answer = relation.adjacency == Adjacency::answer || relation.adjacency == Adjacency::slot;
  const bool rests_on_training = relation.adjacency == Adjacency::member || relation.adjacency == Adjacency::example;
  const bool about_people = rests_on_training || relation.adjacency == Adjacency::label;
  for (const std::string& name : event.voids) {
    if (one_answer && name == kVoidGeneratorTouchedTeacher) continue;
    if (!rests_on_training && name == kVoidLoadedWeights) continue;
    if (!about_people && name == reason::kSharedExample) continue;
    return name;
  }
  return "";
}

std::string FindMissingFact(const PrivacyEvent& event, const Relation& relation) {
  const bool one_answer = relation.adjacency == Adjacency::answer || relation.adjacency == Adjacency::slot;
  for (const std::string& fact : ListNeededFacts(event.kind)) {
    if (fact == kFactIndependentMembers && one_answer) continue;
    if (fact == kFactDisjointShards && relation.adjacency != Adjacency::example) continue;
    if (fact == kFactStudentDrivesGenerator && one_answer) continue;
    if (fact == kFactUnboundedNoise && event.epsilon0 <= kMaxCutEpsilon0) continue;
    if (std::find(event.facts.begin(), event.facts.end(), fact) == event.facts.end()) return "unrecorded-" + fact;
  }
  return "";
}

namespace {

std::string_view OutOfReach(const PrivacyEvent& event, const Relation& relation) {
  if (event.kind == MechanismKind::label_response) return reason::kLabelsOnly;
  if (event.kind == MechanismKind::member_response && relation.neighbour == Neighbour::zero_out)
    return reason::kMissingAnswer;
  const bool members = event.kind == MechanismKind::member_gradient || event.kind == MechanismKind::member_response;
  return members ? reason::kAllMembers : reason::kUnexpectedMechanism;
}

// What a candidate charges for an example that it trains on, and for one that its score is measured on: no example is
// both (kFactValidationApart), so that neighbours differ in what one of the two is about. The second is empty where the
// score is public.
std::array<std::vector<PrivacyEvent>, 2> SplitByExamples(const std::vector<PrivacyEvent>& events) {
  std::array<std::vector<PrivacyEvent>, 2> parts;
  for (const PrivacyEvent& event : events)
    parts[event.kind == MechanismKind::validation_count ? 1 : 0].push_back(event);
  if (parts[0].empty()) std::swap(parts[0], parts[1]);
  return parts;
}

// The bases of one candidate, to `bases`. Returns why it has none; empty otherwise.
std::string AddCandidate(const std::vector<PrivacyEvent>& events, const Relation& relation,
                         std::set<std::string>& assumptions, std::vector<SelectionBase>& bases) {
  const std::size_t first = bases.size();
  for (const std::vector<PrivacyEvent>& part : SplitByExamples(events)) {
    if (part.empty() && bases.size() > first) continue;
    const Composition one = ComposeEvents(relation, part);
    if (!one.unbounded.empty()) return one.unbounded;
    for (const PrivacyEvent& own : part)
      if (own.count != 0)
        if (std::string missing = FindMissingFact(own, relation); !missing.empty()) return missing;
    Result<SelectionBase> base = MakeSelectionBase(one);
    if (!base.ok()) return base.status().message();
    bases.push_back(*std::move(base));
    assumptions.insert(one.assumptions.begin(), one.assumptions.end());
  }
  // Noise that ends ends for both.
  if (bases.size() == first + 2) bases[first].missing = bases[first + 1].missing += bases[first].missing;
  return "";
}

// The worst of what the candidates charge under the relation. One of them that has no bound, or lacks a fact, leaves
// none.
void AddSelection(const PrivacyEvent& event, const Relation& relation, std::set<std::string>& assumptions,
                  Composition& sum) {
  std::vector<SelectionBase> bases;
  for (const std::vector<PrivacyEvent>& events : event.selection->candidates) {
    sum.unbounded = AddCandidate(events, relation, assumptions, bases);
    if (!sum.unbounded.empty()) return;
  }
  assumptions.emplace(kAssumeHiddenDraws);
  sum.selections.push_back(
      std::make_shared<const SelectionTerm>(SelectionTerm{event.selection->law, SelectionPool(bases), event.count}));
}

}  // namespace

Composition ComposeEvents(const Relation& relation, const std::vector<PrivacyEvent>& events) {
  Composition sum;
  std::set<std::string> assumptions;
  std::map<std::int64_t, std::int64_t> releases;  // of labels, by their part
  for (const PrivacyEvent& event : events) {
    std::string problem = FindEventProblem(event);
    if (problem.empty()) problem = FindVoid(event, relation);
    if (problem.empty() && !Applies(event, relation)) problem = OutOfReach(event, relation);
    if (!problem.empty()) {
      sum.unbounded = problem;
      return sum;
    }
    if (event.count == 0) continue;
    if (event.kind == MechanismKind::private_selection)
      AddSelection(event, relation, assumptions, sum);
    else if (event.kind == MechanismKind::label_response)
      AddLabels(event, releases, sum);
    else
      AddTerm(event, relation, sum);
    if (!sum.unbounded.empty()) return sum;
    sum.missing += FindMissing(event, relation);
    assumptions.insert(event.assumptions.begin(), event.assumptions.end());
    if (event.kind == MechanismKind::subsampled_gaussian && !TakesAll(event))
      assumptions.emplace(kAssumePoissonSampling);
    if (AsksMembers(event.kind) && relation.adjacency == Adjacency::example) {
      assumptions.emplace(kAssumeDisjointShards);
    }
  }
  sum.tested = FindTestedCost(relation, events);
  sum.replace_one = relation.neighbour == Neighbour::replace;
  sum.assumptions.assign(assumptions.begin(), assumptions.end());
  return sum;
}

Bound ComputeRelationBound(const Relation& relation, const std::vector<PrivacyEvent>& events, double delta,
                           std::vector<std::string>* assumptions) {
  if (relation.adjacency != Adjacency::answer || events.size() <= 1) {
    const Composition sum = ComposeEvents(relation, events);
    if (assumptions != nullptr) *assumptions = sum.assumptions;
    return ComputeBound(sum, delta);
  }
  // An answer is in one event, and a test and a threshold may stand before it.
  std::vector<PrivacyEvent> thresholds, answers;
  for (const PrivacyEvent& event : events)
    if (event.count != 0) (StandsBeforeAnswers(event.kind) ? thresholds : answers).push_back(event);
  if (answers.empty() && !thresholds.empty()) {
    answers.push_back(thresholds.back());
    thresholds.pop_back();
  }
  Bound worst{-1, "", ""};
  for (const PrivacyEvent& event : answers) {
    std::vector<PrivacyEvent> together = thresholds;
    together.push_back(event);
    const Composition one = ComposeEvents(relation, together);
    Bound bound = ComputeBound(one, delta);
    if (!(bound.epsilon > worst.epsilon)) continue;
    worst = std::move(bound);
    if (assumptions != nullptr) *assumptions = one.assumptions;
  }
  if (worst.epsilon < 0) return ComputeBound(Composition(), delta);
  return worst;
}

std::string DescribeUnit(Adjacency adjacency) {
  switch (adjacency) {
    case Adjacency::example:
      return "one training example";
    case Adjacency::answer:
      return "one answer on one synthetic point";
    case Adjacency::slot:
      return "the answers on one synthetic slot over all steps";
    case Adjacency::teacher:
      return "the whole teacher";
    case Adjacency::member:
      return "one teacher of the ensemble";
    case Adjacency::label:
      return "one training example's label";
  }
  return "";
}

namespace {

// Why the event leaves a total without a bound, whatever it is composed with: what its trial's claims were denied for
// (ComputeChargedEvents) goes first.
std::string ProblemIn(const PrivacyEvent& event) {
  std::string problem = FindVoid(event, kExampleAdded);
  if (problem.empty()) problem = FindEventProblem(event);
  if (problem.empty() && event.count != 0) problem = FindMissingFact(event, kExampleAdded);
  return problem;
}

// Composes all trials for an added example; nothing when they charge nothing.
std::optional<Composition> ComposeTotal(const std::vector<std::vector<PrivacyEvent>>& trials) {
  std::vector<PrivacyEvent> all;
  for (const std::vector<PrivacyEvent>& events : trials) all.insert(all.end(), events.begin(), events.end());
  all = Aggregate(all);
  Composition unbounded;
  for (const PrivacyEvent& event : all)
    if (unbounded.unbounded.empty()) unbounded.unbounded = ProblemIn(event);
  if (!unbounded.unbounded.empty()) return unbounded;
  std::erase_if(all, [](const PrivacyEvent& event) { return event.count == 0; });
  if (all.empty()) return std::nullopt;
  return ComposeEvents(kExampleAdded, all);
}

// Returns the bound that a single trial which released all of it would claim.
Bound BoundIn(const Composition& sum, double delta) {
  if (sum.unbounded.empty() && sum.empty() && delta > 0 && delta < 1) return {0, "", ""};
  return ComputeBound(sum, delta);
}

}  // namespace

Bound ComputeTotalBound(const std::vector<std::vector<PrivacyEvent>>& trials, double delta,
                        std::vector<std::string>* assumptions) {
  const std::optional<Composition> sum = ComposeTotal(trials);
  if (!sum) return {0, "", ""};
  if (assumptions != nullptr) *assumptions = sum->assumptions;
  return BoundIn(*sum, delta);
}

double ComputeTotalEpsilon(const std::vector<std::vector<PrivacyEvent>>& trials, double delta) {
  return ComputeTotalBound(trials, delta).epsilon;
}

std::optional<double> FindTotalAboveBudget(const std::vector<std::vector<PrivacyEvent>>& trials, const Budget& budget) {
  const std::optional<Composition> sum = ComposeTotal(trials);
  if (!sum) return std::nullopt;
  // Any single order bounds the total. Whole orders are quick, and far below the cap one of them is enough.
  const double delta = ComputeRemainingDelta(*sum, budget.delta);
  if (sum->unbounded.empty() && sum->selections.empty() && delta > 0 && delta < 1) {
    const auto curve = MakeRdpCurve(*sum);
    for (const double order : {5.0, 9.0, 17.0, 3.0, 33.0, 2.0}) {
      const double epsilon = ConvertRdp(curve(order), order, delta, RdpConversion::canonne_kamath_steinke);
      if (RoundEpsilonUp(std::max(epsilon, 0.0)) <= budget.epsilon) return std::nullopt;
    }
  }
  const double total = BoundIn(*sum, budget.delta).epsilon;
  return total <= budget.epsilon ? std::nullopt : std::optional(total);
}

}  // namespace retort::privacy
