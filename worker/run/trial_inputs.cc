#include "worker/run/trial_inputs.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "experiments/base/status.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/spec_codec.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/privacy_event.h"
#include "storage/formats/tensor_blob.h"
#include "storage/results/attempt_file.h"
#include "worker/data/dataset.h"
#include "worker/run/failure.h"
#include "worker/sleep/trial_host.h"

namespace retort::worker {

namespace {

// Reports to the trial's host how far loading its data is, so that its agent does not take the worker for hung.
class LoadReport {
 public:
  // `least_seconds` between two reports, from ReportSeconds. `host` outlives this.
  LoadReport(TrialHost& host, double least_seconds) : host_(host), least_seconds_(least_seconds) {}

  // A LoadProgress. Reports step 0 of 0 and a phase that is another one each time, also while another process works.
  // Not ok once a stop was asked for or the agent is gone.
  [[nodiscard]] Status Tell(const std::string& doing, std::int64_t done, std::int64_t of);
  // Set once Tell returned an error.
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }

 private:
  using Clock = std::chrono::steady_clock;
  TrialHost& host_;
  const double least_seconds_;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point told_ = began_;
  std::optional<Failure> failure_;
};

std::string FormatPhase(const std::string& doing, std::int64_t done, std::int64_t of, double seconds) {
  if (done > 0) return doing + " " + std::to_string(done) + " of " + std::to_string(of) + " pictures";
  const auto tenths = static_cast<std::int64_t>(seconds * 10);
  return "waiting for another process that is " + doing + " " + std::to_string(of) + " pictures, " +
         std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

Status LoadReport::Tell(const std::string& doing, std::int64_t done, std::int64_t of) {
  const Clock::time_point now = Clock::now();
  if (std::chrono::duration<double>(now - told_).count() < least_seconds_) return {};
  told_ = now;
  if (host_.StopRequested()) {
    failure_ = Failure{FailureKind::stopped, "Stopped while its data was loaded."};
    return Cancelled(failure_->detail);
  }
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const Status told = host_.Report(cluster::Progress{0, 0, FormatPhase(doing, done, of, seconds), {}});
  if (!told.ok()) failure_ = MakeFailure(told, FailureKind::agent_lost);
  return told;
}

// The teacher's claims are those of its row, which follow from the ledger: the teacher's file may
// count less. Where the row's are not known, those of the file lose their bounds.
Result<std::vector<privacy::Claim>> FindTeacherClaims(const cluster::Start& start,
                                                      std::vector<privacy::Claim> of_file) {
  if (start.teacher_claims.empty()) {
    for (privacy::Claim& claim : of_file)
      if (claim.status == privacy::ClaimStatus::proven)
        claim = privacy::WithdrawClaim(std::move(claim), std::string(privacy::reason::kUnknownTeacherAccount));
    return of_file;
  }
  std::vector<privacy::Claim> claims;
  for (const std::string& text : start.teacher_claims) {
    RETORT_ASSIGN_OR_RETURN(privacy::Claim claim, privacy::DecodeClaim(text));
    claims.push_back(std::move(claim));
  }
  return claims;
}

std::optional<Failure> LoadTeacherFile(const cluster::Start& start, TrialInputs& inputs) {
  Result<storage::AttemptFile> file = storage::ReadAttemptFile(start.teacher_file);
  if (!file.ok()) return MakeFailure(file.status(), FailureKind::disk);
  Result<TrialSpec> spec = DecodeTrialSpec(file->spec_json);
  if (!spec.ok()) return MakeFailure(spec.status(), FailureKind::disk);
  if (file->parameters.empty())
    return Failure{FailureKind::configuration,
                   "the row of teacher " + spec->teacher +
                       " was imported, and an archive of rows holds no parameters: run the sweep in another folder "
                       "(--results), where its teacher is trained again, or put its attempt.h5 back."};
  inputs.teacher_digest = storage::ComputeTensorDigest(file->parameters);
  if (!start.teacher_parameters.empty() && start.teacher_parameters != inputs.teacher_digest)
    return Failure{FailureKind::disk, "'" + start.teacher_file +
                                          "' holds other parameters than its row was written for, so that the row's "
                                          "claims say nothing of them: restore it from a copy (retort verify)."};
  Result<std::vector<privacy::Claim>> claims = FindTeacherClaims(start, std::move(file->claims));
  if (!claims.ok()) return MakeFailure(claims.status(), FailureKind::configuration);
  inputs.teacher_claims = std::move(claims).value();
  inputs.teacher.emplace(TeacherArtifact{std::move(spec).value(), std::move(file->parameters)});
  return std::nullopt;
}

std::optional<Failure> LoadData(storage::Env& env, const DataSpec& where, TrialHost* host, TrialInputs& inputs) {
  std::optional<LoadReport> report;
  LoadProgress progress;
  if (host != nullptr) {
    report.emplace(*host, ReportSeconds(inputs.spec));
    progress = [&report](const std::string& doing, std::int64_t done, std::int64_t of) {
      return report->Tell(doing, done, of);
    };
  }
  Result<CheckedDataset> data = LoadCheckedDataset(env, where, std::max(1, inputs.spec.threads), progress);
  if (report && report->failure()) return report->failure();
  if (!data.ok()) return MakeFailure(data.status(), FailureKind::data);
  inputs.data = std::move(data->data);
  inputs.splits_share = data->shared;
  return std::nullopt;
}

}  // namespace

std::vector<std::string> FindVoids(const TrialInputs& inputs) {
  std::vector<std::string> voids;
  if (inputs.teacher && IsLoaded(FindKind(inputs.teacher->spec))) voids.emplace_back(privacy::kVoidLoadedWeights);
  if (inputs.splits_share) voids.emplace_back(privacy::reason::kSharedExample);
  return voids;
}

std::optional<Failure> LoadTrialInputs(const TrialOrder& order, storage::Env& env, const DeviceOpener& open,
                                       TrialInputs& inputs, TrialHost* host) {
  const cluster::Start& start = order.start;
  Result<TrialSpec> spec = DecodeTrialSpec(start.spec);
  if (!spec.ok()) return MakeFailure(spec.status(), FailureKind::configuration);
  inputs.spec = std::move(spec).value();
  inputs.spec.id = order.attempt.trial;
  if (inputs.spec.data == nullptr) return Failure{FailureKind::configuration, "The trial names no data set."};
  const Result<OpenDevice> device = open(start.device);
  if (!device.ok()) return MakeFailure(device.status(), FailureKind::device);
  DataSpec where = *inputs.spec.data;
  if (!start.data_path.empty()) where.path = start.data_path;
  if (std::optional<Failure> failure = LoadData(env, where, host, inputs)) return failure;
  MoveTo(device->device, inputs.data);
  inputs.noise = device->noise;
  inputs.meter = device->meter;
  if (inputs.spec.execution.graphs == GraphMode::automatic) inputs.graphs = device->graphs;
  return start.teacher_file.empty() ? std::nullopt : LoadTeacherFile(start, inputs);
}

}  // namespace retort::worker
