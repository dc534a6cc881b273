// Classifiers as a list of layers. One forward pass serves training, evaluation and per-sample gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/models/parameter_arena.h"
#include "worker/rng_streams.h"

namespace retort::worker {

struct ImageShape {
  std::int64_t channels = 1, height = 28, width = 28;
  [[nodiscard]] std::int64_t size() const { return channels * height * width; }
  bool operator==(const ImageShape&) const = default;
};

enum class LayerKind : std::uint8_t { conv, linear, relu, tanh, max_pool, dropout, flatten };

// Does a layer of this kind let one row of a batch change what comes out for another, as batch normalisation does?
[[nodiscard]] bool MixesRows(LayerKind kind);

// `out`: channels or features; `kernel`, `stride`, `padding` in pixels (conv, max_pool); `rate`: dropout.
struct Layer {
  LayerKind kind;
  std::string name;                       // of layers that have parameters
  std::int64_t out = 0, kernel = 0, stride = 1, padding = 0;
  double rate = 0;
};

// What a layer with parameters saw, in layer order: enough for per-sample gradients.
struct LayerTrace {
  std::vector<at::Tensor> inputs;         // [batch, in, ...]
  std::vector<at::Tensor> outputs;        // before the activation, part of the graph
};

struct NetworkOutput {
  at::Tensor logits;                      // [batch, classes]
  at::Tensor features;                    // [batch, d]: what the last linear layer saw
};

class Network {
 public:
  // Initial parameters are drawn from `stream`: the same on every device.
  Network(std::vector<Layer> layers, ImageShape input, const RngStream& stream, at::Device device = at::kCPU);

  // images: f32 [batch, channels, height, width], any dense layout. `dropout`: the stream of this forward
  // pass, and which rows of the whole batch these are; nothing = evaluation. `trace`, when not null, is filled.
  [[nodiscard]] NetworkOutput Forward(const at::Tensor& images,
                                      const std::optional<RowStream>& dropout = std::nullopt,
                                      LayerTrace* trace = nullptr) const;
  [[nodiscard]] ParameterArena& parameters() { return *parameters_; }
  [[nodiscard]] const ParameterArena& parameters() const { return *parameters_; }
  [[nodiscard]] const std::vector<Layer>& layers() const { return layers_; }
  [[nodiscard]] ImageShape input() const { return input_; }
  [[nodiscard]] std::int64_t classes() const { return classes_; }

 private:
  std::vector<Layer> layers_;
  ImageShape input_;
  std::int64_t classes_ = 0;
  std::unique_ptr<ParameterArena> parameters_;
};

}  // namespace retort::worker
