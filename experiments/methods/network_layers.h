// The layers of a network that a sweep file describes: what each kind takes, the shapes that follow, and the text that
// travels with a trial and is part of its identity.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"

namespace retort {

enum class NetworkLayerKind : std::uint8_t {
  conv,
  linear,
  batch_norm,
  group_norm,
  layer_norm,
  relu,
  relu6,
  leaky,
  gelu,
  tanh,
  max_pool,
  avg_pool,
  adaptive_avg_pool,
  spatial_mean,
  dropout,
  flatten,
  add,
  pad_shortcut,
  sigmoid,
  reshape,
  upsample,
  conv_transpose,
};

inline constexpr std::int64_t kAsManyAsClasses = -1;  // NetworkLayer::out of the last layer
inline constexpr std::int32_t kNetworkInput = -1;     // as an input: the images themselves; of a generator its latents
inline constexpr std::size_t kMaxNetworkLayers = 2000;

struct NetworkLayer {
  NetworkLayerKind kind = NetworkLayerKind::conv;
  std::string name = {};  // of layers that have parameters; unique; letters, digits, '_', '-' and '.'
  std::int64_t out = 0, kernel = 0, stride = 1, padding = 0, groups = 1, dilation = 1;
  double rate = 0;  // dropout: its rate; leaky: the slope below zero
  double epsilon = 1e-5, momentum = 0.1;
  bool bias = true, ceil = false;
  bool affine = true;                              // batch_norm: has a weight and a bias a channel
  std::int64_t height = 0, width = 0, factor = 2;  // reshape: of the result, in pixels; upsample: of both sides
  std::int64_t output_padding = 0;                 // conv_transpose: pixels added to the right and below
  bool bilinear = false;                           // upsample: between pixels; false: the nearest
  std::vector<std::int32_t> inputs = {};           // earlier layers, or kImageInput; empty: the layer before

  bool operator==(const NetworkLayer&) const = default;
};

// One parameter of a kind; exactly one of the three members is set.
struct LayerParameter {
  std::string_view name;
  std::int64_t NetworkLayer::*count = nullptr;
  double NetworkLayer::*number = nullptr;
  bool NetworkLayer::*flag = nullptr;
  double least = 0, most = 0;
  bool required = false;
  bool classes = false;         // may be "classes"
  std::string_view usual = {};  // what holds when absent, where that is another parameter's value
  std::string_view doc;
};

struct LayerKindTraits {
  NetworkLayerKind kind;
  std::string_view word;
  std::span<const LayerParameter> parameters;
  bool weighted = false;  // has parameters, and so a name
  bool written = true;    // stands in sweep files; false: made by blocks
  std::string_view doc;
  bool of_generators = false;  // no network that classifies images has it
};

// In the order of NetworkLayerKind.
[[nodiscard]] std::span<const LayerKindTraits> ListLayerKinds();
[[nodiscard]] const LayerKindTraits& FindTraits(NetworkLayerKind kind);
// Null for a word that is none of them.
[[nodiscard]] const LayerKindTraits* FindLayerKind(std::string_view word);

// "conv name=conv1 out=16 kernel=3 padding=1; relu; ...": of each layer what differs from its defaults. Equal lists
// have equal texts.
[[nodiscard]] std::string FormatNetworkLayers(const std::vector<NetworkLayer>& layers);
// Error: damage, naming the layer, for a text that FormatNetworkLayers does not write.
[[nodiscard]] Result<std::vector<NetworkLayer>> ParseNetworkLayers(std::string_view text);

// Whether the name can be that of a layer: letters, digits, '_', '-' and single '.' between them.
[[nodiscard]] bool IsLayerName(std::string_view name);

// The windows of a convolution or a pool along one side, in pixels.
struct WindowForm {
  std::int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
  bool ceil = false;  // the last window only starts inside the image or its left padding
};
// Returns how many windows fit into `extent` pixels; 0 where none does.
[[nodiscard]] std::int64_t CountWindows(std::int64_t extent, const WindowForm& form);

struct InputShape {
  std::int64_t channels = 0, height = 0, width = 0;
};
// The row of values that a generator begins with: a latent vector and, where the generator is given a class, one value
// a class behind it, 1 for the class of the image and 0 for the others.
struct LatentShape {
  std::int64_t latent = 0, classes = 0;
  [[nodiscard]] std::int64_t values() const { return latent + classes; }
};
using LayerShape = std::vector<std::int64_t>;  // of one row: [channels, height, width] or [values]

[[nodiscard]] std::string FormatShape(const LayerShape& shape);  // "[16, 32, 32]"
// "conv \"conv1\"", "relu (layer 3)": the layer at that place, in messages.
[[nodiscard]] std::string FormatLayerAt(const std::vector<NetworkLayer>& layers, std::size_t place);

// A layer that does not fit what comes before it.
struct LayerMisfit {
  std::size_t place = 0;
  std::string message;  // names the layer and both shapes, and says what would be right
};
struct PlannedShapes {
  std::vector<LayerShape> shapes;     // of each layer's result, as far as they fit
  std::optional<LayerMisfit> misfit;  // the first
};
[[nodiscard]] PlannedShapes PlanShapes(const std::vector<NetworkLayer>& layers, InputShape image, std::int64_t classes);
// Of layers that make images: a result that is no such image is a misfit of the last layer.
[[nodiscard]] PlannedShapes PlanGeneratorShapes(const std::vector<NetworkLayer>& layers, LatentShape latents,
                                                InputShape image);

// Values that training changes. REQUIRES: the shapes that were planned of these layers and this image, without a
// misfit.
[[nodiscard]] std::int64_t CountParameters(const std::vector<NetworkLayer>& layers,
                                           const std::vector<LayerShape>& shapes, InputShape image);
// The same of a generator.
[[nodiscard]] std::int64_t CountParameters(const std::vector<NetworkLayer>& layers,
                                           const std::vector<LayerShape>& shapes, LatentShape latents);

// Whether the layers are those of a generator, which makes images from latents: one of them is a reshape. All other
// networks classify images.
[[nodiscard]] bool MakesImages(const std::vector<NetworkLayer>& layers);

// What is wrong with the list whatever the images are: no layers or too many, a name that stands twice; of a network
// that classifies images a layer that generators alone have, or an end that is no linear layer of as many values as
// classes; of a generator an end whose values have no known range, or a layer by which an image would not follow from
// the latents of its batch alone.
[[nodiscard]] std::optional<LayerMisfit> FindMisfit(const std::vector<NetworkLayer>& layers);

[[nodiscard]] bool HasBatchNorm(const std::vector<NetworkLayer>& layers);
// Whether the images of a generator are normalised by their batch, so that its pixels have no range. REQUIRES: layers
// is not empty.
[[nodiscard]] bool EndsInBatchNorm(const std::vector<NetworkLayer>& layers);
[[nodiscard]] bool HasActivation(const std::vector<NetworkLayer>& layers);

}  // namespace retort
