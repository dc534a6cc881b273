#include "worker/audit/retraining.h"

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "experiments/methods/methods.h"
#include "experiments/privacy/privacy_event.h"
#include "storage/results/checkpoint_store.h"
#include "worker/audit/audited_trial.h"
#include "worker/audit/release_step.h"
#include "worker/gang/local_collective.h"
#include "worker/methods/method.h"
#include "worker/methods/release_replay.h"

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

}  // namespace

bool CanRetrain(const TrialSpec& spec) {
  const TrialKind kind = FindKind(spec);
  return kind == TrialKind::plain_teacher || kind == TrialKind::dpsgd_teacher || kind == TrialKind::dpsgd_student;
}

Result<std::unique_ptr<Network>> Retrain(const TrialSpec& trial, const Dataset& data, storage::Env& env,
                                         const std::function<void(std::int64_t, std::int64_t)>& step) {
  RETORT_CHECK(CanRetrain(trial));
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
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Method> method, MakeMethod({spec, data, nullptr, tape, *gang}));
  for (std::int64_t done = 0; done < method->steps(); ++done) {
    Series series;
    RETORT_RETURN_IF_ERROR(method->Step(done, series));
    step(done + 1, method->steps());
  }
  RETORT_ASSIGN_OR_RETURN(const Outcome outcome, method->Finish());
  return NetworkWith(spec, data, outcome.parameters);
}

}  // namespace retort::worker::audit
