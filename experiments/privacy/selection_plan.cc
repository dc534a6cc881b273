#include "experiments/privacy/selection_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "experiments/methods/methods.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/accountants/selection.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"

namespace retort::privacy {
namespace {

// More parameters than any network has: how many there are is known when it exists.
constexpr std::int64_t kManyCoordinates = std::int64_t{1} << 32;

bool Proves(const Relation& relation, const std::vector<PrivacyEvent>& events) {
  return std::all_of(events.begin(), events.end(), [&](const PrivacyEvent& event) {
    return ComposeEvents(relation, {event}).unbounded.empty() && FindMissingFact(event, relation).empty();
  });
}

// The same events as drawn by the operating system's entropy: what is checked of a seeded sweep, too.
std::vector<PrivacyEvent> AsIfSecure(std::vector<PrivacyEvent> events) {
  for (PrivacyEvent& event : events)
    if (event.source == NoiseSource::seeded) event.source = NoiseSource::secure_lattice;
  return events;
}

Result<std::vector<PrivacyEvent>> PlanCandidate(TrialSpec spec, std::int64_t lost_runs, double score_noise) {
  spec.execution.retries = lost_runs;
  RETORT_ASSIGN_OR_RETURN(std::vector<PrivacyEvent> events, PlanEventsWithRetries(spec));
  std::erase_if(events, [](const PrivacyEvent& event) { return event.count == 0; });
  for (PrivacyEvent& event : events)
    if (event.unit == EventUnit::step) event.noise_coordinates = event.release_coordinates = kManyCoordinates;
  if (score_noise == 0 || events.empty()) return events;
  spec.score_noise = score_noise;
  events.push_back(PlanScore(spec));
  events.back().Count(lost_runs);  // a run that is lost may have drawn a score that nobody knows
  return events;
}

Status CheckAlike(const TrialSpec& first, const TrialSpec& other) {
  const auto differ = [&](const std::string& what) {
    return UsageError("the candidates " + first.name + " and " + other.name + " have different " + what +
                      ": a selection has one");
  };
  if (first.data->digest != other.data->digest || first.data->name != other.data->name) return differ("data sets");
  if (first.privacy.delta != other.privacy.delta) return differ("delta");
  if (first.noise != other.noise) return differ("noise");
  if (first.devices != other.devices) return differ("numbers of devices");
  if (Releases(FindKind(first), ReleaseKind::labels) != Releases(FindKind(other), ReleaseKind::labels))
    return differ("adjacencies (one protects labels alone)");
  return {};
}

// Whether `event` costs no more than `own` under every relation, draw for draw: the same mechanism with no less noise.
bool IsCovered(const PrivacyEvent& event, const PrivacyEvent& own) {
  PrivacyEvent same = event;
  const bool facts = std::all_of(own.facts.begin(), own.facts.end(), [&](const std::string& fact) {
    return std::find(event.facts.begin(), event.facts.end(), fact) != event.facts.end();
  });
  same.facts = own.facts;
  const bool whole = event.noise_coordinates >= event.release_coordinates;
  if (own.unit == EventUnit::step && whole && event.release_coordinates <= own.release_coordinates) {
    same.noise_coordinates = own.noise_coordinates;
    same.release_coordinates = own.release_coordinates;
  }
  const auto moved = [](const PrivacyEvent& one) { return (one.sensitivity + one.granularity) / one.noise_std; };
  if (event.noise_std > own.noise_std && own.noise_std > 0 && moved(event) <= moved(own)) {
    same.noise_std = own.noise_std;
    same.granularity = own.granularity;
  }
  if (event.epsilon0 < own.epsilon0 && event.epsilon0 > 0) same.epsilon0 = own.epsilon0;
  return facts && same.SameMechanism(own);
}

// Of one candidate: empty where `charged` is no more than `planned`.
std::string FindUncoveredBy(const std::vector<PrivacyEvent>& planned, const std::vector<PrivacyEvent>& charged) {
  std::vector<std::int64_t> drawn(planned.size(), 0);
  for (const PrivacyEvent& event : charged) {
    if (!event.voids.empty()) return event.voids.front();
    const auto covers = [&event](const PrivacyEvent& own) { return IsCovered(event, own); };
    const auto found = std::find_if(planned.begin(), planned.end(), covers);
    if (found == planned.end()) return std::string(reason::kCandidateOutsidePlan);
    std::int64_t& sum = drawn[static_cast<std::size_t>(found - planned.begin())];
    if (event.count < 0 || event.count > found->count - sum) return std::string(reason::kCandidateOutsidePlan);
    sum += event.count;
  }
  return "";
}

// Adds a candidate, unless one that is kept costs as much under every relation; drops those that it costs as much as.
void KeepWorst(std::vector<PrivacyEvent> events, std::vector<std::vector<PrivacyEvent>>& kept) {
  const auto covers = [&](const std::vector<PrivacyEvent>& own) { return FindUncoveredBy(own, events).empty(); };
  if (std::any_of(kept.begin(), kept.end(), covers)) return;
  std::erase_if(kept, [&](const std::vector<PrivacyEvent>& own) { return FindUncoveredBy(events, own).empty(); });
  kept.push_back(std::move(events));
}

}  // namespace

Result<DrawLaw> MakeDrawLaw(const std::string& distribution, double mean, std::optional<double> eta) {
  if (distribution == "poisson") return MakePoissonDraws(mean);
  if (distribution == "geometric") return SolveNegativeBinomialDraws(1, mean);
  if (distribution == "logarithmic") return SolveNegativeBinomialDraws(0, mean);
  if (distribution != "truncated-negative-binomial" || !eta)
    return UsageError(
        "a distribution of K is poisson, geometric, logarithmic, or truncated-negative-binomial with eta");
  return SolveNegativeBinomialDraws(*eta, mean);
}

std::string RefuseCandidate(const TrialSpec& spec, double score_noise) {
  if (spec.parent && IsPostProcessing(FindKind(spec)))
    return "asks a teacher that is trained privately once for all of them, and candidates have to be drawn anew; "
           "students of one cost nothing beyond it: compare them with [sweep.search], or make the teacher's settings "
           "the candidates, as trials of the method dpsgd on its network";
  if (spec.role == Role::teacher || spec.parent)
    return "asks a teacher, which would be trained apart from its draw; candidates train on the private examples "
           "themselves, as dpsgd, dp-merf and lp-2st do";
  if (spec.data == nullptr) return "has no data set, and releases nothing that a claim covers";
  const ReleaseKind release = FindReleaseKind(FindKind(spec));
  if (release != ReleaseKind::steps && release != ReleaseKind::embedding && release != ReleaseKind::labels)
    return "has no proven claim of its own, so that none of the selection would be";
  if (spec.stop.metric == StopMetric::accuracy)
    return "stops by its accuracy on the test split, on which nothing may be chosen";
  if (score_noise > 0 && spec.data->ValidationExamples() == 0)
    return "has no validation examples to be measured on: give data." + spec.data->name +
           " a part split.validation, private examples apart from those of split.train";
  if (score_noise == 0 && spec.data->PublicExamples() == 0)
    return "has no public examples to be measured on: give data." + spec.data->name + " a public part of its split";
  return "";
}

std::string NameCandidate(const TrialSpec& spec) {
  if (!spec.name.empty()) return spec.name;
  std::string name = spec.role == Role::teacher ? spec.teacher : spec.method;
  for (const auto& [key, value] : spec.axes) name += " " + key + "=" + value;
  return name;
}

Status CheckEachCandidate(std::span<const TrialSpec> candidates, double score_noise) {
  for (const Role role : {Role::student, Role::teacher})
    for (const TrialSpec& spec : candidates) {
      if (spec.role != role) continue;
      if (const std::string why = RefuseCandidate(spec, score_noise); !why.empty())
        return UsageError("the candidate " + NameCandidate(spec) + " " + why);
    }
  return {};
}

Result<PrivacyEvent> PlanSelection(const DrawLaw& law, std::span<const TrialSpec> candidates, std::int64_t lost_runs,
                                   double score_noise) {
  auto selection = std::make_shared<PrivateSelection>();
  selection->law = law;
  std::set<std::string> seen;
  RETORT_RETURN_IF_ERROR(CheckEachCandidate(candidates, score_noise));
  for (const TrialSpec& spec : candidates) {
    RETORT_RETURN_IF_ERROR(CheckAlike(candidates.front(), spec));
    RETORT_ASSIGN_OR_RETURN(std::vector<PrivacyEvent> events, PlanCandidate(spec, lost_runs, score_noise));
    std::string key;
    for (const PrivacyEvent& event : events) key += EncodeEvent(event);
    if (!seen.insert(std::move(key)).second) continue;
    const std::vector<PrivacyEvent> drawn = AsIfSecure(events);
    if (events.empty() || (!Proves(kExampleAdded, drawn) && !Proves(kExample, drawn) && !Proves(kLabel, drawn)))
      return UsageError("the candidate " + spec.name +
                        " has no finite proven claim, so that the selection would have none");
    KeepWorst(std::move(events), selection->candidates);
    if (selection->candidates.size() > kMaxSelectionCosts)
      return Refused("the candidates cost more than " + std::to_string(kMaxSelectionCosts) +
                     " unlike amounts, all of which the ledger would have to hold; give fewer of them");
  }
  if (selection->candidates.empty()) return UsageError("there is no candidate to select from");
  PrivacyEvent event;
  event.kind = MechanismKind::private_selection;
  event.unit = EventUnit::batch;
  event.count = 1;
  event.source = candidates.front().noise == NoiseMode::seeded ? NoiseSource::seeded : NoiseSource::secure_lattice;
  event.selection = std::move(selection);
  return event;
}

std::vector<Claim> ComputeSelectionClaims(const TrialSpec& spec, const PrivacyEvent& selection) {
  return ComputeClaims({&spec, {}}, {selection});
}

double ComputeWorstCandidate(const Claim& claim, const PrivacyEvent& selection) {
  const Composition composition = ComposeEvents({claim.adjacency, claim.neighbour}, {selection});
  if (!composition.unbounded.empty() || composition.selections.empty()) return std::numeric_limits<double>::infinity();
  return ComputeCandidateEpsilon(composition.selections.front()->pool, claim.delta);
}

std::string FindUncovered(const PrivacyEvent& selection, const std::vector<PrivacyEvent>& charged, bool tells_score) {
  std::string why(reason::kBadEvent);
  if (selection.selection == nullptr) return why;
  const auto of_score = [](const PrivacyEvent& event) {
    return event.kind == MechanismKind::validation_count && event.count > 0;
  };
  if (tells_score && std::none_of(charged.begin(), charged.end(), of_score))
    return std::string(reason::kCandidateOutsidePlan);
  for (const std::vector<PrivacyEvent>& planned : selection.selection->candidates) {
    why = FindUncoveredBy(planned, charged);
    if (why.empty()) return why;
  }
  return why;
}

}  // namespace retort::privacy
