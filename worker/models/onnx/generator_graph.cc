#include "worker/models/onnx/generator_graph.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace retort::worker::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

std::string AddLinear(GraphBuilder& graph, const std::string& x, const std::string& name) {
  return graph.Add("Gemm", {x, graph.UseState(name + ".weight"), graph.UseState(name + ".bias")}, {{"transB", 1}});
}

std::string AddConv(GraphBuilder& graph, const std::string& x, const std::string& name, std::int64_t kernel,
                    bool bias) {
  std::vector<std::string> inputs = {x, graph.UseState(name + ".weight")};
  if (bias) inputs.push_back(graph.UseState(name + ".bias"));
  return graph.Add("Conv", std::move(inputs),
                   {{"kernel_shape", Integers(2, kernel)}, {"pads", Integers(4, kernel / 2)}});
}

// Of [rows, channels, ...] with `rank` extents, over all but the channels, by the statistics of the batch.
std::string AddNormalised(GraphBuilder& graph, const std::string& x, std::int64_t rank, double epsilon) {
  Integers others = {0};
  for (std::int64_t axis = 2; axis < rank; ++axis) others.push_back(axis);
  const auto mean = [&](const std::string& of) {
    return graph.Add("ReduceMean", {of}, {{"axes", others}, {"keepdims", 1}});
  };
  const std::string centred = graph.Add("Sub", {x, mean(x)});
  const std::string variance = mean(graph.Add("Mul", {centred, centred}));
  const std::string deviation = graph.Add("Sqrt", {graph.Add("Add", {variance, graph.AddNumber(epsilon)})});
  return graph.Add("Div", {centred, deviation});
}

std::string AddBatchNorm(GraphBuilder& graph, const std::string& x, const std::string& name, std::int64_t rank,
                         double epsilon) {
  Shape channels(static_cast<std::size_t>(rank), 1);
  channels[1] = -1;
  const std::string normed = AddNormalised(graph, x, rank, epsilon);
  const std::string scaled = graph.Add("Mul", {normed, graph.Reshape(graph.UseState(name + ".weight"), channels)});
  return graph.Add("Add", {scaled, graph.Reshape(graph.UseState(name + ".bias"), channels)});
}

std::string AddDoubled(GraphBuilder& graph, const std::string& x, bool bilinear) {
  const std::string factors = graph.AddTensor(at::tensor({1.0F, 1.0F, 2.0F, 2.0F}));
  std::vector<storage::OnnxAttribute> form = {
      {"mode", "nearest"}, {"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}};
  if (bilinear) form = {{"mode", "linear"}, {"coordinate_transformation_mode", "align_corners"}};
  return graph.Add("Resize", {x, "", factors}, std::move(form));
}

std::string AddByChannel(GraphBuilder& graph, const char* op, const std::string& x, const std::vector<double>& values) {
  return graph.Add(op, {x, graph.AddTensor(at::tensor(values, at::kDouble).to(at::kFloat).view({1, -1, 1, 1}))});
}

Shape WithRows(ImageShape image) { return {storage::kAnyRows, image.channels, image.height, image.width}; }

}  // namespace

StatelessGraph MakeGeneratorGraph(ImageShape image, const GeneratorSettings& settings) {
  GraphBuilder graph("generator");
  const bool fast = settings.network == GeneratorNetwork::fast;
  const Generator::Stages stages = Generator::FindStages(image, settings);
  const auto shrink = std::int64_t{1} << stages.widths.size();
  std::string x = graph.AddInput(kLatentInput, storage::DType::f32, {storage::kAnyRows, settings.latent});
  x = graph.Reshape(AddLinear(graph, x, "fc"), {0, settings.width, image.height / shrink, image.width / shrink});
  x = AddBatchNorm(graph, x, "bn0", 4, Generator::kOuterEpsilon);
  int stage = 1;
  for (; stage <= std::ssize(stages.widths); ++stage) {
    const std::string number = std::to_string(stage);
    graph.Enter(number);
    x = AddConv(graph, AddDoubled(graph, x, /*bilinear=*/false), "conv" + number, 3, !fast);
    x = AddBatchNorm(graph, x, "bn" + number, 4, stages.epsilon);
    x = graph.Add("LeakyRelu", {x}, {{"alpha", Generator::kSlope}});
  }
  graph.Enter("end");
  x = AddConv(graph, x, "conv" + std::to_string(stage), 3, true);
  if (!fast) {
    x = AddNormalised(graph, graph.Add("Tanh", {x}), 4, Generator::kOuterEpsilon);
  } else {
    x = graph.Add("Sigmoid", {x});
    if (!settings.scale.mean.empty())
      x = AddByChannel(graph, "Div", AddByChannel(graph, "Sub", x, settings.scale.mean), settings.scale.std);
  }
  return std::move(graph).Finish(x, kPictures, WithRows(image));
}

StatelessGraph MakeGeneratorGraph(ImageShape image, std::int64_t classes,
                                  const ConditionalGeneratorSettings& settings) {
  constexpr std::int64_t kShrink = ConditionalGenerator::kShrink, kKernel = ConditionalGenerator::kKernel;
  GraphBuilder graph("generator");
  const std::string latent = graph.AddInput(kLatentInput, storage::DType::f32, {storage::kAnyRows, settings.code}),
                    label = graph.AddInput(kLabelInput, storage::DType::i64, {storage::kAnyRows});
  const std::string off_and_on = graph.AddTensor(at::tensor({0.0F, 1.0F}));
  const std::string chosen = graph.Add("OneHot", {label, graph.AddInteger(classes), off_and_on}, {{"axis", -1}});
  std::string x = graph.Add("Concat", {latent, chosen}, {{"axis", 1}});
  x = graph.Add("Relu", {AddBatchNorm(graph, AddLinear(graph, x, "fc1"), "bn1", 2, Generator::kOuterEpsilon)});
  x = AddBatchNorm(graph, AddLinear(graph, x, "fc2"), "bn2", 2, Generator::kOuterEpsilon);
  x = graph.Reshape(x, {0, settings.width, image.height / kShrink, image.width / kShrink});
  x = graph.Add("Relu", {AddConv(graph, AddDoubled(graph, x, /*bilinear=*/true), "conv1", kKernel, true)});
  x = graph.Add("Sigmoid", {AddConv(graph, AddDoubled(graph, x, /*bilinear=*/true), "conv2", kKernel, true)});
  return std::move(graph).Finish(x, kPictures, WithRows(image));
}

}  // namespace retort::worker::onnx
