#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "orchestrator/cli/claim_json.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/printed_command.h"
#include "orchestrator/cli/results_location.h"
#include "orchestrator/cli/text_table.h"
#include "orchestrator/folder_lock.h"
#include "orchestrator/repair.h"
#include "storage/presence.h"

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
    document["items"].push_back({{"where", item.where},
                                 {"what", item.what},
                                 {"action", ActionName(item.action)},
                                 {"remedy", item.remedy}});
  document["notes"] = plan.notes;
  return DocumentText(document);
}

std::string PlanText(const RepairPlan& plan, const std::string& directory, const Outcome& outcome,
                     std::size_t width) {
  std::string out;
  for (const RepairItem& item : plan.items) {
    const bool beyond = item.action == RepairAction::none;
    out += Wrap(fmt::format("{}: {}: {}", beyond ? "beyond repair" : "damage", item.where, item.what), width,
                2) +
           "\n" + Wrap("  -> " + item.remedy, width, 5) + "\n";
  }
  for (const std::string& note : plan.notes) out += Wrap("note: " + note, width, 2) + "\n";
  const std::size_t mendable = plan.items.size() - plan.BeyondRepair();
  if (plan.items.empty()) return out + directory + ": nothing to repair\n";
  if (!outcome.applied)
    return out + fmt::format(
                     "{}: {} can be repaired, {} cannot; `{}` does it and keeps what was there aside\n", directory,
                     mendable, plan.BeyondRepair(), AtResults("retort repair --apply", directory));
  out += fmt::format("{}: {} repaired, {} beyond repair", directory, mendable, plan.BeyondRepair());
  return out + (outcome.quarantine.empty() ? "\n" : "; what was there is in " + outcome.quarantine + "/\n");
}

}  // namespace

int RepairCommand(const Invocation& call) {
  const Result<FoundResults> found = FindResults(call.env, call.line.global.results);
  if (!found.ok()) return call.console.Fail(found.status());
  const std::string& directory = found->directory;
  if (found->chosen) call.console.Message("results: " + directory);
  if (!storage::MayBeThere(call.env, directory)) return call.console.Fail(PlanRepair(call.env, directory).status());
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
  call.console.Text(call.line.global.json
                        ? PlanJson(*plan, directory, outcome)
                        : PlanText(*plan, directory, outcome, call.console.options().width));
  const bool sound = outcome.applied ? plan->BeyondRepair() == 0 : plan->items.empty();
  return sound ? 0 : ExitCode(StatusCode::damage);
}

}  // namespace retort::orchestrator::cli
