// Reactor: the plan of this run meets what the journal already knows.

#include <fmt/format.h>

#include <functional>
#include <set>
#include <utility>

#include "orchestrator/decision.h"
#include "orchestrator/reactor.h"

namespace retort::orchestrator {
namespace {

Status CheckPlan(const Core& core, const SweepPlan& plan) {
  if (core.opened() && core.sweep() != plan.name)
    return UsageError(
        fmt::format("the results folder {} belongs to sweep '{}', not '{}': give this sweep a folder of "
                    "its own with --results",
                    core.settings().results, core.sweep(), plan.name));
  std::set<TrialId> seen;
  for (const TrialSpec& spec : plan.trials) {
    if (!seen.insert(spec.id).second)
      return UsageError(fmt::format("trial {} ({}) is planned twice", spec.name, spec.id.Hex()));
    if (spec.parent && !seen.contains(*spec.parent))
      return UsageError(
          fmt::format("trial {}: its teacher {} is not planned before it", spec.name, spec.parent->Hex()));
  }
  return {};
}

bool SamePlan(const Core& core, const SweepPlan& plan) {
  if (core.plan().size() != plan.trials.size() || core.resolved_toml() != plan.resolved_toml) return false;
  for (std::size_t i = 0; i < plan.trials.size(); ++i)
    if (core.At(core.plan()[i]).spec.id != plan.trials[i].id) return false;
  return true;
}

// Fields that are no part of a trial's identity may have changed.
void PlanTrial(Core& core, const TrialSpec& spec, Now now, Outbox& outbox) {
  TrialPlanned planned = PlannedAs(spec);
  const Trial* known = core.Find(spec.id);
  if (known != nullptr && known->spec_hash == std::hash<std::string>()(planned.spec_json)) return;
  Record(core, std::move(planned), now, outbox);
}

}  // namespace

Status OpenSweep(Core& core, const SweepPlan& plan, Now now, Outbox& outbox) {
  RETORT_RETURN_IF_ERROR(CheckPlan(core, plan));
  core.quota = plan.quota;
  const bool same = core.opened() && SamePlan(core, plan);
  if (same && core.AllFinal() && core.owed_rows().empty()) return {};
  const std::string& provenance = core.settings().provenance_json;
  if (core.opened()) Record(core, RunStarted{provenance}, now, outbox);
  // A folder of an older format goes on in the newest.
  if (!same || core.format_version() != kResultsFormatVersion)
    Record(core, SweepOpened{kResultsFormatVersion, plan.name, plan.resolved_toml, provenance}, now, outbox);
  for (const auto& [digest, unpacked] : plan.unpacked)
    if (!core.charges.unpacked().contains(digest)) Record(core, DataNoted{digest, unpacked}, now, outbox);
  if (core.noted_root().empty() && !core.settings().root.empty())
    Record(core, RootNoted{core.settings().root}, now, outbox);
  for (const TrialSpec& spec : plan.trials) PlanTrial(core, spec, now, outbox);
  if (!same) {
    PlanAdopted adopted;
    for (const TrialSpec& spec : plan.trials) adopted.order.push_back(spec.id);
    Record(core, std::move(adopted), now, outbox);
  }
  WriteOwedRows(core, now, outbox);
  return {};
}

}  // namespace retort::orchestrator
