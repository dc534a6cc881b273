#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "experiments/base/number_text.h"
#include "experiments/base/printable.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/text_table.h"
#include "orchestrator/results/sweep_status.h"
#include "orchestrator/results/trial_fields.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator::cli {
namespace {

std::string FormatAccuracy(const TrialView& trial) {
  if (!trial.row) return "";
  for (const auto& [name, value] : trial.row->metrics)
    if (name == "test.accuracy") return FormatPercent(value) + " %";
  return "";
}

std::string ListText(const std::vector<const TrialView*>& trials) {
  TextTable table({"trial", "state", "attempts", "test.accuracy", "failure"},
                  {Align::left, Align::left, Align::right, Align::right, Align::left});
  for (const TrialView* trial : trials)
    table.Add({FormatTrialName(trial->spec), std::string(GetStateName(trial->state)), std::to_string(trial->attempts),
               FormatAccuracy(*trial), FindFailureWord(*trial)});
  return table.Render() + FormatTrialCount(static_cast<std::int64_t>(trials.size())) + "\n";
}

std::string NamesText(const std::vector<const TrialView*>& trials) {
  std::string text;
  for (const TrialView* trial : trials) text += FormatTrialName(trial->spec) + "\n";
  return text;
}

void PrintJson(const Console& console, const std::vector<const TrialView*>& trials) {
  nlohmann::ordered_json document;
  document["schema_version"] = kSchemaVersion;
  WriteWithArray([&console](std::string_view text) { console.Data(text); }, document, "trials", trials.size(),
                 [&trials](std::size_t i) { return FormatTrialJson(*trials[i]); });
}

}  // namespace

void AddList(CLI::App& app, CommandLine& line) {
  CLI::App* list = AddCommand(app, "list", "All trials of a results folder");
  list->add_option("--where", line.list.where, "KEY=VALUE that must hold; may be repeated")->take_all();
  list->add_flag("--names", line.list.names, "Their names alone, a line each");
}

int ExecuteList(const Invocation& call) {
  const Result<WhereFilter> filter = WhereFilter::Parse(call.line.list.where);
  if (!filter.ok()) return call.console.Fail(filter.status());
  const Result<ResultsView> view = OpenShownResults(call);
  if (!view.ok()) return call.console.Fail(view.status());
  if (const Status keys = filter->CheckKeys(*view); !keys.ok()) return call.console.Fail(keys);
  if (const Status values = filter->CheckValues(*view); !values.ok()) return call.console.Fail(values);
  std::vector<const TrialView*> kept;
  for (const TrialView& trial : view->trials)
    if (filter->Holds(trial)) kept.push_back(&trial);
  if (call.line.global.json)
    PrintJson(call.console, kept);
  else
    call.console.Data(MakePrintable(call.line.list.names ? NamesText(kept) : ListText(kept)));
  return 0;
}

}  // namespace retort::orchestrator::cli
