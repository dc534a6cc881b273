#include "orchestrator/refutation_notes.h"

#include <utility>
#include <vector>

#include "experiments/spec/ids.h"
#include "experiments/spec/spec_codec.h"
#include "storage/presence.h"

namespace retort::orchestrator {
namespace {

constexpr std::size_t kDigestDigits = 16;

std::string NameOf(const std::string& trial, const std::string& row_digest) {
  return trial + "-" + Sha256Hex(row_digest).substr(0, kDigestDigits) + ".json";
}

Result<std::vector<std::string>> NamesIn(storage::Env& env, const std::string& folder) {
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::IsThere(env, folder));
  if (!there) return std::vector<std::string>();
  return env.List(folder);
}

}  // namespace

std::string RefutationsFolder(const std::string& root) { return root + "/refuted"; }

RefutationNotes::RefutationNotes(storage::Env& env, const std::string& root)
    : env_(env), folder_(RefutationsFolder(root)) {
  Result<std::vector<std::string>> names = NamesIn(env, folder_);
  if (names.ok())
    names_.insert(names->begin(), names->end());
  else
    trouble_ = "what audits refuted is noted in " + folder_ + ", and that cannot be read: " + names.status().message();
}

bool RefutationNotes::Names(const std::string& trial) const {
  const auto first = names_.lower_bound(trial + "-");
  return first != names_.end() && first->starts_with(trial + "-");
}

Result<std::optional<privacy::AuditReport>> RefutationNotes::Of(const std::string& trial,
                                                                const std::string& row_digest) const {
  if (!trouble_.empty()) return EnvironmentError(trouble_);
  const std::string name = NameOf(trial, row_digest), path = folder_ + "/" + name;
  if (!names_.contains(name)) return std::optional<privacy::AuditReport>();
  RETORT_ASSIGN_OR_RETURN(const std::string text, env_.ReadSmallFile(path, kMostBytesOfReport));
  Result<privacy::AuditReport> report = privacy::DecodeAuditReport(text);
  if (!report.ok()) return DamageError(path + ": " + report.status().message());
  if (report->trial != trial || report->row_digest != row_digest)
    return DamageError(path + " is the report on another result");
  return std::optional(std::move(report).value());
}

Status NoteRefutation(storage::Env& env, const std::string& root, const privacy::AuditReport& report) {
  if (!TrialId::FromHex(report.trial)) return DamageError("'" + report.trial + "' is the id of no trial");
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(RefutationsFolder(root)));
  return env.WriteFileAtomically(RefutationsFolder(root) + "/" + NameOf(report.trial, report.row_digest),
                                 privacy::EncodeAuditReport(report) + "\n");
}

}  // namespace retort::orchestrator
