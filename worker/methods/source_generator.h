// The generator as a source of queries, and its training: through the student alone, unless it is handed the
// raw teacher as a critic.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/spec/status.h"
#include "experiments/spec/trial_spec.h"
#include "worker/distill/generator_loss.h"
#include "worker/gang/row_share.h"
#include "worker/models/generator.h"
#include "worker/models/network.h"
#include "worker/optim/adam.h"
#include "worker/release/teacher_critic.h"
#include "worker/train_state.h"

namespace retort::worker {

// What the released annotations of one batch look like to the generator's L_S.
struct GeneratorTarget {
  at::Tensor y;          // f32 [own rows, classes], detached; undefined: no L_S
  // The printed trap (detach = false): the release with its graph to the images, and d y / d release.
  at::Tensor released;   // undefined unless the trap is asked for
  double slope = 0;      // y = constant + slope * released
};

class SourceGenerator {
 public:
  // Error: usage, as Generator::Create.
  // `gang` outlives the generator.
  [[nodiscard]] static Result<std::unique_ptr<SourceGenerator>> Create(const TrialSpec& spec, ImageShape image,
                                                                       Collective& gang,
                                                                       at::Device device = at::kCPU);

  // This member's share of this step's `rows` images, [own, C, H, W], part of the graph to the generator's
  // parameters. Row i of the whole is a function of (seed, step, i) and the parameters, but for batch
  // normalisation, which sees the share alone.
  [[nodiscard]] at::Tensor Images(std::int64_t step, std::int64_t rows) const;
  // spec.generator_steps Adam steps on L_S + L_G of the whole batch. `images` is what Images(step, rows) gave,
  // with its graph, and serves the first of them; later ones draw the same latents anew. With a `critic` L_G is
  // what that says of the images, and the student decides L_S alone. Returns this member's part of the last
  // loss. Error: of the gang.
  [[nodiscard]] Result<double> Improve(std::int64_t step, const at::Tensor& images, std::int64_t rows,
                                       const Network& student, const GeneratorTarget& target,
                                       double learning_rate, const release::TeacherCritic* critic = nullptr);
  // One Adam step on what the critic says of `rows` images that are drawn for it and never queried; step n of
  // them draws the same ones always. Returns this member's part of the loss. Error: of the gang.
  [[nodiscard]] Result<double> Pretrain(std::int64_t n, std::int64_t rows, const release::TeacherCritic& critic,
                                        double learning_rate);
  // detach = true: refused, when `target` still has a graph; a teacher's Jacobian would lie behind it.
  [[nodiscard]] static Status CheckDetached(const TrialSpec& spec, const GeneratorTarget& target);
  void Register(TrainState& state, const std::string& prefix);
  [[nodiscard]] Generator& generator() { return *generator_; }

 private:
  SourceGenerator(const TrialSpec& spec, std::unique_ptr<Generator> generator, Collective& gang);
  // What the generator is differentiated through in one step.
  struct Seeds {
    std::vector<at::Tensor> outputs, gradients;
    double loss = 0;
  };
  [[nodiscard]] at::Tensor Drawn(const RngStream& stream, std::int64_t rows) const;
  [[nodiscard]] Status AskStudent(const at::Tensor& images, std::int64_t rows, const Network& student,
                                  const GeneratorTarget& target, const GeneratorWeights& weights, Seeds& seeds);
  [[nodiscard]] Status AskCritic(const at::Tensor& images, std::int64_t rows, const release::TeacherCritic& critic,
                                 Seeds& seeds);
  [[nodiscard]] Status Apply(const Seeds& seeds, double learning_rate);
  const TrialSpec& spec_;
  Collective& gang_;
  std::unique_ptr<Generator> generator_;
  Adam adam_;
};

}  // namespace retort::worker
