#include <CLI/CLI.hpp>
#include <chrono>
#include <nlohmann/json.hpp>

#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/render/explanation.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/text_table.h"
#include "orchestrator/results/cost_history.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator::cli {

void AddExplain(CLI::App& app, RawWords& words) {
  CLI::App* explain = AddCommand(app, "explain", "Why a trial waits, failed, or costs what it costs");
  explain->add_option("TRIAL", words.trial, "Id, unique prefix of an id, or shown name")->required();
}

int ExecuteExplain(const Invocation& call) {
  const Result<ResultsView> view = OpenShownResults(call);
  if (!view.ok()) return call.console.Fail(view.status());
  const Result<const TrialView*> trial = FindTrial(*view, call.line.trial);
  if (!trial.ok()) return call.console.Fail(trial.status());
  const double now =
      ChooseNow(*view, std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  const RootCharges root = ReadRoot(call.env, *view);
  const Explanation explanation = Explain(*view, **trial, now, ReadKnownCosts(OpenCosts(call), &*view), &root);
  if (call.line.global.json) {
    nlohmann::ordered_json document;
    document["schema_version"] = kSchemaVersion;
    document.update(MakeTrialJson(**trial));
    document["explanation"] = explanation.sentences;
    document["devices"] = MakeDevicesJson(ListDevices(*view));
    document["next"] = explanation.next;
    call.console.Data(FormatDocument(document));
    return 0;
  }
  const std::size_t width = call.console.options().width;
  std::string out = FormatTrialName((*trial)->spec) + ": " + std::string(GetStateName((*trial)->state)) + "\n";
  for (const std::string& sentence : explanation.sentences) out += "  " + Wrap(sentence, width - 2, 2) + "\n";
  if (!explanation.next.empty()) out += Wrap("Next: " + explanation.next, width, 2) + "\n";
  call.console.Text(out);
  return 0;
}

}  // namespace retort::orchestrator::cli
