#include "worker/run/finished_attempt.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "experiments/methods/spec_codec.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/relation.h"
#include "storage/files/path_status.h"
#include "storage/formats/tensor_blob.h"
#include "storage/results/attempt_account.h"
#include "storage/results/attempt_file.h"
#include "storage/results/checkpoint_store.h"

namespace retort::worker {
namespace {

bool IsOfTrial(const storage::AttemptFile& file, const TrialOrder& order, std::uint32_t attempt, const TrialSpec& spec,
               const std::string& teacher_digest) {
  if (file.trial != order.attempt.trial.Hex() || file.attempt != attempt) return false;
  if (file.teacher_digest != teacher_digest) return false;
  Result<TrialSpec> found = DecodeTrialSpec(file.spec_json);
  if (!found.ok()) return false;
  found->id = spec.id;
  return EncodeCanonically(*found) == EncodeCanonically(spec);
}

cluster::Ended MakeEnded(const storage::AttemptFile& file, const std::string& path) {
  cluster::Ended ended;
  ended.succeeded = true;
  ended.detail = "taken over from attempt " + std::to_string(file.attempt) + ", which had finished";
  ended.metrics = file.metrics;
  ended.timings = file.timings;
  ended.parameters_digest = storage::ComputeTensorDigest(file.parameters);
  ended.file = path;
  return ended;
}

}  // namespace

Result<std::optional<cluster::Ended>> FindFinishedAttempt(storage::Env& env, const TrialOrder& order,
                                                          const TrialSpec& spec, const std::string& teacher_digest) {
  RETORT_ASSIGN_OR_RETURN(const bool begun, storage::PathExists(env, order.start.trial_directory));
  if (!begun) return std::optional<cluster::Ended>();
  // A repaired journal may have lost attempts, so that numbers do not say which came first.
  RETORT_ASSIGN_OR_RETURN(
      const std::vector<std::uint32_t> attempts,
      storage::ListEarlierAttempts(env, order.start.trial_directory, std::numeric_limits<std::uint32_t>::max()));
  for (const std::uint32_t attempt : attempts) {
    const std::string folder = storage::GetAttemptDirectory(order.start.trial_directory, attempt);
    const std::string path = folder + "/attempt.h5";
    RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, path));
    if (!there) continue;
    const Result<storage::AttemptFile> file = storage::ReadAttemptFile(path);
    if (!file.ok() || !IsOfTrial(*file, order, attempt, spec, teacher_digest)) continue;
    return std::optional(MakeEnded(*file, FormatAttemptFilePath(folder)));
  }
  return std::optional<cluster::Ended>();
}

Status CountFinishedAttempt(storage::Env& env, const TrialOrder& order, const TrialSpec& spec,
                            const std::vector<privacy::Claim>& teacher_claims, TrialHost& host,
                            const cluster::Ended& ended) {
  const std::filesystem::path results = std::filesystem::path(order.start.trial_directory).parent_path().parent_path();
  const std::string path = (results / ended.file).string();
  RETORT_ASSIGN_OR_RETURN(storage::AttemptFile file, storage::ReadAttemptFile(path));
  RETORT_RETURN_IF_ERROR(ChargeDrawnEvents(storage::FindForgottenDraws(file.ledger, order.start.charged), host));
  std::vector<privacy::PrivacyEvent> counted = storage::FindUncountedDraws(file.ledger, order.start.charged);
  for (const storage::LedgerEntry& entry : file.ledger) counted.push_back(entry.Charged());
  const storage::TrialAccount account{spec.data->digest, privacy::Aggregate(counted),
                                      privacy::ComputeClaims({&spec, teacher_claims}, counted)};
  return storage::NeedsRecount(file, account) ? storage::RecountAttemptFile(env, path, account) : Status();
}

std::string FormatAttemptFilePath(const std::string& attempt_directory) {
  const std::filesystem::path attempt(attempt_directory), trial = attempt.parent_path();
  return (trial.parent_path().filename() / trial.filename() / attempt.filename() / "attempt.h5").string();
}

}  // namespace retort::worker
