#include <algorithm>
#include <cmath>
#include <string>

#include "experiments/privacy/claim.h"
#include "experiments/spec/trial_kind.h"

namespace retort::privacy {
namespace {

NoiseSource SourceOf(const TrialSpec& spec, NoiseSource secure) {
  return spec.noise == NoiseMode::seeded ? NoiseSource::seeded : secure;
}

PrivacyEvent GradientEvent(const TrialSpec& spec) {
  PrivacyEvent event;
  event.kind = MechanismKind::gaussian_gradient;
  event.rows_per_batch = spec.batch;
  event.unit = spec.reading == Reading::printed ? EventUnit::batch : EventUnit::row;
  event.count = spec.reading == Reading::printed ? spec.steps : spec.steps * spec.batch;
  event.sensitivity = 2 * spec.norm_bound;
  event.noise_std = spec.sigma * spec.norm_bound;
  if (spec.reading == Reading::working) event.noise_std /= static_cast<double>(spec.batch);
  event.noise_coordinates = event.release_coordinates = spec.data->classes;
  event.frobenius = spec.normalization == Normalization::frobenius;
  event.source = SourceOf(spec, NoiseSource::secure_float);
  if (!spec.detach) event.voids.emplace_back(kVoidTeacherJacobian);
  event.assumptions.emplace_back(kAssumeFloatNoise);
  return event;
}

PrivacyEvent VoteEvent(const TrialSpec& spec) {
  PrivacyEvent event;
  event.kind = MechanismKind::noisy_votes;
  event.unit = EventUnit::vote;
  event.count = spec.queries;
  event.sensitivity = std::sqrt(2.0) * static_cast<double>(spec.grain);
  event.noise_std = spec.vote_noise * static_cast<double>(spec.grain);
  event.noise_coordinates = event.release_coordinates = spec.data->classes;
  event.source = SourceOf(spec, NoiseSource::secure_lattice);
  event.assumptions.emplace_back(kAssumeDisjointShards);
  return event;
}

PrivacyEvent RawEvent(const TrialSpec& spec) {
  PrivacyEvent event;
  event.kind = MechanismKind::none;
  event.unit = EventUnit::row;
  event.count = spec.steps * spec.batch;
  event.rows_per_batch = spec.batch;
  event.release_coordinates = spec.data->classes;
  return event;
}

PrivacyEvent DpSgdEvent(const TrialSpec& spec) {
  PrivacyEvent event;
  event.kind = MechanismKind::subsampled_gaussian;
  event.unit = EventUnit::step;
  event.count = spec.steps;
  event.sensitivity = spec.norm_bound;
  event.noise_std = spec.noise_multiplier * spec.norm_bound;
  event.sampling_rate = static_cast<double>(spec.batch) / static_cast<double>(spec.data->split.train.size());
  event.rows_per_batch = spec.batch;
  event.noise_coordinates = event.release_coordinates = 1;  // parameters are counted when the network exists
  event.source = SourceOf(spec, NoiseSource::secure_float);
  event.assumptions = {std::string(kAssumeFloatNoise), std::string(kAssumePoissonSampling)};
  return event;
}

Status CheckCounts(const TrialSpec& spec, bool steps) {
  if (!spec.data) return UsageError("The trial has no data set.");
  constexpr std::int64_t kMostRows = 4'000'000'000'000'000'000;
  if (spec.batch < 1) return UsageError("batch must be at least 1.");
  if (steps && spec.steps < 1) return UsageError("steps must be at least 1.");
  if (steps && spec.steps > kMostRows / spec.batch)
    return UsageError("steps times batch is too large to account for.");
  return {};
}

std::int64_t DrawsOfARelease(const TrialSpec& spec, const PrivacyEvent& event) {
  switch (event.unit) {
    case EventUnit::row:
      return spec.batch;
    case EventUnit::vote:
      return std::min(spec.batch, spec.queries);
    case EventUnit::batch:
    case EventUnit::step:
      break;
  }
  return 1;
}

}  // namespace

Result<std::vector<PrivacyEvent>> PlannedEvents(const TrialSpec& spec) {
  const TrialKind kind = KindOf(spec);
  std::vector<PrivacyEvent> events;
  if (kind == TrialKind::plain_teacher || kind == TrialKind::ensemble_teacher || kind == TrialKind::sleeper ||
      kind == TrialKind::loaded_teacher)
    return events;
  RETORT_RETURN_IF_ERROR(CheckCounts(spec, kind != TrialKind::vote_student));
  switch (kind) {
    case TrialKind::gradient_student:
      events.push_back(GradientEvent(spec));
      break;
    case TrialKind::vote_student:
      events.push_back(VoteEvent(spec));
      break;
    case TrialKind::distilled_student:
      events.push_back(RawEvent(spec));
      break;
    case TrialKind::dpsgd_student:
    case TrialKind::dpsgd_teacher: {
      const std::int64_t examples = spec.data->split.train.size();
      if (spec.batch > examples) {
        return UsageError("batch (" + std::to_string(spec.batch) +
                          ") is larger than the private training split (" + std::to_string(examples) +
                          "): the sampling rate of DP-SGD is their ratio, at most 1.");
      }
      events.push_back(DpSgdEvent(spec));
      break;
    }
    case TrialKind::plain_teacher:
    case TrialKind::ensemble_teacher:
    case TrialKind::loaded_teacher:
    case TrialKind::sleeper:
      break;
  }
  for (PrivacyEvent& event : events) {
    event.facts = FactsNeeded(event.kind);
    if (!spec.detach) std::erase(event.facts, kFactDetachedTarget);
  }
  return events;
}

Result<std::vector<PrivacyEvent>> EventsWithRetries(const TrialSpec& spec) {
  RETORT_ASSIGN_OR_RETURN(std::vector<PrivacyEvent> events, PlannedEvents(spec));
  for (PrivacyEvent& event : events) {
    // min(reserve_block * draws, count), without the product
    const std::int64_t draws = std::max<std::int64_t>(DrawsOfARelease(spec, event), 1);
    const bool whole = spec.reserve_block > event.count / draws;
    const std::int64_t block = whole ? event.count : spec.reserve_block * draws;
    for (std::int64_t lost = 0; lost < spec.retries; ++lost) event.Count(block);
  }
  return events;
}

}  // namespace retort::privacy
