#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "experiments/privacy/claim.h"
#include "experiments/privacy/number_text.h"
#include "experiments/privacy/paper_value.h"
#include "experiments/privacy/reasons.h"
#include "experiments/privacy/relation.h"
#include "experiments/privacy/trial_rules.h"
#include "experiments/privacy/withdrawn_claim.h"
#include "experiments/spec/trial_kind.h"

namespace retort::privacy {
namespace {

bool IsProven(const Claim& claim) {
  return claim.status == ClaimStatus::proven && std::isfinite(claim.epsilon) && claim.epsilon >= 0;
}

// One trial's claims in the making.
class ClaimWriter {
 public:
  ClaimWriter(const ClaimContext& context, std::vector<PrivacyEvent> events)
      : spec_(*context.spec), parents_(context.teacher_claims), events_(std::move(events)) {
    seeded_ = (spec_.noise == NoiseMode::seeded && KindOf(spec_) != TrialKind::loaded_teacher) ||
              std::any_of(events_.begin(), events_.end(),
                          [](const PrivacyEvent& event) { return event.source == NoiseSource::seeded; });
    // A student without noise of its own rests on its teacher's.
    const bool silent = IsPostProcessing(KindOf(spec_)) ||
                        (KindOf(spec_) == TrialKind::query_student && spec_.reading == Reading::sound);
    if (silent && ParentReason() == reason::kSeededNoise) seeded_ = true;
  }

  [[nodiscard]] std::vector<Claim> Write();
  // Why no claim of the trial can hold under the relation, an inherited one included, whatever its parameters are; empty
  // when nothing stands against it. Quick: nothing is accounted.
  [[nodiscard]] std::string WhyNot(const Relation& relation) const;
  // The teacher's claim, where the trial does nothing but ask it.
  [[nodiscard]] std::optional<Claim> Inherited(const Relation& relation) const;

 private:
  [[nodiscard]] Claim Blank(const Relation& relation) const;
  [[nodiscard]] Claim Unbounded(const Relation& relation, std::string_view why) const;
  [[nodiscard]] Claim Proven(const Relation& relation) const;
  // WhyNot of what the trial's own releases say under the relation itself.
  [[nodiscard]] std::string ProblemOf(const Relation& relation) const;
  // The same for one example, which may rest on another relation.
  [[nodiscard]] std::string ExampleProblem() const;
  // Why what holds for the teacher does not hold for one of its examples.
  [[nodiscard]] std::string ExampleOfTeacherProblem() const;
  // Each event as the relation sees it.
  [[nodiscard]] std::vector<PrivacyEvent> Seen(const Relation& relation) const;
  [[nodiscard]] std::string MissingOf(const PrivacyEvent& event, const Relation& relation) const;
  [[nodiscard]] Claim PaperClaim() const;
  // The better of what the trial's own releases allow and what its teacher's training does.
  [[nodiscard]] Claim BetterOf(Claim own, const Relation& relation) const;
  [[nodiscard]] bool EnsembleParent() const;
  // Why the teacher's `example` claim has no bound; empty when it has one or there is no teacher.
  [[nodiscard]] std::string_view ParentReason() const;
  // By its own claims, or by what the ledger says of its answers.
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
  claim.delta = spec_.delta;
  claim.units = UnitsOf(relation.adjacency);
  return claim;
}

Claim ClaimWriter::Unbounded(const Relation& relation, std::string_view why) const {
  Claim claim = Blank(relation);
  claim.reason = seeded_ ? reason::kSeededNoise : why;
  return claim;
}

std::vector<PrivacyEvent> ClaimWriter::Seen(const Relation& relation) const {
  std::vector<PrivacyEvent> seen = events_;
  if (relation.adjacency == Adjacency::slot)
    for (PrivacyEvent& event : seen) event = OfASlot(std::move(event), spec_.steps);
  return seen;
}

std::string ClaimWriter::ProblemOf(const Relation& relation) const {
  if (seeded_) return std::string(reason::kSeededNoise);
  if (AsksNobody(spec_) && events_.empty()) return "";
  // Asked about the teacher's answers on private images, the trial also releases the images' own traces.
  constexpr KindMask kTrainedOnPrivate = MaskOf(TrialKind::dpsgd_student) | MaskOf(TrialKind::dpsgd_teacher) |
                                         MaskOf(TrialKind::merf_student) | MaskOf(TrialKind::label_student);
  const bool private_queries = (MaskOf(KindOf(spec_)) & kTrainedOnPrivate) == 0 &&
                               spec_.source == QuerySource::private_split;
  if (private_queries) return std::string(reason::kPrivateSource);
  const bool by_label = spec_.data != nullptr && !spec_.data->sensitive_classes.empty();
  if (relation.adjacency == Adjacency::label && by_label) return std::string(reason::kSplitByLabels);
  if (!spec_.detach && KindOf(spec_) == TrialKind::gradient_student) return std::string(kVoidTeacherJacobian);
  for (const PrivacyEvent& event : events_) {
    const std::string missing = event.count == 0 ? "" : MissingOf(event, relation);
    const bool worse = !EventProblem(event).empty() || !VoidOf(event, relation).empty();
    if (!missing.empty() && !worse) return missing;
  }
  if (relation.adjacency != Adjacency::answer || events_.size() <= 1)
    return ComposeFor(relation, Seen(relation)).unbounded;
  for (const PrivacyEvent& event : events_) {
    if (event.count == 0) continue;
    if (std::string problem = ComposeFor(relation, {event}).unbounded; !problem.empty()) return problem;
  }
  return "";
}

Claim ClaimWriter::Proven(const Relation& relation) const {
  if (const std::string problem = ProblemOf(relation); !problem.empty()) return Unbounded(relation, problem);
  Claim claim = Blank(relation);
  if (AsksNobody(spec_) && events_.empty()) {
    claim.epsilon = 0;
    claim.status = ClaimStatus::proven;
    claim.accountant = "no-release";
    claim.reason = "trained on public examples alone; no teacher is asked";
    return claim;
  }
  Bound bound = BoundFor(relation, Seen(relation), spec_.delta, &claim.assumptions);
  claim.epsilon = bound.epsilon;
  claim.accountant = std::move(bound.accountant);
  claim.reason = std::move(bound.reason);
  claim.status = std::isfinite(claim.epsilon) ? ClaimStatus::proven : ClaimStatus::unbounded;
  if (claim.status == ClaimStatus::unbounded) claim.assumptions.clear();
  return claim;
}

std::string ClaimWriter::MissingOf(const PrivacyEvent& event, const Relation& relation) const {
  std::string missing = MissingFact(event, relation);
  if (!missing.empty() || !AugmentsPrivately(spec_)) return missing;
  const bool recorded =
      std::find(event.facts.begin(), event.facts.end(), kFactAugmentedAlone) != event.facts.end();
  return recorded ? "" : std::string(reason::kUnrecordedAugmentation);
}

Claim ClaimWriter::PaperClaim() const {
  Claim claim = Blank(kExample);
  claim.status = ClaimStatus::paper_formula;
  PaperValue value = PaperFormulaOf(spec_);
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
  if (seeded_ || !OnlyAsksTheTeacher(spec_, events_)) return std::nullopt;
  const auto usable = [&relation](const Claim& parent) {
    return parent.adjacency == relation.adjacency && parent.neighbour == relation.neighbour &&
           IsProven(parent);
  };
  const auto parent = std::find_if(parents_.begin(), parents_.end(), usable);
  if (parent == parents_.end()) return std::nullopt;
  Claim claim = *parent;
  claim.reason = "post-processing of the teacher: " + parent->reason;
  return claim;
}

Claim ClaimWriter::BetterOf(Claim own, const Relation& relation) const {
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
  example.units = UnitsOf(Adjacency::example);
  if (example.status == ClaimStatus::proven)
    example.reason = "implied by teacher: " + example.reason;
  else if (example.reason == reason::kRawAnswers && !ParentReason().empty())
    example.reason = ParentReason();
  claims.push_back(BetterOf(example, kExample));
  if (Inherited(kExampleAdded)) {
    Claim added = example;
    added.neighbour = Neighbour::add_remove;
    claims.push_back(BetterOf(std::move(added), kExampleAdded));
  }
}

Claim ClaimWriter::ExampleOfMember() const {
  if (const std::string problem = MemberExampleProblem(); !problem.empty()) return Unbounded(kExample, problem);
  return Proven(kExample);
}

std::string ClaimWriter::MemberExampleProblem() const {
  if (ParentReason() == reason::kShardsFollowExamples) return std::string(reason::kShardsFollowExamples);
  return ProblemOf(kExample);
}

std::string ClaimWriter::ExampleProblem() const {
  switch (KindOf(spec_)) {
    case TrialKind::dpsgd_teacher:
    case TrialKind::dpsgd_student:
    case TrialKind::merf_student:
    case TrialKind::spectral_student:
      return ProblemOf(kExample);
    case TrialKind::label_student:
      return std::string(reason::kLabelsOnly);
    case TrialKind::gradient_student:
    case TrialKind::response_student:
    case TrialKind::distilled_student:
    case TrialKind::labelled_student:
    case TrialKind::query_student:
    case TrialKind::vote_student:
      break;
    default:
      return std::string(WithoutRelease(spec_));
  }
  const bool of_members = KindOf(spec_) == TrialKind::vote_student || AsksVotes(spec_) ||
                          (KindOf(spec_) != TrialKind::query_student && EnsembleParent());
  if (of_members) return MemberExampleProblem();
  return ExampleOfTeacherProblem();
}

std::string ClaimWriter::ExampleOfTeacherProblem() const {
  if (LoadedParent()) return std::string(reason::kLoadedWeights);
  std::string problem = ProblemOf(kTeacher);
  // An example may stand where the teacher is not asked.
  for (const PrivacyEvent& event : events_)
    if (problem.empty()) problem = VoidOf(event, kExample);
  return problem;
}

std::string ClaimWriter::WhyNot(const Relation& relation) const {
  if (Inherited(relation)) return "";
  return relation.adjacency == Adjacency::example ? ExampleProblem() : ProblemOf(relation);
}

void ClaimWriter::WriteVotes(std::vector<Claim>& claims) const {
  if (spec_.method != "pate") claims.push_back(PaperClaim());
  for (const Relation& relation : {kAnswer, kMember, kZeroedMember}) claims.push_back(Proven(relation));
  claims.push_back(ExampleOfMember());
}

// One member's part of the answers is bounded, and with disjoint shards by index one example's.
void ClaimWriter::WriteMembers(std::vector<Claim>& claims) const {
  claims.push_back(PaperClaim());
  for (const Relation& relation : {kAnswer, kSlot, kTeacher, kMember, kZeroedMember}) claims.push_back(Proven(relation));
  claims.push_back(ExampleOfMember());
}

std::vector<Claim> ClaimWriter::Write() {
  std::vector<Claim> claims;
  switch (KindOf(spec_)) {
    case TrialKind::plain_teacher:
    case TrialKind::loaded_teacher:
      claims.push_back(Unbounded(kExample, ExampleProblem()));
      break;
    case TrialKind::ensemble_teacher:
    case TrialKind::federated_student:
      claims.push_back(Unbounded(kMember, reason::kNotPrivatelyTrained));
      claims.push_back(Unbounded(kExample, ExampleProblem()));
      break;
    case TrialKind::raw_student:
      claims.push_back(Unbounded(kAnswer, reason::kRawAnswers));
      if (EnsembleParent()) claims.push_back(Unbounded(kMember, reason::kRawAnswers));
      claims.push_back(Unbounded(kExample, ExampleProblem()));
      break;
    case TrialKind::label_student:
      claims.push_back(Proven(kLabel));
      claims.push_back(Unbounded(kExample, ExampleProblem()));
      break;
    case TrialKind::dpsgd_teacher:
    case TrialKind::dpsgd_student:
    case TrialKind::merf_student:
    case TrialKind::spectral_student:
      claims.push_back(Proven(kExampleAdded));
      claims.push_back(Proven(kExample));
      break;
    case TrialKind::gradient_student:
    case TrialKind::response_student:
    case TrialKind::distilled_student:
    case TrialKind::labelled_student:
      EnsembleParent() ? WriteMembers(claims) : WriteDistillation(claims);
      break;
    case TrialKind::query_student:
      AsksVotes(spec_) ? WriteVotes(claims) : WriteDistillation(claims);
      break;
    case TrialKind::vote_student:
      WriteVotes(claims);
      break;
    case TrialKind::sleeper:  // saw nothing, says nothing
      break;
  }
  if (SelectedOnTest(spec_, parents_)) LabelSelection(claims);
  return claims;
}

}  // namespace

std::vector<Claim> ClaimsFor(const ClaimContext& context, const std::vector<PrivacyEvent>& events) {
  if (context.spec == nullptr) {
    Claim nothing;
    nothing.units = UnitsOf(Adjacency::example);
    nothing.reason = reason::kNoSpec;
    return {nothing};
  }
  return ClaimWriter(context, Aggregate(events)).Write();
}

std::vector<PrivacyEvent> ChargedEvents(const ClaimContext& context,
                                        const std::vector<PrivacyEvent>& events) {
  if (events.empty()) return {};
  if (context.spec == nullptr) return Voided(events, reason::kNoSpec);
  const ClaimWriter writer(context, Aggregate(events));
  if (writer.Inherited(kExample) || writer.Inherited(kExampleAdded)) return {};
  std::vector<PrivacyEvent> charged = events;
  if (const std::string problem = writer.WhyNot(kExample); !problem.empty()) charged = Voided(events, problem);
  if (!SelectedOnTest(*context.spec, context.teacher_claims)) return charged;
  for (PrivacyEvent& event : charged) event.assumptions.emplace_back(kSelectedOnTest);
  return charged;
}

std::vector<PrivacyEvent> Voided(std::vector<PrivacyEvent> events, std::string_view reason) {
  for (PrivacyEvent& event : events)
    if (std::find(event.voids.begin(), event.voids.end(), reason) == event.voids.end())
      event.voids.emplace(event.voids.begin(), reason);
  return events;
}

bool WithdrawUnsupported(const ClaimContext& context, const std::vector<PrivacyEvent>& events,
                         std::vector<Claim>& claims) {
  if (context.spec == nullptr || events.empty()) return false;
  const ClaimWriter writer(context, Aggregate(events));
  bool withdrawn = false;
  for (Claim& claim : claims) {
    if (!IsProven(claim)) continue;
    std::string problem = writer.WhyNot({claim.adjacency, claim.neighbour});
    if (problem.empty()) continue;
    claim = Withdrawn(std::move(claim), std::move(problem));
    withdrawn = true;
  }
  return withdrawn;
}

}  // namespace retort::privacy
