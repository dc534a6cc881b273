#include "orchestrator/cli/commands/torchscript_export.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "cluster/worker_questions.h"
#include "experiments/base/json.h"
#include "experiments/methods/spec_codec.h"
#include "orchestrator/cli/commands/network_description.h"
#include "storage/files/temporary_folder.h"

namespace retort::orchestrator::cli {
namespace {

Result<std::string> AskForModule(const Invocation& call, const ResultsView& view, const TrialView& trial,
                                 cluster::ScriptOrder order) {
  namespace fs = std::filesystem;
  RETORT_ASSIGN_OR_RETURN(const storage::TemporaryFolder folder, storage::TemporaryFolder::For(call.line.out));
  order.spec = EncodeTrialSpec(trial.spec);
  order.attempt_file = fs::absolute(fs::path(view.directory) / trial.row->attempt_file).string();
  order.out = fs::absolute(fs::path(folder.path()) / "module.pt").string();
  RETORT_ASSIGN_OR_RETURN(const std::string answer, AskAboutNetwork(call, trial.spec, cluster::kScriptArgument,
                                                                    cluster::EncodeScriptOrder(order)));
  return call.env.ReadFile(order.out);
}

}  // namespace

Result<std::string> EncodeTorchScriptNetwork(const Invocation& call, const ResultsView& view, const TrialView& trial) {
  nlohmann::ordered_json description = {{"network", trial.spec.network}};
  description.update(DescribeTrial(trial.spec, trial.row->claims));
  return AskForModule(call, view, trial,
                      {.spec = "", .attempt_file = "", .out = "", .description = DumpJson(description)});
}

Result<std::string> EncodeTorchScriptGenerator(const Invocation& call, const ResultsView& view,
                                               const TrialView& trial) {
  return AskForModule(call, view, trial,
                      {.spec = "",
                       .attempt_file = "",
                       .out = "",
                       .description = DumpJson(DescribeGenerator(trial)),
                       .generator = true});
}

}  // namespace retort::orchestrator::cli
