#include <nlohmann/json.hpp>

#include "experiments/spec/spec_codec.h"
#include "orchestrator/cli/claim_json.h"
#include "orchestrator/cli/plan_report.h"
#include "orchestrator/cli/planned_claims.h"
#include "orchestrator/cli/trial_json.h"
#include "orchestrator/cli/trial_names.h"

namespace retort::orchestrator::cli {
namespace {

using nlohmann::ordered_json;

ordered_json EstimateJson(const std::optional<CostEstimate>& estimate) {
  if (!estimate) return {};
  return {{"seconds", estimate->seconds},
          {"low", estimate->low},
          {"high", estimate->high},
          {"measured", estimate->measured}};
}

ordered_json TotalJson(const std::optional<SweepEstimate>& total) {
  if (!total) return {};
  return {{"seconds", total->seconds.mean},
          {"low", total->seconds.low},
          {"high", total->seconds.high},
          {"measured", total->measured},
          {"slots", total->slots},
          {"device_hours",
           {{"mean", total->device_hours.mean},
            {"low", total->device_hours.low},
            {"high", total->device_hours.high}}}};
}

TrialView UnknownTrial(const TrialSpec& spec) {
  TrialView view;
  view.spec = spec;
  view.state = spec.parent ? TrialState::waiting : TrialState::queued;
  return view;
}

ordered_json DataJson(const SweepPlan& plan) {
  ordered_json data = ordered_json::array();
  for (const auto& set : plan.data)
    data.push_back({{"name", set->name},
                    {"reader", set->reader},
                    {"path", set->path},
                    {"found", !set->digest.empty()},
                    {"digest", set->digest},
                    {"examples", set->examples},
                    {"shape", {set->channels, set->height, set->width}},
                    {"classes", set->classes},
                    {"train", set->PrivateExamples()},
                    {"public", set->PublicExamples()},
                    {"test", set->split.test.size()}});
  return data;
}

std::string TrialEntry(const PlanReport& report, const PlannedTrial& trial, PlannedClaims& claims) {
  return TrialText(trial.stored != nullptr ? *trial.stored : UnknownTrial(*trial.spec),
                   {{"new", trial.stored == nullptr ? "true" : "false"},
                    {"runs", trial.runs ? "true" : "false"},
                    {"reason", ordered_json(ReasonOf(trial)).dump()},
                    {"estimate", EstimateJson(EstimateOf(report, trial)).dump()},
                    {"claims", ClaimsText(claims.Of(*trial.spec, trial.teacher))}});
}

}  // namespace

void WritePlanAsJson(const PlanReport& report, const std::function<void(std::string_view)>& out) {
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["sweep"] = report.plan->name;
  document["results"] = report.results;
  document["data"] = DataJson(*report.plan);
  document["estimate"] = TotalJson(report.total);
  document["disk_bytes"] =
      report.total && report.total->disk_bytes ? ordered_json(*report.total->disk_bytes) : ordered_json();
  document["dropped"] = ordered_json::array();
  for (const TrialView* trial : report.dropped)
    document["dropped"].push_back({{"trial", trial->spec.id.Hex()}, {"name", ShownName(trial->spec)}});
  document["warnings"] = ordered_json::array();
  for (const Diagnostic& warning : report.plan->warnings) document["warnings"].push_back(warning.message);
  PlannedClaims claims(report.voids);
  WriteWithArray(out, document, "trials", report.trials.size(),
                 [&](std::size_t i) { return TrialEntry(report, report.trials[i], claims); });
}

}  // namespace retort::orchestrator::cli
