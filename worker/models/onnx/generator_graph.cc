#include "worker/models/onnx/generator_graph.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "worker/models/described_generator.h"
#include "worker/models/onnx/network_graph.h"

namespace retort::worker::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

std::string AddLinear(GraphBuilder& graph, const std::string& x, const std::string& name) {
  return graph.MultiplyByState(x, name + ".weight", name + ".bias");
}

std::string AddConv(GraphBuilder& graph, const std::string& x, const std::string& name, std::int64_t kernel,
                    bool bias) {
  std::vector<std::string> inputs = {x, graph.UseState(name + ".weight")};
  if (bias) inputs.push_back(graph.UseState(name + ".bias"));
  return graph.Add("Conv", std::move(inputs),
                   {{"kernel_shape", Integers(2, kernel)}, {"pads", Integers(4, kernel / 2)}});
}

// As PixelNormalisation.
std::string AddPixelScale(GraphBuilder& graph, const std::string& x, const PixelScale& scale) {
  if (scale.mean.empty()) return x;
  return graph.CombineByChannel("Div", graph.CombineByChannel("Sub", x, scale.mean), scale.std);
}

// Pixels of a described generator, which a tanh leaves between -1 and 1, between 0 and 1.
std::string AddBroughtToPixels(GraphBuilder& graph, const LatentLayers& network, const std::string& x) {
  if (network.layers.back().kind != LayerKind::tanh) return x;
  return graph.Scale(graph.Add("Add", {x, graph.AddNumber(1)}), 0.5);
}

Shape FindShape(ImageShape image) { return AddRows({image.channels, image.height, image.width}); }

// The latents and, behind them, one value a class.
std::string AddCodeAndClass(GraphBuilder& graph, std::int64_t code, std::int64_t classes) {
  const std::string latent = graph.AddInput(kLatentInput, storage::DType::f32, {storage::kAnyRows, code}),
                    label = graph.AddInput(kLabelInput, storage::DType::i64, {storage::kAnyRows});
  const std::string off_and_on = graph.AddTensor(at::tensor({0.0F, 1.0F}));
  const std::string chosen = graph.Add("OneHot", {label, graph.AddInteger(classes), off_and_on}, {{"axis", -1}});
  return graph.Add("Concat", {latent, chosen}, {{"axis", 1}});
}

// As MakeDescribedGenerator.
Result<StatelessGraph> MakeDescribedGraph(ImageShape image, const GeneratorSettings& settings) {
  RETORT_ASSIGN_OR_RETURN(const LatentLayers network, ReadLatentLayers(*settings.layers, {settings.latent, 0}, image));
  GraphBuilder graph("generator");
  const std::string start = graph.AddInput(kLatentInput, storage::DType::f32, {storage::kAnyRows, settings.latent});
  std::string x = AddLayers(graph, network.layers, network.plan, start, {settings.latent});
  graph.Enter("end");
  if (network.layers.back().kind != LayerKind::batch_norm)
    x = AddPixelScale(graph, AddBroughtToPixels(graph, network, x), settings.scale);
  return std::move(graph).Finish(x, kPictures, FindShape(image));
}

// As MakeDescribedConditionalGenerator.
Result<StatelessGraph> MakeDescribedGraph(ImageShape image, std::int64_t classes,
                                          const ConditionalGeneratorSettings& settings) {
  const LatentShape latents{settings.code, classes};
  RETORT_ASSIGN_OR_RETURN(const LatentLayers network, ReadLatentLayers(*settings.layers, latents, image));
  GraphBuilder graph("generator");
  const std::string start = AddCodeAndClass(graph, settings.code, classes);
  const std::string x = AddLayers(graph, network.layers, network.plan, start, {latents.values()});
  graph.Enter("end");
  return std::move(graph).Finish(AddBroughtToPixels(graph, network, x), kPictures, FindShape(image));
}

}  // namespace

Result<StatelessGraph> MakeGeneratorGraph(ImageShape image, const GeneratorSettings& settings) {
  if (settings.layers) return MakeDescribedGraph(image, settings);
  GraphBuilder graph("generator");
  const bool fast = settings.network == GeneratorNetwork::fast;
  const Generator::Stages stages = Generator::FindStages(image, settings);
  const auto shrink = std::int64_t{1} << stages.widths.size();
  std::string x = graph.AddInput(kLatentInput, storage::DType::f32, {storage::kAnyRows, settings.latent});
  x = graph.Reshape(AddLinear(graph, x, "fc"), {0, settings.width, image.height / shrink, image.width / shrink});
  x = graph.NormaliseAndScale(x, 4, Generator::kOuterEpsilon, "bn0");
  int stage = 1;
  for (; stage <= std::ssize(stages.widths); ++stage) {
    const std::string number = std::to_string(stage);
    graph.Enter(number);
    x = AddConv(graph, graph.Enlarge(x, 2, /*bilinear=*/false), "conv" + number, 3, !fast);
    x = graph.NormaliseAndScale(x, 4, stages.epsilon, "bn" + number);
    x = graph.Add("LeakyRelu", {x}, {{"alpha", Generator::kSlope}});
  }
  graph.Enter("end");
  x = AddConv(graph, x, "conv" + std::to_string(stage), 3, true);
  if (!fast) {
    x = graph.Normalise(graph.Add("Tanh", {x}), 4, Generator::kOuterEpsilon);
  } else {
    x = AddPixelScale(graph, graph.Add("Sigmoid", {x}), settings.scale);
  }
  return std::move(graph).Finish(x, kPictures, FindShape(image));
}

Result<StatelessGraph> MakeGeneratorGraph(ImageShape image, std::int64_t classes,
                                          const ConditionalGeneratorSettings& settings) {
  if (settings.layers) return MakeDescribedGraph(image, classes, settings);
  constexpr std::int64_t kShrink = ConditionalGenerator::kShrink, kKernel = ConditionalGenerator::kKernel;
  GraphBuilder graph("generator");
  std::string x = AddCodeAndClass(graph, settings.code, classes);
  x = graph.Add("Relu", {graph.NormaliseAndScale(AddLinear(graph, x, "fc1"), 2, Generator::kOuterEpsilon, "bn1")});
  x = graph.NormaliseAndScale(AddLinear(graph, x, "fc2"), 2, Generator::kOuterEpsilon, "bn2");
  x = graph.Reshape(x, {0, settings.width, image.height / kShrink, image.width / kShrink});
  x = graph.Add("Relu", {AddConv(graph, graph.Enlarge(x, 2, /*bilinear=*/true), "conv1", kKernel, true)});
  x = graph.Add("Sigmoid", {AddConv(graph, graph.Enlarge(x, 2, /*bilinear=*/true), "conv2", kKernel, true)});
  return std::move(graph).Finish(x, kPictures, FindShape(image));
}

}  // namespace retort::worker::onnx
