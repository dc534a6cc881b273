#include "worker/run/exported_graph.h"

#include <utility>

#include "cluster/worker_questions.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/spec_codec.h"
#include "storage/formats/onnx_file.h"
#include "worker/methods/generator_source.h"
#include "worker/models/model_registry.h"
#include "worker/models/onnx/generator_graph.h"
#include "worker/models/onnx/network_graph.h"

namespace retort::worker {
namespace {

std::string EncodeAnswer(onnx::StatelessGraph graph) {
  return cluster::EncodeGraphAnswer({std::move(graph.state), storage::EncodeOnnxGraph(graph.graph)});
}

Result<TrialSpec> ReadSpec(const std::string& text) {
  RETORT_ASSIGN_OR_RETURN(TrialSpec spec, DecodeTrialSpec(text));
  if (!spec.data) return UsageError("a trial without a data set trains no network");
  return spec;
}

ImageShape FindShape(const DataSpec& data) { return {data.channels, data.height, data.width}; }

Result<std::string> DescribeNetwork(const std::string& text) {
  RETORT_ASSIGN_OR_RETURN(const TrialSpec spec, ReadSpec(text));
  const ImageShape image = FindShape(*spec.data);
  RETORT_ASSIGN_OR_RETURN(const std::vector<Layer> layers, MakeLayers(spec, image, spec.data->classes));
  RETORT_ASSIGN_OR_RETURN(onnx::StatelessGraph graph, onnx::MakeNetworkGraph(layers, image));
  return EncodeAnswer(std::move(graph));
}

Result<std::string> DescribeGenerator(const std::string& text) {
  RETORT_ASSIGN_OR_RETURN(const TrialSpec spec, ReadSpec(text));
  const ImageShape image = FindShape(*spec.data);
  const auto make = [&]() {
    if (ReleasesEmbedding(FindKind(spec)))
      return onnx::MakeGeneratorGraph(image, spec.data->classes, MakeConditionalSettings(spec));
    return onnx::MakeGeneratorGraph(image, MakeGeneratorSettings(spec, FindPixelScale(*spec.data)));
  };
  RETORT_ASSIGN_OR_RETURN(onnx::StatelessGraph graph, make());
  return EncodeAnswer(std::move(graph));
}

}  // namespace

Status ServeNetworkGraph(cluster::SocketLink& link, const std::string& spec) {
  return cluster::SendAnswer(link, DescribeNetwork(spec));
}

Status ServeGeneratorGraph(cluster::SocketLink& link, const std::string& spec) {
  return cluster::SendAnswer(link, DescribeGenerator(spec));
}

}  // namespace retort::worker
