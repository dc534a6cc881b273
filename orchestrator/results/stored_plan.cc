#include "orchestrator/results/stored_plan.h"

#include <map>
#include <memory>
#include <utility>

namespace retort::orchestrator {
namespace {

using DataByName = std::map<std::string, std::shared_ptr<const DataSpec>>;

DataByName MapDataByName(const ResultsView& view) {
  DataByName data;
  for (const TrialView& trial : view.trials)
    if (trial.spec.data) data.emplace(trial.spec.data->name, trial.spec.data);
  return data;
}

// What inspection found when the trials were planned. What does not tell trials apart is as the file has it
// now.
void Recall(const DataByName& stored, DataSpec& data) {
  const auto found = stored.find(data.name);
  if (found == stored.end()) return;
  DataSpec known = *found->second;
  known.published_as = data.published_as;
  known.budget = data.budget;
  data = std::move(known);
}

PlanHooks MakeHooks(const ResultsView& view, const DataByName& stored) {
  PlanHooks hooks;
  hooks.inspect = [&stored](DataSpec& data) {
    Recall(stored, data);
    return Status();
  };
  hooks.unpacked = [&view](const DataSpec& data) {
    return Result<std::string>(FindUnpackedDigest(view.unpacked, data.digest));
  };
  return hooks;
}

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

StoredPlan RebuildPlan(const ResultsView& view, const std::string& sweep_toml) {
  const DataByName stored = MapDataByName(view);
  const std::string file = view.directory + "/sweep.toml";
  PlanOutcome outcome = ParseSweep(sweep_toml, file, {}, MakeHooks(view, stored));
  StoredPlan result;
  if (outcome.plan) {
    result.plan = *std::move(outcome.plan);
  } else {
    result.trouble = file + " cannot be read as the sweep that was run";
    if (!outcome.errors.empty()) result.trouble += " (" + outcome.errors.front().message + ")";
    result.trouble += ": tables and figures are those of a sweep that declares none.";
    for (const auto& [name, data] : stored) result.plan.data.push_back(data);
  }
  SweepPlan& plan = result.plan;
  plan.name = view.sweep;
  plan.file = file;
  plan.unpacked = view.unpacked;
  if (EndsWith(view.sweep, "-smoke")) plan.profile = "smoke";
  plan.trials.clear();
  for (const TrialView& trial : view.trials) {
    plan.trials.push_back(trial.spec);
    for (const auto& data : plan.data)
      if (trial.spec.data && data->name == trial.spec.data->name) plan.trials.back().data = data;
  }
  return result;
}

SweepPlan AdoptReleased(SweepPlan plan, const ResultsView& view) {
  if (!plan.select) return plan;
  plan.trials.clear();
  for (const TrialView& trial : view.trials)
    if (trial.planned && !trial.spec.draw.empty()) plan.trials.push_back(trial.spec);
  return plan;
}

}  // namespace retort::orchestrator
