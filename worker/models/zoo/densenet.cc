// DenseNet-161 (Huang et al. 2017).
#include "worker/models/zoo/zoo.h"

namespace retort::worker::zoo {
namespace {

using Kind = LayerKind;

constexpr std::int64_t kGrowth = 48, kFirst = 96, kBottleneck = 4 * kGrowth;

void AddConv(LayerList& list, std::string name, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1) {
  list.Add({.kind = Kind::conv, .name = std::move(name), .out = out, .kernel = kernel, .stride = stride,
            .padding = kernel / 2, .bias = false, .init = Init::kaiming_in});
}

void AddNorm(LayerList& list, std::string name) {
  list.BatchNorm(std::move(name));
  list.Add(Kind::relu);
}

// Every layer sees what all before it made.
void AddDenseBlock(LayerList& list, const std::string& name, int layers) {
  std::vector<std::int32_t> made = {list.last()};
  for (int i = 1; i <= layers; ++i) {
    const std::string layer = name + ".denselayer" + std::to_string(i);
    if (made.size() > 1) list.Join(Kind::concat, made);
    AddNorm(list, layer + ".norm1");
    AddConv(list, layer + ".conv1", kBottleneck, 1);
    AddNorm(list, layer + ".norm2");
    AddConv(list, layer + ".conv2", kGrowth, 3);
    made.push_back(list.last());
  }
  list.Join(Kind::concat, std::move(made));
}

}  // namespace

std::vector<Layer> DenseNet161(std::int64_t classes) {
  LayerList list;
  AddConv(list, "features.conv0", kFirst, 7, 2);
  AddNorm(list, "features.norm0");
  list.Add({.kind = Kind::max_pool, .kernel = 3, .stride = 2, .padding = 1});
  constexpr std::array<int, 4> kBlocks = {6, 12, 36, 24};
  std::int64_t channels = kFirst;
  for (std::size_t i = 0; i < kBlocks.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    AddDenseBlock(list, "features.denseblock" + number, kBlocks[i]);
    channels += kBlocks[i] * kGrowth;
    if (i + 1 == kBlocks.size()) break;
    AddNorm(list, "features.transition" + number + ".norm");
    channels /= 2;
    AddConv(list, "features.transition" + number + ".conv", channels, 1);
    list.Add({.kind = Kind::avg_pool, .kernel = 2, .stride = 2});
  }
  AddNorm(list, "features.norm5");
  return std::move(list).ClassifyMeans(
      {.kind = Kind::linear, .name = "classifier", .out = classes, .bias_init = Init::zero});
}

}  // namespace retort::worker::zoo
