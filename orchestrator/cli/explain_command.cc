#include <chrono>
#include <nlohmann/json.hpp>

#include "orchestrator/cli/claim_json.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/device_json.h"
#include "orchestrator/cli/explanation.h"
#include "orchestrator/cli/known_costs.h"
#include "orchestrator/cli/open_results.h"
#include "orchestrator/cli/text_table.h"
#include "orchestrator/cli/trial_json.h"
#include "orchestrator/cli/trial_names.h"

namespace retort::orchestrator::cli {

int ExplainCommand(const Invocation& call) {
  const Result<ResultsView> view = OpenShownResults(call);
  if (!view.ok()) return call.console.Fail(view.status());
  const Result<const TrialView*> trial = FindTrial(*view, call.line.trial);
  if (!trial.ok()) return call.console.Fail(trial.status());
  const double now =
      NowFor(*view, std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
  const RootCharges root = ReadRoot(call.env, *view);
  const Explanation explanation = Explain(*view, **trial, now, KnownCosts(OpenCosts(call), &*view), &root);
  if (call.line.global.json) {
    nlohmann::ordered_json document;
    document["schema_version"] = kSchemaVersion;
    document.update(TrialJson(**trial));
    document["explanation"] = explanation.sentences;
    document["devices"] = DevicesJson(DevicesOf(*view));
    document["next"] = explanation.next;
    call.console.Data(DocumentText(document));
    return 0;
  }
  const std::size_t width = call.console.options().width;
  std::string out = ShownName((*trial)->spec) + ": " + std::string(StateName((*trial)->state)) + "\n";
  for (const std::string& sentence : explanation.sentences) out += "  " + Wrap(sentence, width - 2, 2) + "\n";
  if (!explanation.next.empty()) out += Wrap("Next: " + explanation.next, width, 2) + "\n";
  call.console.Text(out);
  return 0;
}

}  // namespace retort::orchestrator::cli
