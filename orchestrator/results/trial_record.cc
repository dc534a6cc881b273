#include "orchestrator/results/trial_record.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "experiments/base/number_text.h"
#include "experiments/methods/spec_keys.h"
#include "experiments/privacy/statement.h"
#include "orchestrator/results/trial_fields.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator {
namespace {

std::string_view DescribeWorth(const privacy::Claim& claim) {
  if (claim.status == privacy::ClaimStatus::audited) return "audited-lower-bound";
  if (claim.status == privacy::ClaimStatus::unbounded || !std::isfinite(claim.epsilon)) return "no-bound";
  return claim.status == privacy::ClaimStatus::proven ? "proven" : "paper-formula-not-a-guarantee";
}

double FindEpsilon(const privacy::Claim& claim) {
  if (claim.status == privacy::ClaimStatus::audited) return claim.lower.value_or(claim.epsilon);
  const bool bounded = claim.status != privacy::ClaimStatus::unbounded && std::isfinite(claim.epsilon);
  return bounded ? claim.epsilon : std::numeric_limits<double>::infinity();
}

std::vector<NamedEpsilon> NameEpsilons(const std::vector<privacy::Claim>& claims) {
  std::vector<NamedEpsilon> epsilons;
  std::set<std::string> taken;
  for (const privacy::Claim& claim : claims) {
    const std::string name = FormatClaimName(claim);
    std::string own = name;
    for (int number = 2; !taken.insert(own).second; ++number) own = name + "." + std::to_string(number);
    epsilons.push_back(
        {own, FindEpsilon(claim), privacy::FormatStatementLine(claim), claim.status == privacy::ClaimStatus::audited});
  }
  return epsilons;
}

// Of a file or a folder its last name alone: results leave the machine.
std::string ShortenPath(const std::string& text) {
  const std::filesystem::path whole(text);
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

// An ε that was asked for is not one that is claimed, and must not be taken for it where settings stand alone.
std::string NameSetting(const std::string& key) {
  return key == "epsilon" || key == "epsilon0" ? key + "-asked-for" : key;
}

std::vector<std::pair<std::string, std::string>> ListSettings(const TrialSpec& spec) {
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<std::string> keys = ListKeyNames(kNowhere);
  keys.insert(keys.begin(), "role");
  for (const auto& [axis, value] : spec.axes)
    if (std::find(keys.begin(), keys.end(), axis) == keys.end()) keys.push_back(axis);
  for (const std::string& key : keys) {
    std::string text = FindSpecField(spec, key).value_or("");
    if (text.empty()) continue;
    const SpecKey* known = FindKey(key, kNowhere);
    if (known != nullptr && known->type == KeyType::path) text = ShortenPath(text);
    settings.emplace_back(NameSetting(key), std::move(text));
  }
  return settings;
}

std::string WriteStatement(const ResultsView& view, const TrialView& trial) {
  std::vector<privacy::PrivacyEvent> events;
  for (const storage::LedgerEntry& entry : view.ledger)
    if (entry.attempt.trial == trial.spec.id) events.push_back(entry.Charged());
  return privacy::WriteTrialStatement(trial.spec, trial.row->claims, events);
}

}  // namespace

std::string FormatClaimName(const privacy::Claim& claim) {
  std::string name(DescribeWorth(claim));
  name += "." + std::string(privacy::GetAdjacencyName(claim.adjacency));
  name += "." + std::string(privacy::GetNeighbourName(claim.neighbour));
  if (name.starts_with("no-bound")) return name;
  return name + (claim.delta_stated ? ".delta-" + FormatExactNumber(claim.delta) : ".delta-not-stated");
}

TrialRecord MakeTrialRecord(const ResultsView& view, const TrialView& trial, const storage::AttemptFile& file,
                            const TrialTimes& times) {
  TrialRecord record;
  record.id = trial.spec.id.Hex();
  record.name = FormatTrialName(trial.spec);
  record.succeeded = trial.state == TrialState::succeeded;
  record.state = GetStateName(trial.state);
  record.row_digest = trial.row->row_digest;
  record.ended = FindTime(times, std::numeric_limits<std::int64_t>::max(), view.newest_event);
  record.began = times.began > 0 ? times.began : record.ended;
  for (const auto& [name, points] : file.curves) {
    std::vector<TimedPoint>& timed = record.curves.emplace_back(name, std::vector<TimedPoint>()).second;
    timed.reserve(points.size());
    for (const auto& [step, value] : points) {
      timed.push_back({step, FindTime(times, step, view.newest_event), value});
      record.last_step = std::max(record.last_step, step);
    }
  }
  record.metrics = trial.row->metrics;
  record.settings = ListSettings(trial.spec);
  record.claims = trial.row->claims;
  record.epsilons = NameEpsilons(trial.row->claims);
  record.withdrawn = trial.refuted;
  if (!trial.audit_unknown.empty()) record.withdrawn.push_back(trial.audit_unknown);
  record.statement = WriteStatement(view, trial);
  return record;
}

}  // namespace retort::orchestrator
