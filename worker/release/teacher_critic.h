// The raw teacher as the generator's discriminator (DPSD-T; DP-DFD's pretraining). Its loss is neither bounded nor
// noised: a generator trained with it has used the raw teacher, and so has everything that is trained on its images. A
// method that uses a critic adds kVoidGeneratorTouchedTeacher to its events. Of an ensemble (DENSE) the critic uses the
// mean of the members' logits and the batch norms of all of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "worker/distill/generator_loss.h"
#include "worker/gang/collective.h"
#include "worker/release/answers.h"

namespace retort::worker::release {

struct CriticWeights {
  double one_hot = 1, information_entropy = 5, activation_norm = 0.1;
  double bn_statistics = 0;
  double adversarial = 0;
};

// What is asked of the images besides, where it is set.
struct CriticTask {
  at::Tensor labels = {};            // i64 [own rows]: of these classes, in place of the teacher's first ones
  const Network* student = nullptr;  // adversarial: such that teacher and student disagree
};

struct CriticGradient {
  at::Tensor images;  // d loss / d images, as the images: f32 [own rows, C, H, W]
  at::Tensor loss;    // f64 []: this member's part; the parts sum to the loss
};

class TeacherCritic {
 public:
  // The teacher outlives the critic. `image`: [1, C, H, W] of the right shape and device, whatever it shows. Error:
  // usage, when the teacher has no batch norm for bn_statistics or shows no features for activation_norm.
  [[nodiscard]] static Result<TeacherCritic> Create(TeacherModel& teacher, const at::Tensor& image,
                                                    const CriticWeights& weights, GeneratorForm form);

  // With the weights and the form of a trial's keys. Error: usage, too, for an ensemble where the trial is not one that
  // takes its raw answers; such a trial compares the statistics of the batch norms that there are, if any.
  [[nodiscard]] static Result<TeacherCritic> FromSpec(const TrialSpec& spec, TeacherModel& teacher,
                                                      const at::Tensor& image);

  // loss = L_G at the teacher's own logits and features (generator_loss.h, without targets)
  //   + bn_statistics * sum over batch norms of |m - mean|_2 + |v - variance|_2,
  // m and v the mean and the biased variance of what reaches the layer, by channel over the whole batch (Yin et
  // al. 2020, DeepInversion)
  //   - adversarial * mean over rows, where teacher's and student's first classes differ, of KL(teacher || student).
  // images f32 [own rows, C, H, W]: this member's of a batch of `rows`; their graph is not used. Error: of the
  // gang.
  [[nodiscard]] Result<CriticGradient> Judge(const at::Tensor& images, std::int64_t rows, Collective& gang,
                                             const CriticTask& task = {}) const;

 private:
  TeacherCritic(TeacherModel& teacher, const CriticWeights& weights, GeneratorForm form)
      : teacher_(&teacher), weights_(weights), form_(form) {}
  TeacherModel* teacher_;
  CriticWeights weights_;
  GeneratorForm form_;
};

}  // namespace retort::worker::release
