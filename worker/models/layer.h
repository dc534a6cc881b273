// What a network is made of: a list of layers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace retort::worker {

struct ImageShape {
  std::int64_t channels = 1, height = 28, width = 28;
  [[nodiscard]] std::int64_t size() const { return channels * height * width; }
  bool operator==(const ImageShape&) const = default;
};

enum class LayerKind : std::uint8_t {
  conv,
  linear,
  relu,
  tanh,
  max_pool,
  dropout,
  flatten,
  batch_norm,
  group_norm,
  layer_norm,
  relu6,
  gelu,
  leaky,
  attention,    // softmax(q k / sqrt(d)) v of [rows, tokens, 3 d] -> [rows, tokens, d], `groups` heads
  class_token,  // a learned row [1, 1, out]; has no input
  tokens,       // {[rows, d, h, w], class token} -> [rows, 1 + h w, d], plus a learned position
  first_token,  // [rows, tokens, d] -> [rows, d]
  avg_pool,
  adaptive_avg_pool,
  add,
  concat,
  channel_slice,
  channel_shuffle,
  affine,        // x * scale[c] + shift[c] with constants
  spatial_mean,  // [rows, c, h, w] -> [rows, c]
  // Frozen: without parameters, and nothing in them was fitted to private examples.
  hog,           // orientations of gradients, `out` bins a channel and window -> [rows, values] of norm `rate`
  patches,       // strength of `out` filters of `kernel` pixels beyond `rate` -> [rows, values] of norm 1
  scattering,    // wavelets in `out` directions -> [rows, values] of norm 1
  whiten,        // [rows, values] -> [rows, out + 1]: the first `out` directions of public images (0: half of
                 // them), `rate` the shrinkage of what they vary by, and the constant `spread`
  pad_shortcut,  // every stride-th pixel, and zeros for as many channels before as behind: `out` channels
  sigmoid,
  // Of generators.
  reshape,   // [rows, values] -> [rows, out, height, width]
  upsample,  // `factor` times as high and wide
  conv_transpose,
};

// Whether a layer of this kind lets one row of a batch change what comes out for another, as batch normalisation does.
[[nodiscard]] bool MixesRows(LayerKind kind);

// How a weight or a bias begins. usual: uniform on +-1 / sqrt(fan in). kaiming_*: normal of deviation
// sqrt(2 / fan). xavier: uniform on +-sqrt(6 / (fan in + fan out)). normal, truncated (at two deviations): of
// deviation `spread`.
enum class Init : std::uint8_t { usual, kaiming_in, kaiming_out, xavier, normal, truncated, zero };

inline constexpr std::int32_t kImages = -1;  // as an input: the images that the network classifies

struct Layer {
  LayerKind kind;
  std::string name = {};  // of layers that have parameters, as torchvision's state has it
  // out: channels or features (conv, linear, class_token, channel_slice), or the extent of the result
  // (adaptive_avg_pool). kernel, stride, padding in pixels: conv, max_pool, avg_pool (unpadded).
  std::int64_t out = 0, kernel = 0, stride = 1, padding = 0;
  double rate = 0;                        // dropout: its rate; leaky: the slope below zero
  std::vector<std::int32_t> inputs = {};  // earlier layers, or kImages; empty: the layer before
  std::int64_t groups = 1;                // conv, group_norm, channel_shuffle; attention: heads
  std::int64_t dilation = 1;              // conv
  std::int64_t first = 0;                 // channel_slice: channels first, ..., first + out - 1
  bool bias = true;                       // conv, linear
  bool ceil = false;                      // max_pool: extents are rounded up
  double epsilon = 1e-5, momentum = 0.1;  // norms; momentum: batch_norm's running statistics
  Init init = Init::usual, bias_init = Init::usual;
  double spread = 0, bias_spread = 0;          // deviations of Init::normal and Init::truncated
  char joint = '.';                            // between `name` and "weight" or "bias"
  std::vector<double> scale = {}, shift = {};  // affine, one a channel
  // batch_norm: has a weight and a bias; has running statistics (false: uses those of the batch at hand, always)
  bool affine = true, tracked = true;
  std::int64_t height = 0, width = 0;  // reshape
  std::int64_t factor = 2;             // upsample
  bool bilinear = false;               // upsample: of factor 2; false: the nearest pixel
  std::int64_t output_padding = 0;     // conv_transpose
};

// Whether the kind is an activation, which maps each value by itself: relu, relu6, leaky, gelu, tanh, sigmoid.
[[nodiscard]] bool IsActivation(LayerKind kind);

// Returns the layers with `kind` (an activation without a rate) in place of every activation, for the tempered sigmoids
// of the DP-SGD literature (Papernot et al. 2021). Parameters, names and shapes stay. Where a layer list has a dropout
// before its rectifier, the activation sees what dropout scaled.
[[nodiscard]] std::vector<Layer> SetActivation(std::vector<Layer> layers, LayerKind kind);

}  // namespace retort::worker
