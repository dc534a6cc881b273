#include "worker/models/layer_text.h"

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "experiments/base/json.h"
#include "experiments/base/status.h"

namespace retort::worker {
namespace {

using nlohmann::ordered_json;

// In the order of LayerKind.
constexpr std::array<std::string_view, 34> kKindNames = {"conv",
                                                         "linear",
                                                         "relu",
                                                         "tanh",
                                                         "max_pool",
                                                         "dropout",
                                                         "flatten",
                                                         "batch_norm",
                                                         "group_norm",
                                                         "layer_norm",
                                                         "relu6",
                                                         "gelu",
                                                         "leaky",
                                                         "attention",
                                                         "class_token",
                                                         "tokens",
                                                         "first_token",
                                                         "avg_pool",
                                                         "adaptive_avg_pool",
                                                         "add",
                                                         "concat",
                                                         "channel_slice",
                                                         "channel_shuffle",
                                                         "affine",
                                                         "spatial_mean",
                                                         "hog",
                                                         "patches",
                                                         "scattering",
                                                         "whiten",
                                                         "pad_shortcut",
                                                         "sigmoid",
                                                         "reshape",
                                                         "upsample",
                                                         "conv_transpose"};
static_assert(kKindNames.size() == static_cast<std::size_t>(LayerKind::conv_transpose) + 1);

ordered_json FormatLayer(const Layer& layer) {
  const Layer plain{.kind = layer.kind};
  ordered_json json = {{"kind", GetKindName(layer.kind)}};
  const auto put = [&json](const char* key, const auto& value, const auto& usual) {
    if (value != usual) json[key] = value;
  };
  put("name", layer.name, plain.name);
  put("out", layer.out, plain.out);
  put("kernel", layer.kernel, plain.kernel);
  put("stride", layer.stride, plain.stride);
  put("padding", layer.padding, plain.padding);
  put("rate", layer.rate, plain.rate);
  put("inputs", layer.inputs, plain.inputs);
  put("groups", layer.groups, plain.groups);
  put("dilation", layer.dilation, plain.dilation);
  put("first", layer.first, plain.first);
  put("bias", layer.bias, plain.bias);
  put("ceil", layer.ceil, plain.ceil);
  put("epsilon", layer.epsilon, plain.epsilon);
  put("momentum", layer.momentum, plain.momentum);
  put("scale", layer.scale, plain.scale);
  put("shift", layer.shift, plain.shift);
  if (layer.joint != plain.joint) json["joint"] = std::string(1, layer.joint);
  if (layer.kind == LayerKind::whiten) put("spread", layer.spread, plain.spread);  // elsewhere of how it begins
  return json;
}

}  // namespace

std::string GetKindName(LayerKind kind) {
  const auto at = static_cast<std::size_t>(kind);
  RETORT_CHECK(at < kKindNames.size());
  return std::string(kKindNames[at]);
}

std::string FormatLayers(const std::vector<Layer>& layers) {
  ordered_json list = ordered_json::array();
  for (const Layer& layer : layers) list.push_back(FormatLayer(layer));
  return DumpJson(list);
}

}  // namespace retort::worker
