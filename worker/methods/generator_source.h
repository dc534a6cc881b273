// The generator as a source of queries, and its training: through the student alone, unless it is given the raw teacher
// as a critic.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "worker/distill/generator_loss.h"
#include "worker/gang/row_share.h"
#include "worker/methods/image_source.h"
#include "worker/models/generators.h"
#include "worker/models/network.h"
#include "worker/optim/optimisers.h"
#include "worker/release/teacher_critic.h"
#include "worker/tensors/loss_sum.h"
#include "worker/tensors/step_graphs.h"
#include "worker/tensors/train_state.h"

namespace retort::worker {

// What the trial's keys ask for; `scale`: of the data set.
[[nodiscard]] GeneratorSettings MakeGeneratorSettings(const TrialSpec& spec, const PixelScale& scale);
// The same of a method whose generator is given a class.
[[nodiscard]] ConditionalGeneratorSettings MakeConditionalSettings(const TrialSpec& spec);

class GeneratorSource final : public ImageSource {
 public:
  // Error: usage, as Generator::Create.
  // `gang` outlives the generator.
  [[nodiscard]] static Result<std::unique_ptr<GeneratorSource>> Create(const TrialSpec& spec, ImageShape image,
                                                                       Collective& gang, at::Device device = at::kCPU,
                                                                       const PixelScale& scale = {{}, {}},
                                                                       StepGraphs* graphs = nullptr);

  // This member's share of this step's `rows` images, [own, C, H, W], part of the graph to the generator's
  // parameters. Row i of the whole is a function of (seed, step, i) and the parameters, but for batch
  // normalisation. With spec.generator.latent_lr above 0 the latents are those that persist and are trained: spec.batch
  // of them, the same slots at every step.
  Result<at::Tensor> Images(std::int64_t step, std::int64_t rows) override;
  // spec.generator.lr and spec.generator.latent_lr times `decay`.
  GeneratorRates RatesAt(double decay) const override {
    return {spec_.generator.lr * decay, spec_.generator.latent_lr * decay};
  }
  // spec.generator.steps Adam steps on L_S + L_G of the whole batch. `images` is what Images(step, rows) gave. Where it
  // has a graph it serves the first of them; the others make images of the same latents anew. With a `critic` L_G is
  // what that says of the images, and the student decides L_S alone. Returns this member's part of the last
  // loss, f64 []. Error: of the gang.
  Result<at::Tensor> Improve(std::int64_t step, const at::Tensor& images, std::int64_t rows, const Network& student,
                             const GeneratorTarget& target, const GeneratorRates& rates,
                             const release::TeacherCritic* critic = nullptr) override;
  // One Adam step on what the critic says of `rows` images that are drawn for it and never queried; step n of
  // them draws the same ones always. Latents that persist are left alone. Returns this member's part of the loss.
  // Error: of the gang.
  Result<at::Tensor> Pretrain(std::int64_t n, std::int64_t rows, const release::TeacherCritic& critic,
                              double learning_rate) override;
  // detach = true: refused, when `target` still has a graph; a teacher's Jacobian would lie behind it.
  [[nodiscard]] static Status CheckDetached(const TrialSpec& spec, const GeneratorTarget& target);
  void Register(TrainState& state, const std::string& prefix) override;
  std::vector<storage::TensorBlob> Blobs(const std::string& prefix) const override;
  [[nodiscard]] Generator& generator() { return *generator_; }

 private:
  GeneratorSource(const TrialSpec& spec, std::unique_ptr<Generator> generator, Collective& gang, StepGraphs* graphs);
  // Images with their graph, and this member's latents behind them where those are trained.
  struct Made {
    at::Tensor images, latents;
  };
  // As GeneratorRates, f64 [] each.
  struct Rates {
    at::Tensor parameters, latents;
  };
  // What the generator is differentiated through in one step.
  struct Seeds {
    std::vector<at::Tensor> outputs, gradients;
    LossSum loss;
  };
  // This member's latents of a step, f32 [own rows, latent] on the CPU; undefined where they are trained.
  [[nodiscard]] at::Tensor DrawLatents(const RngStream& stream, std::int64_t rows) const;
  [[nodiscard]] const at::Tensor& FindLatents(std::int64_t step, std::int64_t rows);
  // `latents`: as FindLatents, on any device.
  [[nodiscard]] Made Make(const at::Tensor& latents, std::int64_t rows) const;
  // What Improve does, from `first` on, or from images that are made anew where that has none.
  [[nodiscard]] Result<at::Tensor> Descend(Made first, const at::Tensor& latents, std::int64_t rows,
                                           const Network& student, const GeneratorTarget& target, const Rates& rates,
                                           const release::TeacherCritic* critic);
  [[nodiscard]] Status AskStudent(const at::Tensor& images, std::int64_t rows, const Network& student,
                                  const GeneratorTarget& target, const GeneratorWeights& weights, Seeds& seeds);
  [[nodiscard]] Status AskCritic(const at::Tensor& images, std::int64_t rows, const release::TeacherCritic& critic,
                                 Seeds& seeds);
  // `latents`: this member's, a leaf of the graph; undefined where they are not trained.
  [[nodiscard]] Status Apply(const Seeds& seeds, const Rates& rates, const at::Tensor& latents = {});
  [[nodiscard]] bool TrainsLatents() const { return latents_.defined(); }
  const TrialSpec& spec_;
  Collective& gang_;
  std::unique_ptr<Generator> generator_;
  Adam adam_;
  at::Tensor latents_;  // f32 [spec.batch, latent], of all members; undefined where drawn anew
  std::optional<Adam> latents_adam_;
  Made made_;                     // the newest images, where they have a graph
  std::int64_t drawn_step_ = -1;  // of drawn_
  at::Tensor drawn_;
  GraphRegion making_, improving_, pretraining_;
};

}  // namespace retort::worker
