#include "experiments/privacy/accountant.h"

#include "experiments/privacy/parameter_key.h"
#include "experiments/spec/trial_kind.h"

namespace retort::privacy {
namespace {

void AddEvent(ParameterKey& key, const PrivacyEvent& event) {
  key.Add(event.kind).Add(event.unit).Add(event.count).Add(event.sensitivity).Add(event.noise_std).Add(event.granularity);
  key.Add(event.epsilon0).Add(event.choices).Add(event.sampling_rate).Add(event.rows_per_batch);
  key.Add(event.noise_coordinates).Add(event.release_coordinates).Add(event.frobenius).Add(event.source);
  key.Add(event.voids.size());
  for (const std::string& name : event.voids) key.Add(name);
  key.Add(event.assumptions.size());
  for (const std::string& name : event.assumptions) key.Add(name);
  key.Add(event.facts.size());
  for (const std::string& name : event.facts) key.Add(name);
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
  key.Add(spec.role).Add(spec.method).Add(spec.reading).Add(spec.noise).Add(spec.delta).Add(spec.source);
  key.Add(spec.stop_metric);
  key.Add(spec.detach).Add(spec.norm_bound).Add(spec.sigma).Add(spec.batch).Add(spec.steps).Add(spec.queries);
  key.Add(spec.branch).Add(spec.partition).Add(spec.epsilon0).Add(spec.query_fraction).Add(spec.rounds);
  key.Add(spec.hint_epochs).Add(spec.distill_epochs).Add(ShardsFollowExamples(spec)).Add(AugmentsPrivately(spec));
  key.Add(spec.data ? spec.data->classes : std::int64_t{0});
  key.Add(spec.data != nullptr && spec.data->sensitive_classes.empty());
  key.Add(spec.data ? spec.data->PublicExamples() : std::int64_t{0});
}

}  // namespace

const std::vector<Claim>& Accountant::ClaimsFor(const ClaimContext& context,
                                                const std::vector<PrivacyEvent>& events) {
  ParameterKey key;
  key.Add(context.spec != nullptr);
  if (context.spec != nullptr) AddSpec(key, *context.spec);
  key.Add(context.teacher_claims.size());
  for (const Claim& claim : context.teacher_claims) AddClaim(key, claim);
  for (const PrivacyEvent& event : events) AddEvent(key, event);
  const auto found = known_.find(key.bytes());
  if (found != known_.end()) return found->second;
  return known_.emplace(key.bytes(), privacy::ClaimsFor(context, events)).first->second;
}

}  // namespace retort::privacy
