// Residual networks: He et al. 2016 as torchvision has them, with stems for small images, and Zagoruyko and
// Komodakis 2016.
#include "worker/models/zoo/zoo.h"

namespace retort::worker::zoo {
namespace {

using Kind = LayerKind;

Layer Conv(std::string name, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1) {
  return {.kind = Kind::conv,
          .name = std::move(name),
          .out = out,
          .kernel = kernel,
          .stride = stride,
          .padding = kernel / 2,
          .bias = false,
          .init = Init::kaiming_out};
}

// One block on what the list ends with. `in`: its channels, updated.
void AddBlock(LayerList& list, const ResNetForm& form, const std::string& name, std::int64_t planes,
              std::int64_t stride, std::int64_t& in) {
  const std::int32_t start = list.last();
  const std::int64_t out = form.bottleneck ? 4 * planes : planes;
  const auto unit = [&](int index, std::int64_t width, std::int64_t kernel, std::int64_t step, bool relu) {
    list.Add(Conv(name + ".conv" + std::to_string(index), width, kernel, step));
    list.Norm(name + ".bn" + std::to_string(index), form.norm, width);
    return relu ? list.Add(Kind::relu) : list.last();
  };
  std::int32_t end = 0;
  if (form.bottleneck) {
    const std::int64_t width = planes * form.base_width / 64;
    unit(1, width, 1, 1, true);
    unit(2, width, 3, stride, true);
    end = unit(3, out, 1, 1, false);
  } else {
    unit(1, planes, 3, stride, true);
    end = unit(2, planes, 3, 1, false);
  }
  std::int32_t shortcut = start;
  if (stride != 1 || in != out) {
    list.Add(Conv(name + ".downsample.0", out, 1, stride), start);
    shortcut = list.Norm(name + ".downsample.1", form.norm, out);
  }
  list.Join(Kind::add, {end, shortcut});
  list.Add(Kind::relu);
  in = out;
}

// A block of two convolutions behind their norms. Where the width changes, the shortcut leaves behind the first
// rectifier.
void AddPreactivated(LayerList& list, Norm norm, const std::string& name, std::int64_t out, std::int64_t stride,
                     std::int64_t& in) {
  const std::int32_t start = list.last();
  list.Norm(name + ".bn1", norm, in);
  const std::int32_t active = list.Add(Kind::relu);
  list.Add(Conv(name + ".conv1", out, 3, stride));
  list.Norm(name + ".bn2", norm, out);
  list.Add(Kind::relu);
  const std::int32_t end = list.Add(Conv(name + ".conv2", out, 3));
  const std::int32_t shortcut = in == out ? start
                                          : list.Add({.kind = Kind::conv,
                                                      .name = name + ".convShortcut",
                                                      .out = out,
                                                      .kernel = 1,
                                                      .stride = stride,
                                                      .bias = false,
                                                      .init = Init::kaiming_out},
                                                     active);
  list.Join(Kind::add, {end, shortcut});
  in = out;
}

}  // namespace

std::vector<Layer> ResNet(const ResNetForm& form, std::int64_t classes) {
  LayerList list;
  list.Add(Conv("conv1", 64, form.cifar ? 3 : 7, form.cifar ? 1 : 2));
  list.Norm("bn1", form.norm, 64);
  list.Add(Kind::relu);
  if (!form.cifar) list.Add({.kind = Kind::max_pool, .kernel = 3, .stride = 2, .padding = 1});
  std::int64_t in = 64, planes = 64;
  for (std::size_t stage = 0; stage < 4; ++stage, planes *= 2) {
    for (std::int64_t i = 0; i < form.blocks[stage]; ++i)
      AddBlock(list, form, "layer" + std::to_string(stage + 1) + "." + std::to_string(i), planes,
               i == 0 && stage > 0 ? 2 : 1, in);
  }
  return std::move(list).ClassifyMeans({.kind = Kind::linear, .name = "fc", .out = classes});
}

std::vector<Layer> WideResNet(std::int64_t depth, Norm norm, std::int64_t classes) {
  LayerList list;
  list.Add(Conv("conv1", 16, 3));
  std::int64_t in = 16;
  for (std::int64_t stage = 0; stage < 3; ++stage) {
    for (std::int64_t i = 0; i < (depth - 4) / 6; ++i)
      AddPreactivated(list, norm, "block" + std::to_string(stage + 1) + ".layer." + std::to_string(i), 16 << stage,
                      i == 0 && stage > 0 ? 2 : 1, in);
  }
  list.Norm("bn1", norm, in);
  list.Add(Kind::relu);
  return std::move(list).ClassifyMeans({.kind = Kind::linear, .name = "fc", .out = classes, .bias_init = Init::zero});
}

}  // namespace retort::worker::zoo
