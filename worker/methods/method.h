// The interface of a method: what a trial does step by step. A method composes image source, release, losses and
// schedule; the trial runner (worker/run) owns steps, checkpoints and results.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "storage/files/env.h"
#include "storage/results/attempt_file.h"
#include "worker/data/dataset.h"
#include "worker/gang/row_share.h"
#include "worker/methods/release_replay.h"
#include "worker/noise/noise_kernels.h"
#include "worker/tensors/step_graphs.h"
#include "worker/tensors/train_state.h"

namespace retort::worker {

// What the trial of the parent teacher produced.
struct TeacherArtifact {
  TrialSpec spec;                               // of the teacher
  std::vector<storage::TensorBlob> parameters;  // names begin "teacher/"
};

// All references outlive the method.
struct MethodInputs {
  const TrialSpec& spec;
  const Dataset& data;
  const TeacherArtifact* teacher = nullptr;  // null when the trial has no parent
  ReleaseReplay& tape;
  Collective& gang;
  noise::NoiseKernels* noise = nullptr;  // of the data's device; null: the CPU's
  storage::Env* env = nullptr;           // that loaded teachers are read through; null: PosixEnv()
  StepGraphs* graphs = nullptr;          // of the trial; null: steps are not recorded
};

using Series = std::vector<std::pair<std::string, double>>;

struct Outcome {
  Series metrics;                               // deterministic
  std::vector<storage::TensorBlob> parameters;  // "student/...", "generator/...", "teacher/..."
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
  // rest on and that were checked, not assumed.
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

// What a trial that trained `network` ends with: its evaluation on `test`, the metrics of that, and its parameters,
// whose names begin with `prefix` ("student/", "teacher/"). `region`: as for Evaluate.
[[nodiscard]] Outcome EvaluateOutcome(const Network& network, const Examples& test, const std::string& prefix,
                                      GraphRegion* region = nullptr);

// A curve, and what this member of the gang adds to its next point: f64 [], on any device.
using LossPart = std::pair<const char*, at::Tensor>;
// Adds a point to each curve: the sum of what the members of the gang pass for it. Error: the gang's.
[[nodiscard]] Status RecordLosses(const std::vector<LossPart>& parts, Collective& gang, Series& series);
[[nodiscard]] Status RecordLoss(const at::Tensor& part, const char* name, Collective& gang, Series& series);

// The network that spec.network names, for the data set's images and on its device, its parameters drawn by the trial's
// seed. Error: usage, as MakeNetwork.
[[nodiscard]] Result<std::unique_ptr<Network>> DrawNetwork(const MethodInputs& inputs);

// The method that the spec names. Error: usage, when the spec cannot be run as it stands.
[[nodiscard]] Result<std::unique_ptr<Method>> MakeMethod(const MethodInputs& inputs);

// The makers behind MakeMethod, one for each file of this folder that holds a method.
[[nodiscard]] Result<std::unique_ptr<Method>> MakePlainTeacher(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeLoadedTeacher(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeEnsembleTeacher(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeDpSgd(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeDataFreeDistillation(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeResponseDistillation(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeVoteDistillation(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakePublicDistillation(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeRona(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeDenseDistillation(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeMeanEmbedding(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeSpectralLabels(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeLabelTraining(const MethodInputs& inputs);
[[nodiscard]] Result<std::unique_ptr<Method>> MakeFederatedAveraging(const MethodInputs& inputs);

// What a method knows of its trial's structure, for the ledger: the names of privacy_event.h whose condition holds,
// sorted.
[[nodiscard]] std::vector<std::string> SelectFacts(const std::vector<std::pair<std::string_view, bool>>& facts);

// Whether the members of this ensemble were trained on shards of `data`'s private split that share no example, counted
// over the indices, and that indices alone decide. A Dirichlet partition goes by the labels, and so does a private
// split that `sensitive_classes` move into: one example's label moves others between shards, which then differ in more
// than one place.
[[nodiscard]] bool AreShardsDisjoint(const TeacherArtifact& teacher, const Dataset& data);

// Whether each member of this ensemble depended on its own shard alone: not where a stop rule measured all of them.
[[nodiscard]] bool AreMembersIndependent(const TeacherArtifact& teacher);

}  // namespace retort::worker
