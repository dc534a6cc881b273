#include "experiments/privacy/calibration_parts.h"

#include <cmath>
#include <limits>
#include <vector>

#include "experiments/privacy/claim.h"
#include "experiments/privacy/exact_gdp.h"
#include "experiments/privacy/number_text.h"
#include "experiments/privacy/reasons.h"
#include "experiments/spec/trial_kind.h"

namespace retort::privacy {
namespace {

std::string_view TargetName(ClaimTarget target) {
  switch (target) {
    case ClaimTarget::none:
      return "none";
    case ClaimTarget::paper:
      return "paper";
    case ClaimTarget::answer:
      return "answer";
    case ClaimTarget::slot:
      return "slot";
    case ClaimTarget::teacher:
      return "teacher";
    case ClaimTarget::member:
      return "member";
    case ClaimTarget::example:
      return "example";
    case ClaimTarget::label:
      return "label";
  }
  return "";
}

double DigitsUp(double value, int significant) {
  if (!(value > 0) || !std::isfinite(value)) return value;
  const double digits = significant - 1 - std::floor(std::log10(value));
  if (std::abs(digits) > 300) return std::nextafter(value, std::numeric_limits<double>::infinity());
  const double scale = std::pow(10.0, std::abs(digits));
  return digits >= 0 ? std::ceil(value * scale) / scale : std::ceil(value / scale) * scale;
}

}  // namespace

Status Cannot(const TrialSpec& spec, const std::string& why) {
  return UsageError("epsilon = " + ExactNumber(spec.epsilon) + " cannot be met for claim \"" +
                    std::string(TargetName(spec.claim)) + "\": " + why);
}

double NineDigitsUp(double value) { return DigitsUp(value, 9); }

double SixDigitsUp(double value) { return DigitsUp(value, 6); }

bool IsDpSgd(const TrialSpec& spec) {
  const TrialKind kind = KindOf(spec);
  return kind == TrialKind::dpsgd_teacher || kind == TrialKind::dpsgd_student;
}

bool OfMembers(const TrialSpec& spec) {
  return AsksVotes(spec) || spec.method == "dpdfd-ensemble" || spec.method == "feddpsd";
}

std::optional<Relation> RelationOf(const TrialSpec& spec) {
  const bool votes = AsksVotes(spec), members = OfMembers(spec);
  const bool labels = KindOf(spec) == TrialKind::label_student;
  if (labels != (spec.claim == ClaimTarget::label)) return std::nullopt;
  switch (spec.claim) {
    case ClaimTarget::answer:
      return kAnswer;
    case ClaimTarget::slot:
      return votes ? std::nullopt : std::optional(kSlot);
    case ClaimTarget::teacher:
      return members ? std::nullopt : std::optional(kTeacher);
    case ClaimTarget::member:
      return members ? std::optional(kMember) : std::nullopt;
    case ClaimTarget::example:
      return kExample;
    case ClaimTarget::label:
      return kLabel;
    case ClaimTarget::none:
    case ClaimTarget::paper:
      break;
  }
  return std::nullopt;
}

Result<double> PlannedMu(const TrialSpec& spec, const Relation& relation) {
  TrialSpec secure = spec;
  secure.noise = NoiseMode::secure;
  RETORT_ASSIGN_OR_RETURN(const std::vector<PrivacyEvent> events, EventsWithRetries(secure));
  const Composition sum = ComposeFor(relation, events);
  if (!sum.unbounded.empty()) return Cannot(spec, std::string(ReasonText(sum.unbounded)));
  return ComposedMu(sum.gaussian);
}

double PlannedEpsilon(const TrialSpec& spec, const Relation& relation) {
  TrialSpec secure = spec;
  secure.noise = NoiseMode::secure;
  const Result<std::vector<PrivacyEvent>> events = EventsWithRetries(secure);
  if (!events.ok()) return std::numeric_limits<double>::infinity();
  return BoundFor(relation, *events, spec.delta, nullptr).epsilon;
}

bool Meets(const TrialSpec& spec, const Relation& relation) { return PlannedEpsilon(spec, relation) <= spec.epsilon; }

}  // namespace retort::privacy
