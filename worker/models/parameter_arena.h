// All parameters of a network in one flat buffer: one optimiser call, one all-reduce, one write.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/spec/status.h"
#include "storage/tensor_blob.h"
#include "worker/rng_streams.h"

namespace retort::worker {

enum class Draw : std::uint8_t { uniform, normal, truncated };

// Initial values are offset plus: uniform on [-bound, bound), normal of deviation `bound`, or that normal
// truncated at two deviations.
struct ParameterShape {
  std::string name;                 // state-dict style, e.g. "conv1.weight"
  std::vector<std::int64_t> shape;
  double bound = 0;
  double offset = 0;
  Draw draw = Draw::uniform;
};

class ParameterArena {
 public:
  // `stream`: what initial values are drawn from; nothing: zeros, for parameters that will be loaded.
  ParameterArena(std::vector<ParameterShape> shapes, const std::optional<RngStream>& stream,
                 at::Device device = at::kCPU);
  ParameterArena(const ParameterArena&) = delete;
  ParameterArena& operator=(const ParameterArena&) = delete;

  // Views into flat(), each a leaf that requires gradients; order of the shapes given.
  [[nodiscard]] const std::vector<at::Tensor>& leaves() const { return leaves_; }
  [[nodiscard]] const std::vector<ParameterShape>& shapes() const { return shapes_; }
  // f32 [padded size]; each parameter starts on a 64-byte border, the padding stays zero.
  [[nodiscard]] at::Tensor& flat() { return flat_; }
  [[nodiscard]] const at::Tensor& flat() const { return flat_; }
  [[nodiscard]] at::Tensor& gradient() { return gradient_; }  // same layout as flat()
  // Views into gradient(), in the order of leaves().
  [[nodiscard]] const std::vector<at::Tensor>& gradient_views() const { return gradient_views_; }
  // Where each parameter begins in flat().
  [[nodiscard]] const std::vector<std::int64_t>& offsets() const { return offsets_; }
  // Initial values once more, from another stream.
  void Redraw(const RngStream& stream);
  // Copies one gradient a leaf into gradient(); an undefined tensor counts as zero.
  void Gather(const std::vector<at::Tensor>& gradients);
  [[nodiscard]] std::int64_t parameter_count() const;   // without padding
  [[nodiscard]] bool AllFinite() const;

  // Names are prefix + name, e.g. "student/conv1.weight".
  [[nodiscard]] std::vector<storage::TensorBlob> ToBlobs(const std::string& prefix) const;
  // Error: damage, naming the parameter that is missing or of another shape.
  [[nodiscard]] Status FromBlobs(const std::string& prefix, const std::vector<storage::TensorBlob>& blobs);

 private:
  std::vector<ParameterShape> shapes_;
  at::Tensor flat_, gradient_;
  std::vector<at::Tensor> leaves_, gradient_views_;
  std::vector<std::int64_t> offsets_;
};

// Uniform on +-1/sqrt(fan_in), the usual default for weights and biases of conv and linear layers.
[[nodiscard]] double FanInBound(std::int64_t fan_in);

}  // namespace retort::worker
