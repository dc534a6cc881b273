// GoogLeNet (Szegedy et al. 2015) as torchvision has it: with batch norms, and 3 x 3 where the paper has 5 x 5.
#include "worker/models/zoo/zoo.h"

namespace retort::worker::zoo {
namespace {

using Kind = LayerKind;

constexpr double kEpsilon = 1e-3, kSpread = 0.01;

std::int32_t AddUnit(LayerList& list, const std::string& name, std::int64_t out, std::int64_t kernel,
                     std::int64_t stride = 1, std::int32_t input = LayerList::kPrevious) {
  // torchvision truncates at +-2, which is 200 deviations.
  list.Add({.kind = Kind::conv, .name = name + ".conv", .out = out, .kernel = kernel, .stride = stride,
            .padding = kernel / 2, .bias = false, .init = Init::normal, .spread = kSpread},
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
    list.Add({.kind = Kind::affine, .scale = {0.229 / 0.5, 0.224 / 0.5, 0.225 / 0.5},
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
