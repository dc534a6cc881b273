// Networks for small devices: MobileNetV2 (Sandler et al. 2018) and ShuffleNetV2 (Ma et al. 2018), both of width 1.
#include "worker/models/zoo/zoo.h"

namespace retort::worker::zoo {
namespace {

using Kind = LayerKind;

struct ConvForm {
  std::int64_t out, kernel = 1, stride = 1, groups = 1;
  Init init = Init::usual;
};

// Convolution `first` and norm `second` of the sequence `name`.
std::int32_t AddUnit(LayerList& list, const std::string& name, int first, const ConvForm& form,
                     std::int32_t input = LayerList::kPrevious) {
  list.Add({.kind = Kind::conv,
            .name = name + "." + std::to_string(first),
            .out = form.out,
            .kernel = form.kernel,
            .stride = form.stride,
            .padding = form.kernel / 2,
            .groups = form.groups,
            .bias = false,
            .init = form.init},
           input);
  return list.BatchNorm(name + "." + std::to_string(first + 1));
}

// An inverted bottleneck of MobileNetV2.
void AddInverted(LayerList& list, const std::string& name, std::int64_t in, std::int64_t out, std::int64_t stride,
                 std::int64_t expansion) {
  const std::int32_t start = list.last();
  const std::int64_t hidden = in * expansion;
  int next = 0;
  const auto block = [&] { return name + ".conv." + std::to_string(next++); };
  if (expansion != 1) {
    AddUnit(list, block(), 0, {.out = hidden, .init = Init::kaiming_out});
    list.Add(Kind::relu6);
  }
  AddUnit(list, block(), 0,
          {.out = hidden, .kernel = 3, .stride = stride, .groups = hidden, .init = Init::kaiming_out});
  list.Add(Kind::relu6);
  const std::int32_t end = AddUnit(list, name + ".conv", next, {.out = out, .init = Init::kaiming_out});
  if (stride == 1 && in == out) list.Join(Kind::add, {end, start});
}

// Half of the channels pass by, or, where the extent halves, a second branch makes them.
void AddShuffled(LayerList& list, const std::string& name, std::int64_t in, std::int64_t out, std::int64_t stride) {
  const std::int32_t start = list.last();
  const std::int64_t half = out / 2;
  std::int32_t left = 0, right = start;
  if (stride > 1) {
    AddUnit(list, name + ".branch1", 0, {.out = in, .kernel = 3, .stride = stride, .groups = in}, start);
    AddUnit(list, name + ".branch1", 2, {.out = half});
    left = list.Add(Kind::relu);
  } else {
    left = list.Add({.kind = Kind::channel_slice, .out = half}, start);
    right = list.Add({.kind = Kind::channel_slice, .out = half, .first = half}, start);
  }
  AddUnit(list, name + ".branch2", 0, {.out = half}, right);
  list.Add(Kind::relu);
  AddUnit(list, name + ".branch2", 3, {.out = half, .kernel = 3, .stride = stride, .groups = half});
  AddUnit(list, name + ".branch2", 5, {.out = half});
  list.Join(Kind::concat, {left, list.Add(Kind::relu)});
  list.Add({.kind = Kind::channel_shuffle, .groups = 2});
}

}  // namespace

std::vector<Layer> MobileNetV2(std::int64_t classes) {
  struct Stage {
    std::int64_t expansion, out, repeats, stride;
  };
  constexpr std::array<Stage, 7> kStages = {
      {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}};
  LayerList list;
  AddUnit(list, "features.0", 0, {.out = 32, .kernel = 3, .stride = 2, .init = Init::kaiming_out});
  list.Add(Kind::relu6);
  std::int64_t in = 32;
  int index = 1;
  for (const Stage& stage : kStages) {
    for (std::int64_t i = 0; i < stage.repeats; ++i, ++index) {
      AddInverted(list, "features." + std::to_string(index), in, stage.out, i == 0 ? stage.stride : 1, stage.expansion);
      in = stage.out;
    }
  }
  AddUnit(list, "features.18", 0, {.out = 1280, .init = Init::kaiming_out});
  list.Add(Kind::relu6);
  list.Add({.kind = Kind::adaptive_avg_pool, .out = 1});
  list.Add(Kind::flatten);
  list.Add({.kind = Kind::dropout, .rate = 0.2});
  list.Add({.kind = Kind::linear,
            .name = "classifier.1",
            .out = classes,
            .init = Init::normal,
            .bias_init = Init::zero,
            .spread = 0.01});
  return std::move(list).Take();
}

std::vector<Layer> ShuffleNetV2(std::int64_t classes) {
  constexpr std::array<std::int64_t, 3> kRepeats = {4, 8, 4}, kWidths = {116, 232, 464};
  LayerList list;
  AddUnit(list, "conv1", 0, {.out = 24, .kernel = 3, .stride = 2});
  list.Add(Kind::relu);
  list.Add({.kind = Kind::max_pool, .kernel = 3, .stride = 2, .padding = 1});
  std::int64_t in = 24;
  for (std::size_t stage = 0; stage < kRepeats.size(); ++stage) {
    for (std::int64_t i = 0; i < kRepeats[stage]; ++i) {
      AddShuffled(list, "stage" + std::to_string(stage + 2) + "." + std::to_string(i), in, kWidths[stage],
                  i == 0 ? 2 : 1);
      in = kWidths[stage];
    }
  }
  AddUnit(list, "conv5", 0, {.out = 1024});
  list.Add(Kind::relu);
  list.Add(Kind::spatial_mean);
  list.Add({.kind = Kind::linear, .name = "fc", .out = classes});
  return std::move(list).Take();
}

}  // namespace retort::worker::zoo
