// The state of a network in a few flat buffers: its parameters, and what it carries besides them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "storage/formats/tensor_blob.h"
#include "worker/gang/collective.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {

enum class Draw : std::uint8_t { uniform, normal, truncated };

// Initial values are offset plus: uniform on [-bound, bound), normal of deviation `bound`, or that normal
// truncated at two deviations.
struct ParameterShape {
  std::string name;  // state-dict style, e.g. "conv1.weight"
  std::vector<std::int64_t> shape;
  double bound = 0;
  double offset = 0;
  Draw draw = Draw::uniform;
};

// All parameters of a network in one flat buffer: one optimiser call, one all-reduce, one write.
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
  // Weights, parameters of two dimensions and more, once more: uniform on +-sqrt(6 / (fan in + fan out)) (Glorot and
  // Bengio 2010, "Xavier"). Biases and norms stay as they are.
  void RedrawXavier(const RngStream& stream);
  // Copies one gradient a leaf into gradient(); an undefined tensor counts as zero.
  void Gather(const std::vector<at::Tensor>& gradients);
  [[nodiscard]] std::int64_t parameter_count() const;  // without padding
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
[[nodiscard]] double ComputeFanInBound(std::int64_t fan_in);

// What a network carries besides its parameters: the running statistics of its batch norms, and constants that frozen
// layers were fitted to. Of batch norm b, in layer order: mean and variance f32 [channels], views into one flat tensor.
class BufferArena {
 public:
  // Channels of each batch norm, shapes of the constants. Starts with mean 0, variance 1 and no batch counted, and
  // constants of zeros.
  BufferArena(const std::vector<std::int64_t>& channels, const std::vector<std::vector<std::int64_t>>& constants,
              at::Device device);
  BufferArena(const BufferArena&) = delete;
  BufferArena& operator=(const BufferArena&) = delete;

  [[nodiscard]] bool empty() const { return means_.empty(); }  // no batch norm
  [[nodiscard]] const at::Tensor& mean(std::size_t norm) const { return means_[norm]; }
  [[nodiscard]] const at::Tensor& variance(std::size_t norm) const { return variances_[norm]; }
  [[nodiscard]] at::Tensor& flat() { return flat_; }      // f32; means and variances
  [[nodiscard]] at::Tensor& counts() { return counts_; }  // i64 [batch norms]: batches tracked
  [[nodiscard]] const at::Tensor& counts() const { return counts_; }
  // All constants, f32 [values in all], and each by itself, a view into it. No step changes them, Reset neither.
  [[nodiscard]] at::Tensor& constants() { return constants_; }
  [[nodiscard]] const at::Tensor& constant(std::size_t index) const { return constant_views_[index]; }
  void Reset();

  // Every member's statistics become the mean of all members', weighted by the rows that each had of the
  // batch of `rows`; the same bits everywhere. A member without rows takes the mean of the others. Error: of the gang.
  [[nodiscard]] Status ShareInGang(std::int64_t own_rows, std::int64_t rows, Collective& gang);
  // The same, under way while the caller differentiates: the statistics change in Wait. Null: there is nothing to
  // share.
  [[nodiscard]] Result<std::unique_ptr<PendingOperation>> BeginShareInGang(std::int64_t own_rows, std::int64_t rows,
                                                                           Collective& gang) const;

 private:
  at::Tensor flat_, counts_;
  std::vector<at::Tensor> means_, variances_;
  at::Tensor constants_;
  std::vector<at::Tensor> constant_views_;
};

}  // namespace retort::worker
