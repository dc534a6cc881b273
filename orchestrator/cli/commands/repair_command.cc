#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/text_table.h"
#include "orchestrator/journal/folder_lock.h"
#include "orchestrator/results/trial_names.h"
#include "orchestrator/service/repair.h"
#include "storage/files/path_status.h"

namespace retort::orchestrator::cli {
namespace {

// What was done, and where what was in the way is now.
struct Outcome {
  bool applied = false;
  std::string quarantine;
};

std::string PlanJson(const RepairPlan& plan, const std::string& directory, const Outcome& outcome) {
  nlohmann::ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["results"] = directory;
  document["applied"] = outcome.applied;
  document["quarantine"] =
      outcome.quarantine.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(outcome.quarantine);
  document["items"] = nlohmann::ordered_json::array();
  for (const RepairItem& item : plan.items)
    document["items"].push_back(
        {{"where", item.where}, {"what", item.what}, {"action", GetActionName(item.action)}, {"remedy", item.remedy}});
  document["notes"] = plan.notes;
  return FormatDocument(document);
}

std::string PlanText(const RepairPlan& plan, const std::string& directory, const Outcome& outcome, std::size_t width) {
  std::string out;
  for (const RepairItem& item : plan.items) {
    const bool beyond = item.action == RepairAction::none;
    out += Wrap(fmt::format("{}: {}: {}", beyond ? "beyond repair" : "damage", item.where, item.what), width, 2) +
           "\n" + Wrap("  -> " + item.remedy, width, 5) + "\n";
  }
  for (const std::string& note : plan.notes) out += Wrap("note: " + note, width, 2) + "\n";
  const std::size_t mendable = plan.items.size() - plan.BeyondRepair();
  if (plan.items.empty()) return out + directory + ": nothing to repair\n";
  if (!outcome.applied)
    return out + fmt::format("{}: {} can be repaired, {} cannot; `{}` does it and keeps what was there aside\n",
                             directory, mendable, plan.BeyondRepair(),
                             AddResultsOption("retort repair --apply", directory));
  out += fmt::format("{}: {} repaired, {} beyond repair", directory, mendable, plan.BeyondRepair());
  return out + (outcome.quarantine.empty() ? "\n" : "; what was there is in " + outcome.quarantine + "/\n");
}

}  // namespace

void AddRepair(CLI::App& app, CommandLine& line) {
  CLI::App* repair = AddCommand(app, "repair", "Say what is torn, missing or left over, and put it right");
  repair->add_flag("--apply", line.apply, "Do it; what is taken out of the way is kept in quarantine-<n>/");
}

int ExecuteRepair(const Invocation& call) {
  const Result<FoundResults> found = FindResults(call.env, call.line.global.results);
  if (!found.ok()) return call.console.Fail(found.status());
  const std::string& directory = found->directory;
  if (found->chosen) call.console.Message("results: " + directory);
  if (!storage::MayExist(call.env, directory)) return call.console.Fail(PlanRepair(call.env, directory).status());
  const auto lock = LockFolder(call.env, directory);
  if (!lock.ok()) return call.console.Fail(lock.status());
  const Result<RepairPlan> plan = PlanRepair(call.env, directory);
  if (!plan.ok()) return call.console.Fail(plan.status());
  Outcome outcome;
  if (call.line.apply) {
    const Result<std::string> quarantine = ApplyRepair(call.env, directory, *plan);
    if (!quarantine.ok()) return call.console.Fail(quarantine.status());
    outcome = {true, *quarantine};
  }
  call.console.Text(call.line.global.json ? PlanJson(*plan, directory, outcome)
                                          : PlanText(*plan, directory, outcome, call.console.options().width));
  const bool sound = outcome.applied ? plan->BeyondRepair() == 0 : plan->items.empty();
  return sound ? 0 : GetExitCode(StatusCode::damage);
}

}  // namespace retort::orchestrator::cli
