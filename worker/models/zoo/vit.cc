// ViT-B/16 (Dosovitskiy et al. 2021).
#include <cmath>

#include "worker/models/zoo/zoo.h"

namespace retort::worker::zoo {
namespace {

using Kind = LayerKind;

constexpr std::int64_t kPatch = 16, kWidth = 768, kHeads = 12, kHidden = 3072, kBlocks = 12;
constexpr double kNormEpsilon = 1e-6;

void AddLayerNorm(LayerList& list, std::string name) {
  list.Add({.kind = Kind::layer_norm, .name = std::move(name), .epsilon = kNormEpsilon});
}

void AddMlpLinear(LayerList& list, std::string name, std::int64_t out) {
  list.Add({.kind = Kind::linear,
            .name = std::move(name),
            .out = out,
            .init = Init::xavier,
            .bias_init = Init::normal,
            .bias_spread = 1e-6});
}

void AddBlock(LayerList& list, const std::string& name) {
  const std::int32_t start = list.last();
  AddLayerNorm(list, name + ".ln_1");
  // "in_proj_weight", not "in_proj.weight".
  list.Add({.kind = Kind::linear,
            .name = name + ".self_attention.in_proj",
            .out = 3 * kWidth,
            .init = Init::xavier,
            .bias_init = Init::zero,
            .joint = '_'});
  list.Add({.kind = Kind::attention, .groups = kHeads});
  const std::int32_t attended = list.Add(
      {.kind = Kind::linear, .name = name + ".self_attention.out_proj", .out = kWidth, .bias_init = Init::zero});
  const std::int32_t middle = list.Join(Kind::add, {attended, start});
  AddLayerNorm(list, name + ".ln_2");
  AddMlpLinear(list, name + ".mlp.0", kHidden);
  list.Add(Kind::gelu);
  AddMlpLinear(list, name + ".mlp.3", kWidth);
  list.Join(Kind::add, {list.last(), middle});
}

}  // namespace

std::vector<Layer> VitB16(std::int64_t classes) {
  LayerList list;
  const std::int32_t first =
      list.Add({.kind = Kind::class_token, .name = "class_token", .out = kWidth, .init = Init::zero});
  // Deviation for three channels; for one it stays. torchvision truncates at +-2, far outside.
  const std::int32_t patches = list.Add({.kind = Kind::conv,
                                         .name = "conv_proj",
                                         .out = kWidth,
                                         .kernel = kPatch,
                                         .stride = kPatch,
                                         .init = Init::normal,
                                         .bias_init = Init::zero,
                                         .spread = std::sqrt(1.0 / (3 * kPatch * kPatch))},
                                        kImages);
  list.Add({.kind = Kind::tokens,
            .name = "encoder.pos_embedding",
            .inputs = {patches, first},
            .init = Init::normal,
            .spread = 0.02});
  for (std::int64_t i = 0; i < kBlocks; ++i) AddBlock(list, "encoder.layers.encoder_layer_" + std::to_string(i));
  AddLayerNorm(list, "encoder.ln");
  list.Add(Kind::first_token);
  list.Add({.kind = Kind::linear, .name = "heads.head", .out = classes, .init = Init::zero, .bias_init = Init::zero});
  return std::move(list).Take();
}

}  // namespace retort::worker::zoo
