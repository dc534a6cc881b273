// Sources of the images that a student without data asks about: a generator that learns, a procedure, or mixes of
// public images.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/data_spec.h"
#include "experiments/methods/trial_spec.h"
#include "storage/formats/tensor_blob.h"
#include "worker/data/dataset.h"
#include "worker/gang/row_share.h"
#include "worker/models/network.h"
#include "worker/release/teacher_critic.h"
#include "worker/tensors/loss_sum.h"
#include "worker/tensors/step_graphs.h"
#include "worker/tensors/train_state.h"

namespace retort::worker {

// The target of the generator's L_S, from what was released for one batch.
struct GeneratorTarget {
  at::Tensor y;  // f32 [own rows, classes], detached; undefined: no L_S
  // Of detach = false, as some papers print it: the release with its graph to the images, and d y / d release.
  at::Tensor released;  // undefined where detach = true
  double slope = 0;     // y = constant + slope * released
};

// Of one update.
struct GeneratorRates {
  double parameters = 0, latents = 0;
};

class ImageSource {
 public:
  virtual ~ImageSource() = default;
  // This member's share of this step's `rows` images, f32 [own, C, H, W], normalised as the data set's are. Row i of
  // the whole is a function of (seed, step, i) and of what the source has learned, but for batch normalisation. Part of
  // the graph to what it learns, but where that is recorded. Until the next call. Error: that of reading an image.
  [[nodiscard]] virtual Result<at::Tensor> Images(std::int64_t step, std::int64_t rows) = 0;
  // The rates of the trial's keys times `decay`.
  [[nodiscard]] virtual GeneratorRates RatesAt(double decay) const = 0;
  // Learns from `images`, which Images(step, rows) gave. Returns this member's part of the loss, f64 [], until the next
  // call. Error: of the gang.
  [[nodiscard]] virtual Result<at::Tensor> Improve(std::int64_t step, const at::Tensor& images, std::int64_t rows,
                                                   const Network& student, const GeneratorTarget& target,
                                                   const GeneratorRates& rates,
                                                   const release::TeacherCritic* critic = nullptr) = 0;
  // Step n of learning from the critic alone, on `rows` images that are never queried. Error: of the gang.
  [[nodiscard]] virtual Result<at::Tensor> Pretrain(std::int64_t n, std::int64_t rows,
                                                    const release::TeacherCritic& critic, double learning_rate) = 0;
  virtual void Register(TrainState& state, const std::string& prefix) = 0;
  // What it has learned, each name after `prefix`.
  [[nodiscard]] virtual std::vector<storage::TensorBlob> Blobs(const std::string& prefix) const = 0;
};

// A source that learns nothing.
class FixedSource : public ImageSource {
 public:
  GeneratorRates RatesAt(double) const final { return {}; }
  Result<at::Tensor> Improve(std::int64_t, const at::Tensor&, std::int64_t, const Network&, const GeneratorTarget&,
                             const GeneratorRates&, const release::TeacherCritic* = nullptr) final {
    return LossSum().Total();
  }
  Result<at::Tensor> Pretrain(std::int64_t, std::int64_t, const release::TeacherCritic&, double) final {
    return LossSum().Total();
  }
  void Register(TrainState&, const std::string&) final {}
  std::vector<storage::TensorBlob> Blobs(const std::string&) const final { return {}; }
};

// The one that spec.source names: generator, procedural or public-mixes. All three outlive it. Error: usage, as
// Generator::Create; environment, as RequireApart. `graphs`: of the trial; null: its steps are not recorded.
[[nodiscard]] Result<std::unique_ptr<ImageSource>> MakeImageSource(const TrialSpec& spec, const Dataset& data,
                                                                   Collective& gang, StepGraphs* graphs = nullptr);

// Public images, augmented and mixed in pairs, as queries. No two steps show the same.
class MixedSource final : public FixedSource {
 public:
  // Of data.public_split, augmented as spec.inputs.augment and spec.inputs.shift say. All three outlive it. Error:
  // environment, where an image is public and private at once; usage, where none is public.
  [[nodiscard]] static Result<std::unique_ptr<MixedSource>> Create(const TrialSpec& spec, const Dataset& data,
                                                                   const Collective& gang);

  Result<at::Tensor> Images(std::int64_t step, std::int64_t rows) override;

 private:
  MixedSource(const TrialSpec& spec, const Dataset& data, const Collective& gang)
      : spec_(spec), data_(data), gang_(gang) {}
  // One of the two images of each row.
  [[nodiscard]] Result<at::Tensor> Drawn(std::int64_t step, std::int64_t which, const RowShare& own) const;

  const TrialSpec& spec_;
  const Dataset& data_;
  const Collective& gang_;
};

// Images drawn by a procedure, as queries. No two steps show the same.
class ProceduralSource final : public FixedSource {
 public:
  // Square images of at least 8 pixels a side.
  ProceduralSource(const TrialSpec& spec, const Dataset& data, const Collective& gang);

  // Even rows show the first kind of spec.inputs.pictures, odd rows the second.
  Result<at::Tensor> Images(std::int64_t step, std::int64_t rows) override;
  // The even ones of the first 2 * rows of them, whole on every member of the gang: f32 [rows, C, H, W].
  [[nodiscard]] at::Tensor ImagesOfFirstKind(std::int64_t step, std::int64_t rows) const;

 private:
  [[nodiscard]] RngStream StepStream(std::int64_t step) const;
  [[nodiscard]] at::Tensor Normalised(at::Tensor pictures) const;

  const TrialSpec& spec_;
  const Collective& gang_;
  ImageShape shape_;
  at::Device device_;
  at::Tensor mean_, std_;  // f32 [1, C, 1, 1]
};

}  // namespace retort::worker
