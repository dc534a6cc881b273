#include "worker/audit/retraining.h"

#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "experiments/methods/methods.h"
#include "experiments/privacy/privacy_event.h"
#include "storage/results/checkpoint_store.h"
#include "worker/audit/attacked_examples.h"
#include "worker/audit/audited_trial.h"
#include "worker/audit/release_step.h"
#include "worker/gang/local_collective.h"
#include "worker/methods/method.h"
#include "worker/methods/release_replay.h"
#include "worker/methods/stop_rule.h"

namespace retort::worker::audit {
namespace {

namespace fs = std::filesystem;

// A new folder that no other user can enter. A guessable name might exist already, as another user's link.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "retort-audit-XXXXXX").string();
    if (!error && ::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  // Empty where none could be made.
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

// The whole of a trial, by its own method; `teacher` is null where it has none.
Result<Outcome> TrainWhole(const TrialSpec& trial, const TeacherArtifact* teacher, const Dataset& data,
                           noise::NoiseKernels* noise, storage::Env& env,
                           const std::function<void(std::int64_t, std::int64_t)>& step) {
  TrialSpec spec = trial;
  spec.noise = NoiseMode::secure;
  const ScratchFolder scratch;
  if (scratch.path().empty())
    return EnvironmentError("No folder for the audit can be made where temporary files go (TMPDIR).");
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<storage::CheckpointStore> store,
                          storage::CheckpointStore::Open(env, scratch.path(), 1));
  const std::unique_ptr<Collective> gang = MakeSoloCollective();
  ReleaseReplay tape(store.get(), *gang, data.device);
  UnchargedPort port;
  release::ChargeBook book(&port, 1, privacy::kMaxDraws);
  tape.UseChargeBook(book);
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Method> method,
                          MakeMethod({spec, data, teacher, tape, *gang, noise, &env}));
  for (std::int64_t done = 1; done <= method->steps(); ++done) {
    Series series;
    RETORT_RETURN_IF_ERROR(method->Step(done - 1, series));
    step(done, method->steps());
    if (!IsStopCheck(spec, done)) continue;
    RETORT_ASSIGN_OR_RETURN(const bool stop, ShouldStop(spec, series, *method));
    if (stop) break;
  }
  return method->Finish();
}

}  // namespace

bool CanRetrain(const TrialSpec& spec) {
  const TrialKind kind = FindKind(spec);
  return TrainsByDpSgd(kind) || (IsTeacher(kind) && !IsEnsemble(kind) && !IsLoaded(kind));
}

Result<std::unique_ptr<Network>> Retrain(const TrialSpec& trial, const Dataset& data, storage::Env& env,
                                         const std::function<void(std::int64_t, std::int64_t)>& step) {
  RETORT_CHECK(CanRetrain(trial));
  RETORT_ASSIGN_OR_RETURN(const Outcome outcome, TrainWhole(trial, nullptr, data, nullptr, env, step));
  return MakeNetworkWith(trial, data, outcome.parameters);
}

std::string ExplainNoShadows(const AuditedTrial& trial) {
  const std::optional<TeacherArtifact>& teacher = trial.inputs.teacher;
  if (IsLoaded(FindKind(trial.inputs.spec))) return "the network is a file, and nobody here can train its like";
  if (!teacher && trial.inputs.spec.parent)
    return "a shadow is a teacher and a student, and what its teacher's trial left is not there";
  if (teacher && IsLoaded(FindKind(teacher->spec)))
    return "a shadow is a teacher and a student, and its teacher is a file: nobody here can train its like";
  return "";
}

Result<std::unique_ptr<Network>> RetrainTrial(const AuditedTrial& trial, const Dataset& data, std::uint64_t shift,
                                              const ShadowProgress& step) {
  const TrialInputs& inputs = trial.inputs;
  const auto part = [&step](const char* name) {
    return [&step, name](std::int64_t done, std::int64_t of) { step(name, done, of); };
  };
  std::optional<TeacherArtifact> teacher;
  if (inputs.teacher) {
    TrialSpec teacher_spec = inputs.teacher->spec;
    teacher_spec.seed += shift;
    RETORT_ASSIGN_OR_RETURN(Outcome outcome,
                            TrainWhole(teacher_spec, nullptr, data, inputs.noise, *trial.env, part("teacher")));
    teacher = TeacherArtifact{std::move(teacher_spec), std::move(outcome.parameters)};
  }
  TrialSpec spec = inputs.spec;
  if (ListQueriedPlaces(spec, data.train.size()).empty()) spec.seed += shift;
  RETORT_ASSIGN_OR_RETURN(const Outcome outcome, TrainWhole(spec, teacher ? &*teacher : nullptr, data, inputs.noise,
                                                            *trial.env, part(teacher ? "student" : "network")));
  return MakeNetworkWith(spec, data, outcome.parameters);
}

}  // namespace retort::worker::audit
