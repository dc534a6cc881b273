#include "worker/run/model_check.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cluster/worker_questions.h"
#include "experiments/base/digests.h"
#include "experiments/base/json.h"
#include "experiments/methods/spec_codec.h"
#include "storage/formats/npy_file.h"
#include "storage/weights/known_weights.h"
#include "worker/models/layer_text.h"
#include "worker/models/model_registry.h"
#include "worker/models/saved_models.h"
#include "worker/tensors/tensor_codec.h"

namespace retort::worker {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kRowsAtOnce = 16;
constexpr std::uint64_t kMaxInput = std::uint64_t{4} << 30;

// What a network is usually asked about, where the order does not say.
struct Usual {
  ImageShape image;
  std::int64_t classes;
};
Usual FindUsualInput(const std::string& network) {
  for (const char* name : {"alexnet", "vgg19_bn", "resnet18", "resnet34", "resnet50", "wide_resnet50_2", "densenet161",
                           "mobilenet_v2", "shufflenet_v2_x1_0", "googlenet", "googlenet-transform-input", "vit_b_16"})
    if (network == name) return {{3, 224, 224}, 1000};
  for (const char* part : {"cifar", "wrn", "conv-", "resnet", "cnn-128"})
    if (network.find(part) != std::string::npos) return {{3, 32, 32}, network.ends_with("cifar100") ? 100 : 10};
  return {{1, 28, 28}, 10};
}

Result<std::optional<storage::TensorBlob>> ReadInput(const cluster::ModelOrder& order, storage::Env& env) {
  if (order.input.empty()) return std::optional<storage::TensorBlob>();
  RETORT_ASSIGN_OR_RETURN(storage::TensorBlob input, storage::ReadNpy(env, order.input, kMaxInput));
  const bool sound = input.dtype == storage::DType::f32 && input.shape.size() == 4 && !input.bytes.empty();
  if (!sound)
    return UsageError(order.input + ": images are float32 [rows, channels, height, width]; save array.astype('<f4')");
  return std::optional(std::move(input));
}

Result<ImageShape> ChooseImageShape(const cluster::ModelOrder& order, const std::optional<storage::TensorBlob>& input) {
  ImageShape image = FindUsualInput(order.network).image;
  if (input) image = {input->shape[1], input->shape[2], input->shape[3]};
  const ImageShape asked{order.channels, order.height, order.width};
  if (asked.channels > 0) {
    if (input && asked != image) return UsageError(order.input + ": the images have another shape than --image says");
    image = asked;
  }
  return image;
}

template <typename Forward>
Result<at::Tensor> RunInParts(const at::Tensor& images, const Forward& forward) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  for (std::int64_t row = 0; row < images.size(0); row += kRowsAtOnce) {
    const std::int64_t rows = std::min(kRowsAtOnce, images.size(0) - row);
    RETORT_ASSIGN_OR_RETURN(at::Tensor part, forward(images.narrow(0, row, rows)));
    parts.push_back(std::move(part));
  }
  return at::cat(parts);
}

template <typename Forward>
Status AddLogits(const cluster::ModelOrder& order, storage::Env& env, const storage::TensorBlob& input,
                 const Forward& forward, ordered_json& report) {
  RETORT_ASSIGN_OR_RETURN(const at::Tensor images, MakeTensorFromBlob(input));
  RETORT_ASSIGN_OR_RETURN(const at::Tensor logits, RunInParts(images, forward));
  const storage::TensorBlob blob = MakeTensorBlob("", logits);
  if (!order.logits_out.empty()) RETORT_RETURN_IF_ERROR(storage::WriteNpy(env, order.logits_out, blob));
  report["logits"] = {{"path", order.logits_out}, {"shape", blob.shape}, {"finite", AreAllFinite({blob})}};
  return {};
}

ordered_json FormatKnownWeights(const storage::KnownWeights* known) {
  if (known == nullptr) return {};
  return {{"name", known->name},
          {"network", known->network},
          {"accuracy", known->accuracy},
          {"resize", known->resize},
          {"crop", known->crop},
          {"parameters", known->parameters},
          {"interpolation", known->bicubic ? "bicubic" : "bilinear"}};
}

ordered_json FormatWeights(const std::string& path, const storage::StateDict& saved) {
  return {{"path", path},
          {"container", saved.container},
          {"sha256", saved.digest},
          {"known", FormatKnownWeights(storage::FindKnownWeights(saved.digest))},
          {"nested_in", saved.path},
          {"left_out", saved.left_out},
          {"tensors", saved.tensors.size()}};
}

ordered_json FormatKeys(const storage::KeyReport& keys) {
  ordered_json renamed = ordered_json::array();
  for (const auto& [from, to] : keys.renamed) renamed.push_back({{"file", from}, {"network", to}});
  return {{"matched", keys.matched},
          {"missing", keys.missing},
          {"unexpected", keys.unexpected},
          {"misshaped", keys.misshaped},
          {"renamed", renamed},
          {"prefix", keys.prefix},
          {"zeroed", keys.zeroed},
          {"absent", keys.absent},
          {"dropped", keys.dropped},
          {"summary", storage::FormatKeyReport(keys)}};
}

// Parameters that run; all elements of the state.
void AddCounts(const Network& network, ordered_json& report) {
  std::int64_t parameters = 0, idle = 0, buffers = 0;
  for (const StateEntry& entry : network.state()) {
    std::int64_t count = 1;
    for (const std::int64_t extent : entry.shape) count *= extent;
    (entry.buffer ? buffers : entry.used ? parameters : idle) += count;
  }
  report["parameters"] = parameters;
  report["idle_parameters"] = idle;
  report["buffer_elements"] = buffers;
  report["state_entries"] = network.state().size();
}

Result<std::string> CheckScript(const cluster::ModelOrder& order, storage::Env& env) {
  RETORT_ASSIGN_OR_RETURN(const auto input, ReadInput(order, env));
  RETORT_ASSIGN_OR_RETURN(const std::string bytes, env.ReadFile(order.weights));
  RETORT_ASSIGN_OR_RETURN(const auto module, ScriptModule::Load(bytes, order.weights, at::kCPU));
  ordered_json report;
  report["network"] = "torchscript";
  report["parameters"] = module->parameters();
  report["weights"] = {
      {"path", order.weights}, {"container", "torchscript"}, {"sha256", ComputeSha256Hex(bytes)}, {"known", nullptr}};
  report["ok"] = true;
  const auto forward = [&](const at::Tensor& images) { return module->Classify(images); };
  if (input) RETORT_RETURN_IF_ERROR(AddLogits(order, env, *input, forward, report));
  return DumpJson(report);
}

}  // namespace

Result<std::string> CheckModel(const cluster::ModelOrder& order, storage::Env& env) {
  if (order.torchscript) return CheckScript(order, env);
  NetworkChoice choice = order.network;
  if (!order.layers.empty()) choice.layers = std::make_shared<const std::string>(order.layers);
  std::optional<storage::StateDict> saved;
  if (!order.weights.empty()) {
    RETORT_ASSIGN_OR_RETURN(saved, storage::ReadWeights(env, order.weights, {true, order.non_finite}));
  }
  RETORT_ASSIGN_OR_RETURN(const auto input, ReadInput(order, env));
  RETORT_ASSIGN_OR_RETURN(ImageShape image, ChooseImageShape(order, input));
  std::int64_t classes = order.classes > 0 ? order.classes : saved ? InferClasses(choice, image, saved->tensors) : 0;
  if (classes == 0) classes = FindUsualInput(order.network).classes;
  const bool assumed = saved && !input && order.channels == 0;
  if (assumed) image = InferImageShape(choice, image, classes, saved->tensors);
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Network> network,
                          MakeNetwork(choice, image, classes, RngStream(0, Purpose::parameters)));
  ordered_json report;
  report["network"] = order.network;
  AddCounts(*network, report);
  report["image"] = {image.channels, image.height, image.width};
  report["classes"] = classes;
  report["weights"] = saved ? FormatWeights(order.weights, *saved) : ordered_json();
  report["ok"] = true;
  if (saved) {
    RETORT_ASSIGN_OR_RETURN(const storage::KeyReport keys, LoadWeights(*network, std::move(saved->tensors)));
    report["keys"] = FormatKeys(keys);
    report["ok"] = keys.complete();
    const Status complete = storage::RequireComplete(keys, order.weights, order.network);
    report["refusal"] = complete.message();
    if (assumed && !keys.misshaped.empty())
      report["refusal"] = complete.message() + " Shapes may depend on the images: name theirs with --image.";
    if (!keys.complete()) return DumpJson(report);
  }
  const auto forward = [&](const at::Tensor& images) -> Result<at::Tensor> { return network->Forward(images).logits; };
  if (input) RETORT_RETURN_IF_ERROR(AddLogits(order, env, *input, forward, report));
  return DumpJson(report);
}

Status ServeModelCheck(cluster::SocketLink& link, const std::string& text, storage::Env& env) {
  const Result<cluster::ModelOrder> order = cluster::DecodeModelOrder(text);
  if (!order.ok()) return cluster::SendAnswer(link, order.status());
  return cluster::SendAnswer(link, CheckModel(*order, env));
}

namespace {

Result<std::string> DescribeLayers(const std::string& text) {
  RETORT_ASSIGN_OR_RETURN(const TrialSpec spec, DecodeTrialSpec(text));
  if (!spec.data) return UsageError("a trial without a data set trains no network");
  const DataSpec& data = *spec.data;
  RETORT_ASSIGN_OR_RETURN(const std::vector<Layer> layers,
                          MakeLayers(spec, {data.channels, data.height, data.width}, data.classes));
  return FormatLayers(layers);
}

}  // namespace

Status ServeLayers(cluster::SocketLink& link, const std::string& spec) {
  return cluster::SendAnswer(link, DescribeLayers(spec));
}

}  // namespace retort::worker
