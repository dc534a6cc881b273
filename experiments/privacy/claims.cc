#include "experiments/privacy/claims.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/methods/methods.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/claim.h"
#include "experiments/privacy/paper_formulas.h"
#include "experiments/privacy/parameter_key.h"
#include "experiments/privacy/relation.h"

namespace retort::privacy {
namespace {

// Whether the trial reaches private examples through its teacher's answers alone, so that it is post-processing of the
// teacher. An unknown void may be a second way to the private examples.
bool IsPostProcessingOfTeacher(const TrialSpec& spec, const std::vector<PrivacyEvent>& events) {
  constexpr std::array kOfTheTeacher = {kVoidTeacherJacobian, kVoidGeneratorTouchedTeacher, kVoidSoftOutput,
                                        kVoidSupportLeak, kVoidNoiseReused};
  const TrialKind kind = FindKind(spec);
  if (!AsksTeacher(kind) || Releases(kind, ReleaseKind::votes) || TakesRawAnswers(kind)) return false;
  if (spec.source == QuerySource::private_split) return false;
  constexpr std::array kAnswers = {MechanismKind::none, MechanismKind::gaussian_gradient,
                                   MechanismKind::randomized_response, MechanismKind::loss_noise};
  return std::all_of(events.begin(), events.end(), [&](const PrivacyEvent& event) {
    const bool answers = std::find(kAnswers.begin(), kAnswers.end(), event.kind) != kAnswers.end();
    return answers && std::all_of(event.voids.begin(), event.voids.end(), [&](const std::string& name) {
             return std::find(kOfTheTeacher.begin(), kOfTheTeacher.end(), name) != kOfTheTeacher.end();
           });
  });
}

// Whether the test split chose when training stopped, of the trial or of its teacher.
bool IsSelectedOnTest(const TrialSpec& spec, const std::vector<Claim>& teacher) {
  return spec.stop.metric == StopMetric::accuracy ||
         std::any_of(teacher.begin(), teacher.end(), [](const Claim& claim) {
           return std::binary_search(claim.assumptions.begin(), claim.assumptions.end(), kSelectedOnTest);
         });
}

// Adds this to what the claims assume.
void AddSelectionAssumption(std::vector<Claim>& claims) {
  for (Claim& claim : claims) {
    std::vector<std::string>& names = claim.assumptions;
    const auto place = std::lower_bound(names.begin(), names.end(), kSelectedOnTest);
    if (place == names.end() || *place != kSelectedOnTest) names.insert(place, std::string(kSelectedOnTest));
  }
}

// Returns why a trial that releases nothing of its own has no bound for an example: a name of reasons.h.
std::string_view ExplainMissingRelease(const TrialSpec& spec) {
  const TrialKind kind = FindKind(spec);
  if (IsLoaded(kind)) return reason::kLoadedWeights;
  if (TakesRawAnswers(kind)) return reason::kRawAnswers;
  if (IsSleeper(kind) || !Releases(kind, ReleaseKind::none)) return reason::kUnexpectedMechanism;
  if (IsEnsemble(kind) && ShardsDependOnExamples(spec)) return reason::kShardsFollowExamples;
  return reason::kNotPrivatelyTrained;
}

bool IsProven(const Claim& claim) {
  return claim.status == ClaimStatus::proven && std::isfinite(claim.epsilon) && claim.epsilon >= 0;
}

// Writes the claims of one trial.
class ClaimWriter {
 public:
  ClaimWriter(const ClaimContext& context, std::vector<PrivacyEvent> events)
      : spec_(*context.spec), parents_(context.teacher_claims), events_(std::move(events)) {
    seeded_ = (spec_.noise == NoiseMode::seeded && !IsLoaded(FindKind(spec_))) ||
              std::any_of(events_.begin(), events_.end(),
                          [](const PrivacyEvent& event) { return event.source == NoiseSource::seeded; });
    // A student without noise of its own depends on its teacher's noise.
    const bool silent = IsPostProcessing(FindKind(spec_)) ||
                        (Releases(FindKind(spec_), ReleaseKind::losses) && spec_.reading == Reading::sound);
    if (silent && ParentReason() == reason::kSeededNoise) seeded_ = true;
  }

  [[nodiscard]] std::vector<Claim> Write();
  // Returns why no claim of the trial can hold under the relation, an inherited one included, whatever its parameters
  // are; empty when nothing prevents it. Quick: nothing is accounted.
  [[nodiscard]] std::string FindObstacle(const Relation& relation) const;
  // The teacher's claim, where the trial does nothing but ask it.
  [[nodiscard]] std::optional<Claim> Inherited(const Relation& relation) const;

 private:
  [[nodiscard]] Claim Blank(const Relation& relation) const;
  [[nodiscard]] Claim Unbounded(const Relation& relation, std::string_view why) const;
  [[nodiscard]] Claim Proven(const Relation& relation) const;
  // The same for the trial's own releases under the relation itself.
  [[nodiscard]] std::string FindProblem(const Relation& relation) const;
  // The same for one example, which may rest on another relation.
  [[nodiscard]] std::string ExampleProblem() const;
  // Why what holds for the teacher does not hold for one of its examples.
  [[nodiscard]] std::string ExampleOfTeacherProblem() const;
  // Returns each event with what the relation sees of it.
  [[nodiscard]] std::vector<PrivacyEvent> RestrictEvents(const Relation& relation) const;
  [[nodiscard]] std::string FindMissing(const PrivacyEvent& event, const Relation& relation) const;
  [[nodiscard]] Claim PaperClaim() const;
  // Returns the smaller of the claim by the trial's own releases and the claim by its teacher's training.
  [[nodiscard]] Claim ChooseBetter(Claim own, const Relation& relation) const;
  [[nodiscard]] bool EnsembleParent() const;
  // Why the teacher's `example` claim has no bound; empty when it has one or there is no teacher.
  [[nodiscard]] std::string_view ParentReason() const;
  // Whether the teacher was loaded, by its own claims or by what the ledger says of its answers.
  [[nodiscard]] bool LoadedParent() const;
  // An example of an ensemble: what it changes is one member where shards are fixed by index.
  [[nodiscard]] Claim ExampleOfMember() const;
  [[nodiscard]] std::string MemberExampleProblem() const;
  void WriteDistillation(std::vector<Claim>& claims) const;
  void WriteVotes(std::vector<Claim>& claims) const;
  void WriteMembers(std::vector<Claim>& claims) const;

  const TrialSpec& spec_;
  const std::vector<Claim>& parents_;
  std::vector<PrivacyEvent> events_;
  bool seeded_ = false;
};

Claim ClaimWriter::Blank(const Relation& relation) const {
  Claim claim;
  claim.adjacency = relation.adjacency;
  claim.neighbour = relation.neighbour;
  claim.delta = spec_.privacy.delta;
  claim.units = DescribeUnit(relation.adjacency);
  return claim;
}

Claim ClaimWriter::Unbounded(const Relation& relation, std::string_view why) const {
  Claim claim = Blank(relation);
  claim.reason = seeded_ ? reason::kSeededNoise : why;
  return claim;
}

std::vector<PrivacyEvent> ClaimWriter::RestrictEvents(const Relation& relation) const {
  std::vector<PrivacyEvent> seen = events_;
  if (relation.adjacency == Adjacency::slot)
    for (PrivacyEvent& event : seen) event = RestrictToSlot(std::move(event), spec_.steps);
  return seen;
}

std::string ClaimWriter::FindProblem(const Relation& relation) const {
  if (seeded_) return std::string(reason::kSeededNoise);
  if (AsksNoTeacher(spec_) && events_.empty()) return "";
  // Asked about the teacher's answers on private images, the trial also releases the images' own traces.
  constexpr KindMask kTrainedOnPrivate = kinds::kDpsgd | kinds::kMerf | kinds::kLabel;
  const bool private_queries =
      (MakeMask(FindKind(spec_)) & kTrainedOnPrivate) == 0 && spec_.source == QuerySource::private_split;
  if (private_queries) return std::string(reason::kPrivateSource);
  const bool by_label = spec_.data != nullptr && !spec_.data->sensitive_classes.empty();
  if (relation.adjacency == Adjacency::label && by_label) return std::string(reason::kSplitByLabels);
  if (!spec_.release.detach && Releases(FindKind(spec_), ReleaseKind::gradients))
    return std::string(kVoidTeacherJacobian);
  for (const PrivacyEvent& event : events_) {
    const std::string missing = event.count == 0 ? "" : FindMissing(event, relation);
    const bool worse = !FindEventProblem(event).empty() || !FindVoid(event, relation).empty();
    if (!missing.empty() && !worse) return missing;
  }
  if (relation.adjacency != Adjacency::answer || events_.size() <= 1)
    return ComposeEvents(relation, RestrictEvents(relation)).unbounded;
  for (const PrivacyEvent& event : events_) {
    if (event.count == 0) continue;
    if (std::string problem = ComposeEvents(relation, {event}).unbounded; !problem.empty()) return problem;
  }
  return "";
}

Claim ClaimWriter::Proven(const Relation& relation) const {
  if (const std::string problem = FindProblem(relation); !problem.empty()) return Unbounded(relation, problem);
  Claim claim = Blank(relation);
  if (AsksNoTeacher(spec_) && events_.empty()) {
    claim.epsilon = 0;
    claim.status = ClaimStatus::proven;
    claim.accountant = "no-release";
    claim.reason = "trained on public examples alone; no teacher is asked";
    return claim;
  }
  Bound bound = ComputeRelationBound(relation, RestrictEvents(relation), spec_.privacy.delta, &claim.assumptions);
  claim.epsilon = bound.epsilon;
  claim.accountant = std::move(bound.accountant);
  claim.reason = std::move(bound.reason);
  claim.status = std::isfinite(claim.epsilon) ? ClaimStatus::proven : ClaimStatus::unbounded;
  if (claim.status == ClaimStatus::unbounded) claim.assumptions.clear();
  return claim;
}

std::string ClaimWriter::FindMissing(const PrivacyEvent& event, const Relation& relation) const {
  std::string missing = FindMissingFact(event, relation);
  // Of a selection every candidate's own events are asked (relation.cc).
  if (!missing.empty() || !AugmentsPrivately(spec_) || event.kind == MechanismKind::private_selection) return missing;
  const bool recorded =
      std::find(event.facts.begin(), event.facts.end(), kFactPerExampleAugmentation) != event.facts.end();
  return recorded ? "" : std::string(reason::kUnrecordedAugmentation);
}

Claim ClaimWriter::PaperClaim() const {
  PaperValue value = EvaluatePaperFormula(spec_);
  const bool of_label = IsLabelFormula(value.accountant);
  Claim claim = Blank(of_label ? kLabel : kExample);
  if (of_label) claim.delta = 0;
  claim.status = ClaimStatus::paper_formula;
  claim.accountant = value.accountant;
  if (seeded_) {
    claim.reason = reason::kSeededNoise;
    return claim;
  }
  claim.epsilon = value.given ? RoundGivenEpsilonUp(value.epsilon) : RoundEpsilonUp(value.epsilon);
  if (!std::isfinite(claim.epsilon)) {
    claim.epsilon = std::numeric_limits<double>::infinity();
    claim.reason = reason::kUndefinedFormula;
    return claim;
  }
  claim.reason = value.terms + "; not a guarantee";
  if (spec_.reading == Reading::sound) claim.reason += "; this reading draws no such noise";
  return claim;
}

std::optional<Claim> ClaimWriter::Inherited(const Relation& relation) const {
  if (seeded_ || !IsPostProcessingOfTeacher(spec_, events_)) return std::nullopt;
  const auto usable = [&relation](const Claim& parent) {
    return parent.adjacency == relation.adjacency && parent.neighbour == relation.neighbour && IsProven(parent);
  };
  const auto parent = std::find_if(parents_.begin(), parents_.end(), usable);
  if (parent == parents_.end()) return std::nullopt;
  Claim claim = *parent;
  claim.reason = "post-processing of the teacher: " + parent->reason;
  return claim;
}

Claim ClaimWriter::ChooseBetter(Claim own, const Relation& relation) const {
  std::optional<Claim> inherited = Inherited(relation);
  if (!inherited) return own;
  if (own.status == ClaimStatus::proven && own.delta <= inherited->delta && own.epsilon <= inherited->epsilon)
    return own;
  return *std::move(inherited);
}

bool ClaimWriter::EnsembleParent() const {
  return std::any_of(parents_.begin(), parents_.end(),
                     [](const Claim& parent) { return parent.adjacency == Adjacency::member; });
}

std::string_view ClaimWriter::ParentReason() const {
  for (const Claim& parent : parents_) {
    if (parent.adjacency == Adjacency::example && !IsProven(parent)) return parent.reason;
  }
  return "";
}

bool ClaimWriter::LoadedParent() const {
  if (ParentReason() == reason::kLoadedWeights) return true;
  return std::any_of(events_.begin(), events_.end(), [](const PrivacyEvent& event) {
    return std::find(event.voids.begin(), event.voids.end(), kVoidLoadedWeights) != event.voids.end();
  });
}

void ClaimWriter::WriteDistillation(std::vector<Claim>& claims) const {
  claims.push_back(PaperClaim());
  for (const Relation& relation : {kAnswer, kSlot, kTeacher}) claims.push_back(Proven(relation));
  if (LoadedParent()) {
    // Which examples a file holds is not known, nor where else they are: nothing is said of one of them.
    claims.push_back(Unbounded(kExample, reason::kLoadedWeights));
    return;
  }
  // Whatever one example or one member changes, it changes no more than the whole teacher.
  const std::string problem = ExampleOfTeacherProblem();
  Claim example = problem.empty() ? claims.back() : Unbounded(kTeacher, problem);
  example.adjacency = Adjacency::example;
  example.units = DescribeUnit(Adjacency::example);
  if (example.status == ClaimStatus::proven)
    example.reason = "implied by teacher: " + example.reason;
  else if (example.reason == reason::kRawAnswers && !ParentReason().empty())
    example.reason = ParentReason();
  claims.push_back(ChooseBetter(example, kExample));
  if (Inherited(kExampleAdded)) {
    Claim added = example;
    added.neighbour = Neighbour::add_remove;
    claims.push_back(ChooseBetter(std::move(added), kExampleAdded));
  }
}

Claim ClaimWriter::ExampleOfMember() const {
  if (const std::string problem = MemberExampleProblem(); !problem.empty()) return Unbounded(kExample, problem);
  return Proven(kExample);
}

std::string ClaimWriter::MemberExampleProblem() const {
  if (ParentReason() == reason::kShardsFollowExamples) return std::string(reason::kShardsFollowExamples);
  return FindProblem(kExample);
}

std::string ClaimWriter::ExampleProblem() const {
  const TrialKind kind = FindKind(spec_);
  switch (FindReleaseKind(kind)) {
    case ReleaseKind::steps:
    case ReleaseKind::embedding:
      return FindProblem(kExample);
    case ReleaseKind::labels:
      return std::string(reason::kLabelsOnly);
    case ReleaseKind::none:
      return std::string(ExplainMissingRelease(spec_));
    case ReleaseKind::raw_answers:
      if (!IsPostProcessing(kind)) return std::string(ExplainMissingRelease(spec_));
      break;
    case ReleaseKind::gradients:
    case ReleaseKind::responses:
    case ReleaseKind::losses:
    case ReleaseKind::votes:
      break;
  }
  const bool of_members = IsTaughtByVotes(spec_) || (!Releases(kind, ReleaseKind::losses) && EnsembleParent());
  if (of_members) return MemberExampleProblem();
  return ExampleOfTeacherProblem();
}

std::string ClaimWriter::ExampleOfTeacherProblem() const {
  if (LoadedParent()) return std::string(reason::kLoadedWeights);
  std::string problem = FindProblem(kTeacher);
  // An example may be in a split that no teacher is asked about.
  for (const PrivacyEvent& event : events_)
    if (problem.empty()) problem = FindVoid(event, kExample);
  return problem;
}

std::string ClaimWriter::FindObstacle(const Relation& relation) const {
  if (Inherited(relation)) return "";
  return relation.adjacency == Adjacency::example ? ExampleProblem() : FindProblem(relation);
}

void ClaimWriter::WriteVotes(std::vector<Claim>& claims) const {
  if (FindPaper(spec_) != Paper::none) claims.push_back(PaperClaim());
  for (const Relation& relation : {kAnswer, kMember, kZeroedMember}) claims.push_back(Proven(relation));
  claims.push_back(ExampleOfMember());
}

// One member's part of the answers is bounded, and with disjoint shards by index one example's.
void ClaimWriter::WriteMembers(std::vector<Claim>& claims) const {
  claims.push_back(PaperClaim());
  for (const Relation& relation : {kAnswer, kSlot, kTeacher, kMember, kZeroedMember})
    claims.push_back(Proven(relation));
  claims.push_back(ExampleOfMember());
}

std::vector<Claim> ClaimWriter::Write() {
  std::vector<Claim> claims;
  const KindTraits& traits = FindTraits(FindKind(spec_));
  switch (traits.release) {
    case ReleaseKind::none:
      if (IsSleeper(traits.kind)) break;  // reads no private example, so there is nothing to claim
      if (traits.members) claims.push_back(Unbounded(kMember, reason::kNotPrivatelyTrained));
      claims.push_back(Unbounded(kExample, ExampleProblem()));
      break;
    case ReleaseKind::raw_answers:
      if (IsPostProcessing(traits.kind)) {
        EnsembleParent() ? WriteMembers(claims) : WriteDistillation(claims);
        break;
      }
      claims.push_back(Unbounded(kAnswer, reason::kRawAnswers));
      if (EnsembleParent()) claims.push_back(Unbounded(kMember, reason::kRawAnswers));
      claims.push_back(Unbounded(kExample, ExampleProblem()));
      break;
    case ReleaseKind::labels:
      claims.push_back(Proven(kLabel));
      claims.push_back(Unbounded(kExample, ExampleProblem()));
      break;
    case ReleaseKind::steps:
    case ReleaseKind::embedding:
      claims.push_back(Proven(kExampleAdded));
      claims.push_back(Proven(kExample));
      break;
    case ReleaseKind::gradients:
    case ReleaseKind::responses:
      EnsembleParent() ? WriteMembers(claims) : WriteDistillation(claims);
      break;
    case ReleaseKind::losses:
      IsTaughtByVotes(spec_) ? WriteVotes(claims) : WriteDistillation(claims);
      break;
    case ReleaseKind::votes:
      WriteVotes(claims);
      break;
  }
  if (IsSelectedOnTest(spec_, parents_)) AddSelectionAssumption(claims);
  return claims;
}

void AddEvent(ParameterKey& key, const PrivacyEvent& event) {
  key.Add(event.kind)
      .Add(event.unit)
      .Add(event.count)
      .Add(event.sensitivity)
      .Add(event.noise_std)
      .Add(event.granularity);
  key.Add(event.epsilon0).Add(event.choices).Add(event.sampling_rate).Add(event.rows_per_batch);
  key.Add(event.test.cost).Add(event.test.order).Add(event.test.smoothness).Add(event.test.queries);
  key.Add(event.test.threshold_noise).Add(event.test.vote_noise);
  key.Add(event.noise_coordinates).Add(event.release_coordinates).Add(event.frobenius).Add(event.source);
  key.Add(event.voids.size());
  for (const std::string& name : event.voids) key.Add(name);
  key.Add(event.assumptions.size());
  for (const std::string& name : event.assumptions) key.Add(name);
  key.Add(event.facts.size());
  for (const std::string& name : event.facts) key.Add(name);
  key.Add(event.selection != nullptr);
  if (event.selection != nullptr) key.Add(EncodeEvent(event));
}

void AddClaim(ParameterKey& key, const Claim& claim) {
  key.Add(claim.adjacency).Add(claim.neighbour).Add(claim.delta).Add(claim.epsilon);
  key.Add(claim.lower.has_value()).Add(claim.lower.value_or(0)).Add(claim.status);
  key.Add(claim.units).Add(claim.accountant).Add(claim.reason);
  key.Add(claim.assumptions.size());
  for (const std::string& name : claim.assumptions) key.Add(name);
}

// Every field of the trial that its claims depend on.
void AddSpec(ParameterKey& key, const TrialSpec& spec) {
  key.Add(spec.role).Add(spec.method).Add(spec.reading).Add(spec.noise).Add(spec.privacy.delta).Add(spec.source);
  key.Add(spec.stop.metric);
  key.Add(spec.release.detach)
      .Add(spec.release.norm_bound)
      .Add(spec.release.sigma)
      .Add(spec.batch)
      .Add(spec.steps)
      .Add(spec.queries);
  key.Add(spec.release.branch)
      .Add(spec.shards.partition)
      .Add(spec.release.epsilon0)
      .Add(spec.rona.query_fraction)
      .Add(spec.rounds);
  key.Add(spec.rona.hint_epochs)
      .Add(spec.rona.distill_epochs)
      .Add(ShardsDependOnExamples(spec))
      .Add(AugmentsPrivately(spec));
  key.Add(spec.data ? spec.data->classes : std::int64_t{0});
  key.Add(spec.data != nullptr && spec.data->sensitive_classes.empty());
  key.Add(spec.data ? spec.data->PublicExamples() : std::int64_t{0});
}

}  // namespace

std::vector<Claim> ComputeClaims(const ClaimContext& context, const std::vector<PrivacyEvent>& events) {
  if (context.spec == nullptr) {
    Claim nothing;
    nothing.units = DescribeUnit(Adjacency::example);
    nothing.reason = reason::kNoSpec;
    return {nothing};
  }
  return ClaimWriter(context, Aggregate(events)).Write();
}

namespace {

// What an unknown trial charged has no bound. A selection says all that its bound rests on, and has no trial before it
// has ended, or where K was 0.
std::vector<PrivacyEvent> VoidUnlessSelections(std::vector<PrivacyEvent> events) {
  for (PrivacyEvent& event : events)
    if (event.kind != MechanismKind::private_selection) event = VoidEvents({event}, reason::kNoSpec).front();
  return events;
}

}  // namespace

std::vector<PrivacyEvent> ComputeChargedEvents(const ClaimContext& context, const std::vector<PrivacyEvent>& events) {
  if (events.empty()) return {};
  if (context.spec == nullptr) return VoidUnlessSelections(events);
  const ClaimWriter writer(context, Aggregate(events));
  if (writer.Inherited(kExample) || writer.Inherited(kExampleAdded)) return {};
  std::vector<PrivacyEvent> charged = events;
  if (const std::string problem = writer.FindObstacle(kExample); !problem.empty())
    charged = VoidEvents(events, problem);
  if (!IsSelectedOnTest(*context.spec, context.teacher_claims)) return charged;
  for (PrivacyEvent& event : charged) event.assumptions.emplace_back(kSelectedOnTest);
  return charged;
}

std::vector<PrivacyEvent> VoidEvents(std::vector<PrivacyEvent> events, std::string_view reason) {
  for (PrivacyEvent& event : events)
    if (std::find(event.voids.begin(), event.voids.end(), reason) == event.voids.end())
      event.voids.emplace(event.voids.begin(), reason);
  return events;
}

bool WithdrawUnsupportedClaims(const ClaimContext& context, const std::vector<PrivacyEvent>& events,
                               std::vector<Claim>& claims) {
  if (context.spec == nullptr || events.empty()) return false;
  const ClaimWriter writer(context, Aggregate(events));
  bool withdrawn = false;
  for (Claim& claim : claims) {
    if (!IsProven(claim)) continue;
    std::string problem = writer.FindObstacle({claim.adjacency, claim.neighbour});
    if (problem.empty()) continue;
    claim = WithdrawClaim(std::move(claim), std::move(problem));
    withdrawn = true;
  }
  return withdrawn;
}

const std::vector<Claim>& ClaimCache::ComputeClaims(const ClaimContext& context,
                                                    const std::vector<PrivacyEvent>& events) {
  ParameterKey key;
  key.Add(context.spec != nullptr);
  if (context.spec != nullptr) AddSpec(key, *context.spec);
  key.Add(context.teacher_claims.size());
  for (const Claim& claim : context.teacher_claims) AddClaim(key, claim);
  for (const PrivacyEvent& event : events) AddEvent(key, event);
  const auto found = known_.find(key.bytes());
  if (found != known_.end()) return found->second;
  return known_.emplace(key.bytes(), privacy::ComputeClaims(context, events)).first->second;
}

}  // namespace retort::privacy
