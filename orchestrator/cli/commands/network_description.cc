#include "orchestrator/cli/commands/network_description.h"

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "cluster/launch_environment.h"
#include "cluster/worker_process.h"
#include "cluster/worker_questions.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/spec_codec.h"
#include "experiments/privacy/image_claims.h"
#include "orchestrator/agent/worker_query.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/version.h"
#include "orchestrator/process/environment.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator::cli {

using nlohmann::ordered_json;

std::vector<storage::TensorBlob> SelectState(const std::vector<storage::TensorBlob>& parameters,
                                             const std::string& prefix) {
  std::vector<storage::TensorBlob> state;
  for (const storage::TensorBlob& blob : parameters) {
    if (!blob.name.starts_with(prefix)) continue;
    state.push_back(blob);
    state.back().name = blob.name.substr(prefix.size());
  }
  return state;
}

Result<std::string> AskAboutNetwork(const Invocation& call, const TrialSpec& spec, const char* argument) {
  return AskAboutNetwork(call, spec, argument, EncodeTrialSpec(spec));
}

Result<std::string> AskAboutNetwork(const Invocation& call, const TrialSpec& spec, const char* argument,
                                    const std::string& order) {
  constexpr std::chrono::seconds kSilence{120};
  std::string program = cluster::FindVariable(call.environment, "RETORT_WORKER").value_or("");
  if (program.empty()) program = GetProgramDirectory() + "/retort-worker";
  return QueryWorker({program, cluster::MakeWorkerEnvironment(call.environment, {}), argument, order,
                      "the question about the network " + spec.network, kSilence},
                     [](const cluster::Progress&) {});
}

ordered_json DescribeTrial(const TrialSpec& spec, const std::vector<privacy::Claim>& claims) {
  RETORT_CHECK(spec.data != nullptr);
  const PixelScale scale = FindPixelScale(*spec.data);
  return {{"image", {spec.data->channels, spec.data->height, spec.data->width}},
          {"classes", spec.data->classes},
          {"mean", scale.mean},
          {"std", scale.std},
          {"trial", spec.id.Hex()},
          {"name", FormatTrialName(spec)},
          {"retort", FormatVersion()},
          {"claims", MakeClaimsJson(claims)}};
}

ordered_json DescribeGenerator(const TrialView& trial) {
  return DescribeTrial(trial.spec, trial.row ? privacy::ComputeImageClaims(trial.spec, trial.row->claims)
                                             : std::vector<privacy::Claim>());
}

Result<std::string> DescribeNetwork(const Invocation& call, const TrialView& trial) {
  constexpr std::int64_t kDescriptionVersion = 1;
  const TrialSpec& spec = trial.spec;
  RETORT_ASSIGN_OR_RETURN(const std::string answer, AskAboutNetwork(call, spec, cluster::kLayersArgument));
  ordered_json layers = ordered_json::parse(answer, nullptr, false);
  if (!layers.is_array() || !spec.data) return EnvironmentError("The worker program's answer is no list of layers.");
  ordered_json json = {{"version", kDescriptionVersion}, {"network", spec.network}};
  json.update(DescribeTrial(spec, trial.row ? trial.row->claims : std::vector<privacy::Claim>()));
  json["layers"] = std::move(layers);
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace retort::orchestrator::cli
