// One file of this folder for each way to spend a trial. A method composes source, release, losses and
// schedule; the trial runner owns steps, checkpoints and results.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/spec/status.h"
#include "experiments/spec/trial_spec.h"
#include "storage/attempt_file.h"
#include "storage/env.h"
#include "worker/data/dataset.h"
#include "worker/gang/row_share.h"
#include "worker/noise/noise_kernels.h"
#include "worker/release_tape.h"
#include "worker/train_state.h"

namespace retort::worker {

// What the parent teacher's trial left.
struct TeacherArtifact {
  TrialSpec spec;                                  // of the teacher
  std::vector<storage::TensorBlob> parameters;     // names begin "teacher/"
};

// All references outlive the method.
struct MethodInputs {
  const TrialSpec& spec;
  const Dataset& data;
  const TeacherArtifact* teacher = nullptr;        // null when the trial has no parent
  ReleaseTape& tape;
  Collective& gang;
  noise::NoiseKernels* noise = nullptr;            // of the data's device; null: the CPU's
  storage::Env* env = nullptr;                     // that loaded teachers are read through; null: PosixEnv()
};

using Series = std::vector<std::pair<std::string, double>>;

struct Outcome {
  Series metrics;                                  // deterministic
  std::vector<storage::TensorBlob> parameters;     // "student/...", "generator/...", "teacher/..."
  std::optional<storage::Evaluation> evaluation;
  std::optional<storage::Samples> samples;
};

// Runs on every member of the trial's gang at once, each step in the same order of collective operations; every
// member holds the same state.
class Method {
 public:
  virtual ~Method() = default;
  // Steps between which the trial can stop, be saved and go on; known at the start.
  [[nodiscard]] virtual std::int64_t steps() const = 0;
  [[nodiscard]] virtual std::string phase(std::int64_t step) const = 0;
  // What holds of this trial's structure by the names of privacy_event.h (kFact...), sorted: those that its claims
  // rest on and that were looked at, not assumed.
  [[nodiscard]] virtual std::vector<std::string> Facts() const { return {}; }
  // Everything that a step changes. Called once, before the first step.
  virtual void Register(TrainState& state) = 0;
  // Steps come in order from 0, or from the step of the checkpoint that was loaded. A step obtains its
  // release before it changes any registered state: when that fails, the state is still the one before
  // the step. `series` receives new points of the curves; those of gang rank 0 are kept.
  [[nodiscard]] virtual Status Step(std::int64_t step, Series& series) = 0;
  // On gang rank 0 alone: after the last step, and where a stop rule measures (stop_rule.h). Changes nothing that a
  // step depends on.
  [[nodiscard]] virtual Result<Outcome> Finish() = 0;
};

// The method that the spec names. Error: usage, when the spec cannot be run as it stands.
[[nodiscard]] Result<std::unique_ptr<Method>> MakeMethod(const MethodInputs& inputs);

// The makers behind MakeMethod.
[[nodiscard]] Result<std::unique_ptr<Method>> MakePlainTeacher(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeLoadedTeacher(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeEnsembleTeacher(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeNetworkEnsemble(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeRidgeEnsemble(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeDpSgd(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeDataFreeDistillation(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeResponseDistillation(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeVoteDistillation(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeVoteGeneration(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakePublicDistillation(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeRona(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeDenseDistillation(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeMeanEmbedding(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeSpectralLabels(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeLabelStages(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeAlibi(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeFederatedAveraging(const MethodInputs& inputs);

}  // namespace retort::worker
