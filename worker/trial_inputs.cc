#include "worker/trial_inputs.h"

#include <algorithm>
#include <utility>

#include "experiments/privacy/privacy_event.h"
#include "experiments/privacy/reasons.h"
#include "experiments/privacy/withdrawn_claim.h"
#include "experiments/spec/spec_codec.h"
#include "experiments/spec/trial_kind.h"
#include "storage/attempt_file.h"
#include "storage/tensor_digest.h"
#include "worker/data/checked_dataset.h"
#include "worker/load_report.h"
#include "worker/report_interval.h"

namespace retort::worker {
namespace {

// The teacher's claims are those of its row, which follow from the ledger: what its file says of itself may count
// less. Where nobody knows the row's, those of the file lose their bounds.
Result<std::vector<privacy::Claim>> ClaimsOfTeacher(const cluster::Start& start, std::vector<privacy::Claim> of_file) {
  if (start.teacher_claims.empty()) {
    for (privacy::Claim& claim : of_file)
      if (claim.status == privacy::ClaimStatus::proven)
        claim = privacy::Withdrawn(std::move(claim), std::string(privacy::reason::kUnknownTeacherAccount));
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
  if (!file.ok()) return FailureOf(file.status(), FailureKind::disk);
  Result<TrialSpec> spec = DecodeTrialSpec(file->spec_json);
  if (!spec.ok()) return FailureOf(spec.status(), FailureKind::disk);
  inputs.teacher_digest = storage::TensorDigest(file->parameters);
  if (!start.teacher_parameters.empty() && start.teacher_parameters != inputs.teacher_digest)
    return Failure{FailureKind::disk, "'" + start.teacher_file +
                                          "' holds other parameters than its row was written for, so that the row's "
                                          "claims say nothing of them: restore it from a copy (retort verify)."};
  Result<std::vector<privacy::Claim>> claims = ClaimsOfTeacher(start, std::move(file->claims));
  if (!claims.ok()) return FailureOf(claims.status(), FailureKind::configuration);
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
  Result<CheckedDataset> data = LoadChecked(env, where, std::max(1, inputs.spec.threads), progress);
  if (report && report->failure()) return report->failure();
  if (!data.ok()) return FailureOf(data.status(), FailureKind::data);
  inputs.data = std::move(data->data);
  inputs.splits_share = data->shared;
  return std::nullopt;
}

}  // namespace

std::vector<std::string> VoidsOf(const TrialInputs& inputs) {
  std::vector<std::string> voids;
  if (inputs.teacher && KindOf(inputs.teacher->spec) == TrialKind::loaded_teacher)
    voids.emplace_back(privacy::kVoidLoadedWeights);
  if (inputs.splits_share) voids.emplace_back(privacy::reason::kSharedExample);
  return voids;
}

std::optional<Failure> LoadTrialInputs(const TrialOrder& order, storage::Env& env, const DeviceOpener& open,
                                       TrialInputs& inputs, TrialHost* host) {
  const cluster::Start& start = order.start;
  Result<TrialSpec> spec = DecodeTrialSpec(start.spec);
  if (!spec.ok()) return FailureOf(spec.status(), FailureKind::configuration);
  inputs.spec = std::move(spec).value();
  inputs.spec.id = order.attempt.trial;
  if (inputs.spec.data == nullptr) return Failure{FailureKind::configuration, "The trial names no data set."};
  const Result<OpenDevice> device = open(start.device);
  if (!device.ok()) return FailureOf(device.status(), FailureKind::device);
  DataSpec where = *inputs.spec.data;
  if (!start.data_path.empty()) where.path = start.data_path;
  if (std::optional<Failure> failure = LoadData(env, where, host, inputs)) return failure;
  MoveTo(device->device, inputs.data);
  inputs.noise = device->noise;
  inputs.meter = device->meter;
  return start.teacher_file.empty() ? std::nullopt : LoadTeacherFile(start, inputs);
}

}  // namespace retort::worker
