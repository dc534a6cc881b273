#include "orchestrator/cli/commands/onnx_export.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cluster/worker_questions.h"
#include "experiments/base/json.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/network_layers.h"
#include "experiments/methods/networks.h"
#include "orchestrator/cli/commands/network_description.h"
#include "orchestrator/cli/render/version.h"
#include "orchestrator/results/trial_names.h"
#include "storage/formats/onnx_file.h"

namespace retort::orchestrator::cli {
namespace {

using nlohmann::ordered_json;

// The graph that the worker answers with, and the tensors of the state that it takes.
Result<std::string> CompleteGraph(const Invocation& call, const TrialView& trial, const char* argument,
                                  const std::vector<storage::TensorBlob>& state) {
  RETORT_ASSIGN_OR_RETURN(const std::string text, AskAboutNetwork(call, trial.spec, argument));
  RETORT_ASSIGN_OR_RETURN(cluster::GraphAnswer answer, cluster::DecodeGraphAnswer(text));
  std::vector<const storage::TensorBlob*> taken;
  std::size_t size = answer.graph.size();
  for (const std::string& name : answer.state) {
    const auto found = std::find_if(state.begin(), state.end(), [&](const auto& blob) { return blob.name == name; });
    if (found == state.end())
      return DamageError(FormatTrialName(trial.spec) + ": what the trial left lacks the tensor '" + name + "'.");
    taken.push_back(&*found);
    size += found->bytes.size();
  }
  RETORT_RETURN_IF_ERROR(storage::CheckOnnxSize(size));
  constexpr std::size_t kHead = 256, kDescription = 1 << 17;  // about what stands before a tensor, and around the graph
  answer.graph.reserve(size + kDescription + state.size() * kHead);
  for (const storage::TensorBlob* tensor : taken) storage::AppendOnnxConstant(answer.graph, *tensor);
  return std::move(answer.graph);
}

// Every member of the description by itself, for viewers of models, and the whole of it as in the other formats.
Result<std::string> EncodeModel(std::string graph, const std::string& what, const std::string& description,
                                const std::string& pixels) {
  storage::OnnxFacts facts;
  facts.producer_version = FormatVersion();
  const ordered_json json = TryParseOrderedJson(description);
  facts.description = what + " of trial " + json.value("name", "");
  for (const auto& [key, value] : json.items())
    if (key != "version" && key != "layers")
      facts.metadata.emplace_back(key == "retort" ? "program" : key,
                                  value.is_string() ? value.get<std::string>() : DumpJson(value));
  facts.metadata.emplace_back("pixels", pixels);
  facts.metadata.emplace_back("retort", description);
  return storage::EncodeOnnxModel(std::move(graph), facts);
}

// How a generator's output becomes pixels.
std::string DescribePixels(const TrialSpec& spec) {
  const std::string shape = "pictures: f32 [rows, channels, height, width]";
  if (ReleasesEmbedding(FindKind(spec))) return shape + ", pixels of 0 to 1";
  bool ranged = spec.generator.network != kNamedGenerators.front();  // DAFL's ends in a batch norm
  if (spec.generator.layers) {
    const Result<std::vector<NetworkLayer>> layers = ParseNetworkLayers(*spec.generator.layers);
    ranged = layers.ok() && !EndsInBatchNorm(*layers);
  }
  const std::string normalised = shape + "; times std, plus mean, one a channel, they are ";
  return normalised + (ranged ? "pixels of 0 to 1" : "about pixels: clamp to 0 to 1");
}

}  // namespace

Result<std::string> EncodeOnnxNetwork(const Invocation& call, const TrialView& trial,
                                      const std::vector<storage::TensorBlob>& state) {
  RETORT_ASSIGN_OR_RETURN(const std::string description, DescribeNetwork(call, trial));
  RETORT_ASSIGN_OR_RETURN(std::string graph, CompleteGraph(call, trial, cluster::kGraphArgument, state));
  return EncodeModel(
      std::move(graph), "the network", description,
      "image: f32 [rows, channels, height, width], each pixel of 0 to 1 less mean, over std, one a channel");
}

Result<std::string> EncodeOnnxGenerator(const Invocation& call, const TrialView& trial,
                                        const std::vector<storage::TensorBlob>& state) {
  RETORT_ASSIGN_OR_RETURN(std::string graph, CompleteGraph(call, trial, cluster::kGeneratorGraphArgument, state));
  return EncodeModel(std::move(graph), "the generator", DumpJson(DescribeGenerator(trial)),
                     DescribePixels(trial.spec) + "; each depends on the others of its batch");
}

}  // namespace retort::orchestrator::cli
