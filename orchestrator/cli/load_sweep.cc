#include "orchestrator/cli/load_sweep.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "storage/idx_file.h"

namespace retort::orchestrator::cli {

namespace {

std::vector<privacy::Claim> ClaimsIfNothingFails(const TrialSpec& spec, std::vector<privacy::Claim> teacher_claims) {
  const Result<std::vector<privacy::PrivacyEvent>> events = privacy::PlannedEvents(spec);
  if (events.ok()) return privacy::ClaimsFor({&spec, std::move(teacher_claims)}, *events);
  privacy::Claim unknown;
  unknown.delta = spec.delta;
  unknown.reason = events.status().message();
  return {unknown};
}

}  // namespace

LoadedSweep LoadWithData(storage::Env& env, const LoadRequest& request) {
  std::size_t data_errors = 0;
  PlanHooks hooks;
  hooks.inspect = [&](DataSpec& data) {
    Status status = storage::InspectIdx(env, data);
    if (!status.ok() && status.code() != StatusCode::usage) ++data_errors;
    return status;
  };
  hooks.calibrate = [](TrialSpec& spec) { return privacy::CalibrateTrial(spec); };
  PlanOptions options;
  options.overrides = request.overrides;
  options.profile = request.profile;
  PlanOutcome outcome = LoadSweep(request.path, options, hooks);
  LoadedSweep loaded;
  loaded.plan = std::move(outcome.plan);
  loaded.errors = std::move(outcome.errors);
  if (data_errors > 0 && data_errors == loaded.errors.size()) loaded.code = StatusCode::environment;
  return loaded;
}

std::map<TrialId, std::vector<privacy::Claim>> PlannedClaims(const std::vector<TrialSpec>& trials, std::size_t count) {
  count = std::min(count, trials.size());
  std::unordered_set<TrialId> teachers;
  for (std::size_t i = 0; i < count; ++i)
    if (trials[i].parent) teachers.insert(*trials[i].parent);
  std::map<TrialId, std::vector<privacy::Claim>> claims;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const TrialSpec& spec = trials[i];
    if (i >= count && !teachers.contains(spec.id)) continue;
    claims[spec.id] = ClaimsIfNothingFails(spec, spec.parent ? claims[*spec.parent] : std::vector<privacy::Claim>{});
  }
  return claims;
}

}  // namespace retort::orchestrator::cli
