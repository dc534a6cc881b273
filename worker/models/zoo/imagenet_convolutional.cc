// AlexNet (Krizhevsky 2014), VGG-19 with batch norms (Simonyan and Zisserman 2015), DenseNet-161 (Huang et al. 2017),
// and GoogLeNet (Szegedy et al. 2015) as torchvision has it: with batch norms, and 3 x 3 where the paper has 5 x 5.
#include "worker/models/zoo/zoo.h"

namespace retort::worker::zoo {
namespace {

using Kind = LayerKind;

std::string Feature(int index) { return "features." + std::to_string(index); }

}  // namespace

std::vector<Layer> AlexNet(std::int64_t classes) {
  LayerList list;
  const auto conv = [&](int index, std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    list.Add({.kind = Kind::conv,
              .name = Feature(index),
              .out = out,
              .kernel = kernel,
              .stride = stride,
              .padding = padding});
    list.Add(Kind::relu);
  };
  const auto pool = [&] { list.Add({.kind = Kind::max_pool, .kernel = 3, .stride = 2}); };
  conv(0, 64, 11, 4, 2);
  pool();
  conv(3, 192, 5, 1, 2);
  pool();
  conv(6, 384, 3, 1, 1);
  conv(8, 256, 3, 1, 1);
  conv(10, 256, 3, 1, 1);
  pool();
  list.Add({.kind = Kind::adaptive_avg_pool, .out = 6});
  list.Add(Kind::flatten);
  for (const char* name : {"classifier.1", "classifier.4"}) {
    list.Add({.kind = Kind::dropout, .rate = 0.5});
    list.Add({.kind = Kind::linear, .name = name, .out = 4096});
    list.Add(Kind::relu);
  }
  list.Add({.kind = Kind::linear, .name = "classifier.6", .out = classes});
  return std::move(list).Take();
}

std::vector<Layer> Vgg19Bn(std::int64_t classes) {
  LayerList list;
  int index = 0;
  const std::array<std::pair<std::int64_t, int>, 5> stages = {{{64, 2}, {128, 2}, {256, 4}, {512, 4}, {512, 4}}};
  for (const auto& [width, convolutions] : stages) {
    for (int i = 0; i < convolutions; ++i, index += 3) {
      list.Add({.kind = Kind::conv,
                .name = Feature(index),
                .out = width,
                .kernel = 3,
                .padding = 1,
                .init = Init::kaiming_out,
                .bias_init = Init::zero});
      list.BatchNorm(Feature(index + 1));
      list.Add(Kind::relu);
    }
    list.Add({.kind = Kind::max_pool, .kernel = 2, .stride = 2});
    ++index;
  }
  list.Add({.kind = Kind::adaptive_avg_pool, .out = 7});
  list.Add(Kind::flatten);
  const auto linear = [&](const char* name, std::int64_t out) {
    list.Add({.kind = Kind::linear,
              .name = name,
              .out = out,
              .init = Init::normal,
              .bias_init = Init::zero,
              .spread = 0.01});
  };
  for (const char* name : {"classifier.0", "classifier.3"}) {
    linear(name, 4096);
    list.Add(Kind::relu);
    list.Add({.kind = Kind::dropout, .rate = 0.5});
  }
  linear("classifier.6", classes);
  return std::move(list).Take();
}

namespace {

constexpr std::int64_t kGrowth = 48, kFirst = 96, kBottleneck = 4 * kGrowth;

void AddConv(LayerList& list, std::string name, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1) {
  list.Add({.kind = Kind::conv,
            .name = std::move(name),
            .out = out,
            .kernel = kernel,
            .stride = stride,
            .padding = kernel / 2,
            .bias = false,
            .init = Init::kaiming_in});
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

namespace {

constexpr double kEpsilon = 1e-3, kSpread = 0.01;

std::int32_t AddUnit(LayerList& list, const std::string& name, std::int64_t out, std::int64_t kernel,
                     std::int64_t stride = 1, std::int32_t input = LayerList::kPrevious) {
  // torchvision truncates at +-2, which is 200 deviations.
  list.Add({.kind = Kind::conv,
            .name = name + ".conv",
            .out = out,
            .kernel = kernel,
            .stride = stride,
            .padding = kernel / 2,
            .bias = false,
            .init = Init::normal,
            .spread = kSpread},
           input);
  list.BatchNorm(name + ".bn", kEpsilon);
  return list.Add(Kind::relu);
}

struct Widths {
  std::int64_t branch1, reduce2, branch2, reduce3, branch3, branch4;
};

void AddInception(LayerList& list, const std::string& name, const Widths& widths) {
  const std::int32_t start = list.last();
  const std::int32_t first = AddUnit(list, name + ".branch1", widths.branch1, 1, 1, start);
  AddUnit(list, name + ".branch2.0", widths.reduce2, 1, 1, start);
  const std::int32_t second = AddUnit(list, name + ".branch2.1", widths.branch2, 3);
  AddUnit(list, name + ".branch3.0", widths.reduce3, 1, 1, start);
  const std::int32_t third = AddUnit(list, name + ".branch3.1", widths.branch3, 3);
  list.Add({.kind = Kind::max_pool, .kernel = 3, .stride = 1, .padding = 1, .ceil = true}, start);
  const std::int32_t fourth = AddUnit(list, name + ".branch4.1", widths.branch4, 1);
  list.Join(Kind::concat, {first, second, third, fourth});
}

void AddPool(LayerList& list, std::int64_t kernel) {
  list.Add({.kind = Kind::max_pool, .kernel = kernel, .stride = 2, .ceil = true});
}

Layer Linear(std::string name, std::int64_t out) {
  return {.kind = Kind::linear, .name = std::move(name), .out = out, .init = Init::normal, .spread = kSpread};
}

void AddAuxiliaryHead(LayerList& list, const std::string& name, std::int32_t input, std::int64_t classes) {
  list.Add({.kind = Kind::adaptive_avg_pool, .out = 4}, input);
  AddUnit(list, name + ".conv", 128, 1);
  list.Add(Kind::flatten);
  list.Add(Linear(name + ".fc1", 1024));
  list.Add(Kind::relu);
  list.Add({.kind = Kind::dropout, .rate = 0.7});
  list.Add(Linear(name + ".fc2", classes));
}

}  // namespace

std::vector<Layer> GoogLeNet(bool transform_input, std::int64_t classes) {
  LayerList list;
  if (transform_input)
    list.Add({.kind = Kind::affine,
              .scale = {0.229 / 0.5, 0.224 / 0.5, 0.225 / 0.5},
              .shift = {(0.485 - 0.5) / 0.5, (0.456 - 0.5) / 0.5, (0.406 - 0.5) / 0.5}});
  AddUnit(list, "conv1", 64, 7, 2);
  AddPool(list, 3);
  AddUnit(list, "conv2", 64, 1);
  AddUnit(list, "conv3", 192, 3);
  AddPool(list, 3);
  AddInception(list, "inception3a", {64, 96, 128, 16, 32, 32});
  AddInception(list, "inception3b", {128, 128, 192, 32, 96, 64});
  AddPool(list, 3);
  AddInception(list, "inception4a", {192, 96, 208, 16, 48, 64});
  const std::int32_t first_head = list.last();
  AddInception(list, "inception4b", {160, 112, 224, 24, 64, 64});
  AddInception(list, "inception4c", {128, 128, 256, 24, 64, 64});
  AddInception(list, "inception4d", {112, 144, 288, 32, 64, 64});
  const std::int32_t second_head = list.last();
  AddInception(list, "inception4e", {256, 160, 320, 32, 128, 128});
  AddPool(list, 2);
  AddInception(list, "inception5a", {256, 160, 320, 32, 128, 128});
  AddInception(list, "inception5b", {384, 192, 384, 48, 128, 128});
  const std::int32_t end = list.last();
  AddAuxiliaryHead(list, "aux1", first_head, classes);
  AddAuxiliaryHead(list, "aux2", second_head, classes);
  list.Add({.kind = Kind::adaptive_avg_pool, .out = 1}, end);
  list.Add(Kind::flatten);
  list.Add({.kind = Kind::dropout, .rate = 0.2});
  list.Add(Linear("fc", classes));
  return std::move(list).Take();
}

}  // namespace retort::worker::zoo
