// The networks of the literature as lists of layers. Names and order of their state are torchvision's, initial
// values are distributed as torchvision's, unless a line says otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "worker/models/layer.h"

namespace retort::worker::zoo {

// batch norms, or for DP-SGD, which needs examples apart, group norms in their place and under their names:
// min(32, channels) groups.
enum class Norm : std::uint8_t { batch, group };

// Appends layers. Each call returns the layer's place, for others to name as their input; an input left at kPrevious
// is the layer before.
class LayerList {
 public:
  static constexpr std::int32_t kPrevious = -2;

  std::int32_t Add(Layer layer, std::int32_t input = kPrevious) {
    if (input != kPrevious) layer.inputs = {input};
    layers_.push_back(std::move(layer));
    return last();
  }
  std::int32_t Add(LayerKind kind) { return Add(Layer{.kind = kind}); }
  std::int32_t Join(LayerKind kind, std::vector<std::int32_t> inputs) {
    return Add(Layer{.kind = kind, .inputs = std::move(inputs)});
  }
  std::int32_t Norm(std::string name, zoo::Norm norm, std::int64_t channels, double epsilon = 1e-5,
                    std::int32_t input = kPrevious) {
    Layer layer{.kind = norm == zoo::Norm::batch ? LayerKind::batch_norm : LayerKind::group_norm,
                .name = std::move(name),
                .epsilon = epsilon};
    if (norm == zoo::Norm::group) layer.groups = channels < 32 ? channels : 32;
    return Add(std::move(layer), input);
  }
  std::int32_t BatchNorm(std::string name, double epsilon = 1e-5) {
    return Norm(std::move(name), Norm::batch, 0, epsilon);
  }
  // The classifier behind a global average.
  std::vector<Layer> ClassifyMeans(Layer linear) && {
    Add(Layer{.kind = LayerKind::adaptive_avg_pool, .out = 1});
    Add(LayerKind::flatten);
    Add(std::move(linear));
    return std::move(layers_);
  }
  [[nodiscard]] std::int32_t last() const { return static_cast<std::int32_t>(layers_.size()) - 1; }
  std::vector<Layer> Take() && { return std::move(layers_); }

 private:
  std::vector<Layer> layers_;
};

// Of features that no private example was looked at for; their constants are yet to be fitted (fit_features.h).
[[nodiscard]] std::vector<Layer> HogLinear(std::int64_t classes);
[[nodiscard]] std::vector<Layer> PatchLinear(std::int64_t classes);
[[nodiscard]] std::vector<Layer> ScatteringLinear(std::int64_t classes);
[[nodiscard]] std::vector<Layer> HogScatteringLinear(std::int64_t classes);
[[nodiscard]] std::vector<Layer> AlexNet(std::int64_t classes);
[[nodiscard]] std::vector<Layer> Vgg19Bn(std::int64_t classes);

// cifar: a stem of one 3 x 3 convolution without stride and no pooling.
struct ResNetForm {
  std::array<std::int64_t, 4> blocks;
  bool bottleneck = false;
  std::int64_t base_width = 64;  // of the bottlenecks: 128 for wide_resnet50_2
  bool cifar = false;
  Norm norm = Norm::batch;
};
[[nodiscard]] std::vector<Layer> ResNet(const ResNetForm& form, std::int64_t classes);
// Pre-activation residual networks of width 1 (Zagoruyko and Komodakis 2016; names as in its common PyTorch port).
[[nodiscard]] std::vector<Layer> WideResNet(std::int64_t depth, Norm norm, std::int64_t classes);

[[nodiscard]] std::vector<Layer> DenseNet161(std::int64_t classes);
[[nodiscard]] std::vector<Layer> MobileNetV2(std::int64_t classes);
[[nodiscard]] std::vector<Layer> ShuffleNetV2(std::int64_t classes);
// With its auxiliary heads, which are in the state and never run. transform_input: images normalised for ImageNet are
// normalised anew as the published weights expect.
[[nodiscard]] std::vector<Layer> GoogLeNet(bool transform_input, std::int64_t classes);
// Images of a multiple of 16 pixels a side.
[[nodiscard]] std::vector<Layer> VitB16(std::int64_t classes);

// RONA (Wang et al. 2019): three groups of three convolutions, leaky by 0.1; the last group has a 3 x 3 and two 1 x 1.
[[nodiscard]] std::vector<Layer> Rona(std::int64_t first, std::int64_t second, std::array<std::int64_t, 3> third,
                                      std::int64_t classes);
// Returns a small teacher whose batch norms know its training data: conv 32, norm, ReLU, pool, conv 64, norm, ReLU,
// pool, FC 64, ReLU, FC c. Images of 4 pixels a side or more.
[[nodiscard]] std::vector<Layer> BnCnn(std::int64_t classes);
// Returns the clients' networks of DENSE (Zhang et al. 2022) for MNIST, and for CIFAR-10 and -100.
[[nodiscard]] std::vector<Layer> DenseMnist(std::int64_t classes);
[[nodiscard]] std::vector<Layer> DenseCifar(std::array<std::int64_t, 3> widths, std::int64_t classes);
[[nodiscard]] std::vector<Layer> DenseCifarSmall(std::int64_t classes);

// A student for images of 32 pixels a side: three times conv (32, 64, 128), norm, ReLU, pool; FC 128, ReLU, FC c.
// Images of 8 pixels a side or more.
[[nodiscard]] std::vector<Layer> Cnn128(Norm norm, std::int64_t classes);

}  // namespace retort::worker::zoo
