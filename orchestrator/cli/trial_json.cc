#include "orchestrator/cli/trial_json.h"

#include <nlohmann/json.hpp>

#include "experiments/privacy/reasons.h"
#include "experiments/spec/spec_codec.h"
#include "orchestrator/cli/trial_names.h"

namespace retort::orchestrator::cli {

using nlohmann::ordered_json;

namespace {

// All but the spec.
ordered_json Summary(const TrialView& trial) {
  ordered_json json;
  json["trial"] = trial.spec.id.Hex();
  json["name"] = ShownName(trial.spec);
  json["state"] = StateName(trial.state);
  json["attempts"] = trial.attempts;
  const std::string failure = FailureWord(trial);
  json["failure"] = failure.empty() ? ordered_json() : ordered_json(failure);
  if (!trial.detail.empty()) json["detail"] = trial.detail;
  if (!trial.refuted.empty()) json["refuted"] = trial.refuted;
  if (!trial.audit_unknown.empty()) json["audit_unknown"] = trial.audit_unknown;
  json["metrics"] = ordered_json::object();
  if (trial.row)
    for (const auto& [name, value] : trial.row->metrics) json["metrics"][name] = value;
  json["row_digest"] = trial.row ? ordered_json(trial.row->row_digest) : ordered_json();
  return json;
}

}  // namespace

std::string FailureWord(const TrialView& trial) {
  if (std::string own = AuditVoidOf(trial); !own.empty()) return own;
  if (trial.unknown_teacher_audit) return "teacher-" + std::string(privacy::reason::kAuditUnknown);
  if (trial.refuted_teacher) return "teacher-" + std::string(privacy::kVoidRefuted);
  return trial.failure == FailureKind::none ? "" : std::string(FailureName(trial.failure));
}

ordered_json TrialJson(const TrialView& trial) {
  ordered_json json = Summary(trial);
  json["spec"] = ordered_json::parse(EncodeTrialSpec(trial.spec), nullptr, false);
  return json;
}

// The spec and the further members are texts already: parsing them again would be most of the work.
std::string TrialText(const TrialView& trial,
                      const std::vector<std::pair<std::string, std::string>>& further) {
  std::string text = Summary(trial).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  text.back() = ',';
  text += "\"spec\":" + EncodeTrialSpec(trial.spec);
  for (const auto& [name, value] : further) text += ",\"" + name + "\":" + value;
  return text + "}";
}

ordered_json LedgerEntryJson(const storage::LedgerEntry& entry) {
  ordered_json json;
  json["id"] = entry.id;
  json["data_digest"] = entry.data_digest;
  json["trial"] = entry.attempt.trial.Hex();
  json["attempt"] = entry.attempt.number;
  json["generation"] = entry.generation;
  json["state"] = entry.state == storage::LedgerState::settled ? "settled" : "reserved";
  json["used"] = entry.state == storage::LedgerState::settled ? ordered_json(entry.used) : ordered_json();
  json["event"] = ordered_json::parse(privacy::EncodeEvent(entry.event), nullptr, false);
  return json;
}

}  // namespace retort::orchestrator::cli
