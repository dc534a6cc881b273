// AlexNet (Krizhevsky 2014) and VGG-19 with batch norms (Simonyan and Zisserman 2015).
#include "worker/models/zoo/zoo.h"

namespace retort::worker::zoo {
namespace {

using Kind = LayerKind;

std::string Feature(int index) { return "features." + std::to_string(index); }

}  // namespace

std::vector<Layer> AlexNet(std::int64_t classes) {
  LayerList list;
  const auto conv = [&](int index, std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    list.Add({.kind = Kind::conv, .name = Feature(index), .out = out, .kernel = kernel, .stride = stride,
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
      list.Add({.kind = Kind::conv, .name = Feature(index), .out = width, .kernel = 3, .padding = 1,
                .init = Init::kaiming_out, .bias_init = Init::zero});
      list.BatchNorm(Feature(index + 1));
      list.Add(Kind::relu);
    }
    list.Add({.kind = Kind::max_pool, .kernel = 2, .stride = 2});
    ++index;
  }
  list.Add({.kind = Kind::adaptive_avg_pool, .out = 7});
  list.Add(Kind::flatten);
  const auto linear = [&](const char* name, std::int64_t out) {
    list.Add({.kind = Kind::linear, .name = name, .out = out, .init = Init::normal, .bias_init = Init::zero,
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

}  // namespace retort::worker::zoo
