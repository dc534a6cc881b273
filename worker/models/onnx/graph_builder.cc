#include "worker/models/onnx/graph_builder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "experiments/base/status.h"
#include "worker/tensors/tensor_codec.h"

namespace retort::worker::onnx {
namespace {

constexpr std::size_t kMaxSharedBytes = std::size_t{1} << 16;  // of constants that are kept once, however often used

template <typename T>
storage::TensorBlob MakeBlob(storage::DType dtype, Shape shape, const std::vector<T>& values) {
  storage::TensorBlob blob{"", dtype, std::move(shape), {}};
  blob.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(blob.bytes.data(), values.data(), blob.bytes.size());
  return blob;
}

}  // namespace

Shape AddRows(Shape of_one) {
  of_one.insert(of_one.begin(), storage::kAnyRows);
  return of_one;
}

GraphBuilder::GraphBuilder(std::string name) { built_.graph.name = std::move(name); }

std::string GraphBuilder::AddInput(const std::string& name, storage::DType dtype, Shape shape) {
  built_.graph.inputs.push_back({name, dtype, std::move(shape)});
  return name;
}

// With a slash, which no tensor of a state has.
std::string GraphBuilder::MakeName(const std::string& word) {
  const std::string name = scope_ + "/" + word;
  const int before = names_[name]++;
  return before == 0 ? name : name + "_" + std::to_string(before);
}

std::string GraphBuilder::Add(const std::string& op, std::vector<std::string> inputs,
                              std::vector<storage::OnnxAttribute> attributes) {
  const std::string name = MakeName(op);
  built_.graph.nodes.push_back({op, name, std::move(inputs), {name}, std::move(attributes)});
  return name;
}

std::string GraphBuilder::UseState(const std::string& name) {
  if (used_.insert(name).second) built_.state.push_back(name);
  return name;
}

std::string GraphBuilder::AddConstant(storage::TensorBlob tensor) {
  std::string key;
  if (tensor.bytes.size() <= kMaxSharedBytes) {
    key = std::to_string(static_cast<int>(tensor.dtype));
    for (const std::int64_t extent : tensor.shape) key += " " + std::to_string(extent);
    key += ":" + std::string(tensor.bytes.begin(), tensor.bytes.end());
    if (const auto found = constants_.find(key); found != constants_.end()) return found->second;
  }
  tensor.name = MakeName("constant");
  if (!key.empty()) constants_.emplace(key, tensor.name);
  built_.graph.constants.push_back(std::move(tensor));
  return built_.graph.constants.back().name;
}

std::string GraphBuilder::AddTensor(const at::Tensor& values) {
  RETORT_CHECK(values.scalar_type() == at::kFloat);
  return AddConstant(MakeTensorBlob("", values));
}

std::string GraphBuilder::AddNumber(double value) {
  return AddConstant(MakeBlob<float>(storage::DType::f32, {}, {static_cast<float>(value)}));
}

std::string GraphBuilder::AddInteger(std::int64_t value) {
  return AddConstant(MakeBlob<std::int64_t>(storage::DType::i64, {}, {value}));
}

std::string GraphBuilder::AddIntegers(const std::vector<std::int64_t>& values) {
  return AddConstant(MakeBlob(storage::DType::i64, {std::ssize(values)}, values));
}

std::string GraphBuilder::Reshape(const std::string& x, const Shape& shape) {
  return Add("Reshape", {x, AddIntegers(shape)});
}

std::string GraphBuilder::Slice(const std::string& x, std::int64_t axis, std::int64_t first, std::int64_t past,
                                std::int64_t step) {
  return Add("Slice", {x, AddIntegers({first}), AddIntegers({past}), AddIntegers({axis}), AddIntegers({step})});
}

std::string GraphBuilder::Pad(const std::string& x, const std::vector<std::int64_t>& pads, const std::string& mode,
                              double value) {
  std::vector<std::string> inputs = {x, AddIntegers(pads)};
  if (mode == "constant") inputs.push_back(AddNumber(value));
  return Add("Pad", std::move(inputs), {{"mode", mode}});
}

std::string GraphBuilder::Scale(const std::string& x, double factor) { return Add("Mul", {x, AddNumber(factor)}); }

std::string GraphBuilder::Normalise(const std::string& x, std::int64_t rank, double epsilon) {
  std::vector<std::int64_t> others = {0};
  for (std::int64_t axis = 2; axis < rank; ++axis) others.push_back(axis);
  const auto average = [&](const std::string& of) {
    return Add("ReduceMean", {of}, {{"axes", others}, {"keepdims", 1}});
  };
  const std::string centred = Add("Sub", {x, average(x)});
  const std::string variance = average(Add("Mul", {centred, centred}));
  return Add("Div", {centred, Add("Sqrt", {Add("Add", {variance, AddNumber(epsilon)})})});
}

std::string GraphBuilder::ScaleChannels(const std::string& x, std::int64_t rank, const std::string& weight,
                                        const std::string& bias) {
  Shape channels(static_cast<std::size_t>(rank), 1);
  channels[1] = -1;
  const std::string scaled = Add("Mul", {x, Reshape(UseState(weight), channels)});
  return Add("Add", {scaled, Reshape(UseState(bias), channels)});
}

std::string GraphBuilder::NormaliseAndScale(const std::string& x, std::int64_t rank, double epsilon,
                                            const std::string& name) {
  return ScaleChannels(Normalise(x, rank, epsilon), rank, name + ".weight", name + ".bias");
}

std::string GraphBuilder::MultiplyByState(const std::string& x, const std::string& weight, const std::string& bias) {
  std::vector<std::string> inputs = {x, UseState(weight)};
  if (!bias.empty()) inputs.push_back(UseState(bias));
  return Add("Gemm", std::move(inputs), {{"transB", 1}});
}

std::string GraphBuilder::CombineByChannel(const std::string& op, const std::string& x,
                                           const std::vector<double>& values) {
  return Add(op, {x, AddTensor(at::tensor(values, at::kDouble).to(at::kFloat).view({1, -1, 1, 1}))});
}

std::string GraphBuilder::Enlarge(const std::string& x, std::int64_t factor, bool bilinear) {
  const auto times = static_cast<float>(factor);
  const std::string factors = AddTensor(at::tensor({1.0F, 1.0F, times, times}));
  std::vector<storage::OnnxAttribute> form = {
      {"mode", "nearest"}, {"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}};
  if (bilinear) form = {{"mode", "linear"}, {"coordinate_transformation_mode", "align_corners"}};
  return Add("Resize", {x, "", factors}, std::move(form));
}

std::string GraphBuilder::AtLeast(const std::string& x, double least) { return Add("Max", {x, AddNumber(least)}); }

StatelessGraph GraphBuilder::Finish(const std::string& value, const std::string& output, Shape shape) && {
  std::vector<storage::OnnxNode>& nodes = built_.graph.nodes;
  const bool made = std::any_of(nodes.begin(), nodes.end(),
                                [&value](const storage::OnnxNode& node) { return node.outputs.front() == value; });
  if (!made) nodes.push_back({"Identity", output, {value}, {output}});
  for (storage::OnnxNode& node : nodes) {
    std::replace(node.inputs.begin(), node.inputs.end(), value, made ? output : value);
    std::replace(node.outputs.begin(), node.outputs.end(), value, output);
  }
  built_.graph.outputs.push_back({output, storage::DType::f32, std::move(shape)});
  return std::move(built_);
}

}  // namespace retort::worker::onnx
