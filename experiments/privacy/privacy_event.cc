#include "experiments/privacy/privacy_event.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "experiments/base/json.h"

namespace retort::privacy {
namespace {

constexpr std::uint8_t kLastKind = static_cast<std::uint8_t>(MechanismKind::validation_count);
constexpr std::uint8_t kLastUnit = static_cast<std::uint8_t>(EventUnit::step);
constexpr std::uint8_t kLastSource = static_cast<std::uint8_t>(NoiseSource::seeded);

bool SameCandidate(const std::vector<PrivacyEvent>& a, const std::vector<PrivacyEvent>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const PrivacyEvent& one, const PrivacyEvent& other) {
    return one.count == other.count && one.SameMechanism(other);
  });
}

bool SameSelection(const PrivateSelection* a, const PrivateSelection* b) {
  if (a == nullptr || b == nullptr || a == b) return a == b;
  return a->law == b->law && std::equal(a->candidates.begin(), a->candidates.end(), b->candidates.begin(),
                                        b->candidates.end(), SameCandidate);
}

std::string EncodeCandidate(const std::vector<PrivacyEvent>& events) {
  std::string text;
  for (const PrivacyEvent& event : events) text += (text.empty() ? "[" : ",") + EncodeEvent(event);
  return text + "]";
}

void EncodeSelection(const PrivateSelection& selection, nlohmann::json& event) {
  event["draws_family"] = static_cast<std::uint8_t>(selection.law.family);
  event["draws_mean"] = MakeJsonNumber(selection.law.mean);
  event["draws_eta"] = MakeJsonNumber(selection.law.eta);
  event["draws_gamma"] = MakeJsonNumber(selection.law.gamma);
  std::vector<std::string> candidates;
  for (const std::vector<PrivacyEvent>& events : selection.candidates) candidates.push_back(EncodeCandidate(events));
  event["candidates"] = candidates;
}

Result<std::vector<PrivacyEvent>> DecodeCandidate(const std::string& text) {
  const nlohmann::json list = TryParseJson(text);
  if (!list.is_array() || list.empty()) return DamageError("privacy event: a candidate is no list of events");
  std::vector<PrivacyEvent> events;
  for (const nlohmann::json& one : list) {
    RETORT_ASSIGN_OR_RETURN(PrivacyEvent event, DecodeEvent(DumpJson(one)));
    if (event.kind == MechanismKind::private_selection)
      return DamageError("privacy event: a candidate of a selection is a selection");
    events.push_back(std::move(event));
  }
  return events;
}

Result<std::shared_ptr<const PrivateSelection>> DecodeSelection(JsonFields& fields) {
  auto selection = std::make_shared<PrivateSelection>();
  selection->law.family = static_cast<DrawFamily>(
      fields.Enumerator("draws_family", static_cast<std::uint8_t>(DrawFamily::negative_binomial)));
  selection->law.mean = fields.Number("draws_mean");
  selection->law.eta = fields.Number("draws_eta");
  selection->law.gamma = fields.Number("draws_gamma");
  for (const std::string& text : fields.Strings("candidates")) {
    RETORT_ASSIGN_OR_RETURN(std::vector<PrivacyEvent> events, DecodeCandidate(text));
    selection->candidates.push_back(std::move(events));
  }
  return std::shared_ptr<const PrivateSelection>(std::move(selection));
}

}  // namespace

void PrivacyEvent::Count(std::int64_t more) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (more <= kMax - std::max<std::int64_t>(count, 0)) {
    count += more;
    return;
  }
  count = kMax;
  const bool said = std::find(voids.begin(), voids.end(), kVoidTooManyDraws) != voids.end();
  if (!said) voids.emplace_back(kVoidTooManyDraws);
}

bool PrivacyEvent::SameMechanism(const PrivacyEvent& other) const {
  return kind == other.kind && unit == other.unit && sensitivity == other.sensitivity && noise_std == other.noise_std &&
         granularity == other.granularity && epsilon0 == other.epsilon0 && choices == other.choices &&
         sampling_rate == other.sampling_rate && rows_per_batch == other.rows_per_batch &&
         noise_coordinates == other.noise_coordinates && release_coordinates == other.release_coordinates &&
         frobenius == other.frobenius && test == other.test && source == other.source && voids == other.voids &&
         assumptions == other.assumptions && facts == other.facts &&
         SameSelection(selection.get(), other.selection.get());
}

std::vector<std::string> ListNeededFacts(MechanismKind kind) {
  switch (kind) {
    case MechanismKind::gaussian_gradient:
    case MechanismKind::randomized_response:
      return {std::string(kFactDetachedTarget), std::string(kFactStudentDrivesGenerator)};
    case MechanismKind::noisy_votes:
    case MechanismKind::vote_threshold:
    case MechanismKind::consensus_test:
    case MechanismKind::member_gradient:
    case MechanismKind::member_response:
      return {std::string(kFactDetachedTarget), std::string(kFactDisjointShards), std::string(kFactIndependentMembers),
              std::string(kFactStudentDrivesGenerator)};
    case MechanismKind::subsampled_gaussian:
      return {std::string(kFactNoBatchNorm)};
    case MechanismKind::label_response:
      return {std::string(kFactDisjointParts), std::string(kFactUnboundedNoise)};
    case MechanismKind::validation_count:
      return {std::string(kFactValidationApart)};
    case MechanismKind::private_selection:  // those of its candidates stand in their own events
    case MechanismKind::none:
    case MechanismKind::loss_noise:
      break;  // unbounded whatever else is known
  }
  return {};
}

std::string EncodeEvent(const PrivacyEvent& event) {
  nlohmann::json json;
  json["kind"] = static_cast<std::uint8_t>(event.kind);
  json["unit"] = static_cast<std::uint8_t>(event.unit);
  json["count"] = event.count;
  json["sensitivity"] = MakeJsonNumber(event.sensitivity);
  json["noise_std"] = MakeJsonNumber(event.noise_std);
  if (event.granularity != 0) json["granularity"] = MakeJsonNumber(event.granularity);
  json["epsilon0"] = MakeJsonNumber(event.epsilon0);
  json["choices"] = event.choices;
  json["sampling_rate"] = MakeJsonNumber(event.sampling_rate);
  json["rows_per_batch"] = event.rows_per_batch;
  json["noise_coordinates"] = event.noise_coordinates;
  json["release_coordinates"] = event.release_coordinates;
  json["frobenius"] = event.frobenius;
  if (event.kind == MechanismKind::consensus_test) {
    json["test_cost"] = MakeJsonNumber(event.test.cost);
    json["test_order"] = MakeJsonNumber(event.test.order);
    json["test_smoothness"] = MakeJsonNumber(event.test.smoothness);
    json["test_threshold_noise"] = MakeJsonNumber(event.test.threshold_noise);
    json["test_vote_noise"] = MakeJsonNumber(event.test.vote_noise);
    json["test_queries"] = event.test.queries;
  }
  if (event.selection != nullptr) EncodeSelection(*event.selection, json);
  json["source"] = static_cast<std::uint8_t>(event.source);
  json["voids"] = event.voids;
  json["assumptions"] = event.assumptions;
  if (!event.facts.empty()) json["facts"] = event.facts;
  return DumpJson(json);
}

Result<PrivacyEvent> DecodeEvent(const std::string& json) {
  JsonFields fields(json, "privacy event");
  PrivacyEvent event;
  event.kind = static_cast<MechanismKind>(fields.Enumerator("kind", kLastKind));
  event.unit = static_cast<EventUnit>(fields.Enumerator("unit", kLastUnit));
  event.count = fields.Integer("count");
  event.sensitivity = fields.Number("sensitivity");
  event.noise_std = fields.Number("noise_std");
  if (fields.Has("granularity")) event.granularity = fields.Number("granularity");
  event.epsilon0 = fields.Number("epsilon0");
  event.choices = fields.Integer("choices");
  event.sampling_rate = fields.Number("sampling_rate");
  event.rows_per_batch = fields.Integer("rows_per_batch");
  event.noise_coordinates = fields.Integer("noise_coordinates");
  event.release_coordinates = fields.Integer("release_coordinates");
  event.frobenius = fields.Flag("frobenius");
  if (event.kind == MechanismKind::consensus_test)
    event.test = {fields.Number("test_cost"),       fields.Number("test_order"),
                  fields.Number("test_smoothness"), fields.Number("test_threshold_noise"),
                  fields.Number("test_vote_noise"), fields.Integer("test_queries")};
  if (event.kind == MechanismKind::private_selection) {
    RETORT_ASSIGN_OR_RETURN(event.selection, DecodeSelection(fields));
  }
  event.source = static_cast<NoiseSource>(fields.Enumerator("source", kLastSource));
  event.voids = fields.Strings("voids");
  event.assumptions = fields.Strings("assumptions");
  if (fields.Has("facts")) event.facts = fields.Strings("facts");
  RETORT_RETURN_IF_ERROR(fields.status());
  return event;
}

}  // namespace retort::privacy
