#include "orchestrator/cli/render/json_documents.h"

#include <nlohmann/json.hpp>

#include "experiments/base/json.h"
#include "experiments/methods/spec_codec.h"
#include "experiments/privacy/accountants/reasons.h"
#include "orchestrator/results/sweep_status.h"
#include "orchestrator/results/tables/statistics.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator::cli {

nlohmann::ordered_json MakeClaimsJson(const std::vector<privacy::Claim>& claims) {
  auto array = nlohmann::ordered_json::array();
  for (const privacy::Claim& claim : claims) array.push_back(TryParseOrderedJson(privacy::EncodeClaim(claim)));
  return array;
}

std::string FormatDocument(const nlohmann::ordered_json& document) { return DumpJson(document, 2) + "\n"; }

std::string FormatClaims(const std::vector<privacy::Claim>& claims) {
  std::string text = "[";
  for (std::size_t i = 0; i < claims.size(); ++i) text += (i == 0 ? "" : ",") + privacy::EncodeClaim(claims[i]);
  return text + "]";
}

void WriteWithArray(const std::function<void(std::string_view)>& out, const nlohmann::ordered_json& document,
                    const std::string& key, std::size_t count, const std::function<std::string(std::size_t)>& entry) {
  std::string head = FormatDocument(document);
  head.resize(head.rfind("\n}"));
  out(head + ",\n  \"" + key + "\": [");
  for (std::size_t i = 0; i < count; ++i) out((i == 0 ? "\n    " : ",\n    ") + entry(i));
  out(count == 0 ? "]\n}\n" : "\n  ]\n}\n");
}

using nlohmann::ordered_json;

ordered_json SearchJson(const SearchStanding& standing) {
  const SearchTerms& terms = standing.terms;
  ordered_json best;
  if (standing.best) {
    best = {{"suggestion", standing.best->number},
            {"trial", standing.best->trial.Hex()},
            {"name", standing.best->name},
            {"score", standing.best->score},
            {"values", ordered_json::object()}};
    for (const auto& [key, value] : standing.best->values) best["values"][key] = value;
  }
  ordered_json search = {
      {"method", terms.method},   {"score", terms.score},    {"goal", terms.maximize ? "maximize" : "minimize"},
      {"trials", standing.total}, {"keys", terms.keys},      {"suggested", standing.suggested},
      {"ended", standing.ended},  {"best", std::move(best)}, {"cost", DescribeSearchCost(terms.score)}};
  if (!terms.rung_key.empty()) search["rungs"] = terms.rung_key;
  return search;
}

ordered_json MakeMetricJson(double value, const std::string& metric) {
  const std::optional<std::int64_t> count = FindCount(value, metric);
  return count ? ordered_json(*count) : ordered_json(value);
}

namespace {

// All but the spec.
ordered_json SummaryJson(const TrialView& trial) {
  ordered_json json;
  json["trial"] = trial.spec.id.Hex();
  json["name"] = FormatTrialName(trial.spec);
  json["state"] = GetStateName(trial.state);
  json["attempts"] = trial.attempts;
  const std::string failure = FindFailureWord(trial);
  json["failure"] = failure.empty() ? ordered_json() : ordered_json(failure);
  if (!trial.detail.empty()) json["detail"] = trial.detail;
  if (!trial.refuted.empty()) json["refuted"] = trial.refuted;
  if (!trial.audit_unknown.empty()) json["audit_unknown"] = trial.audit_unknown;
  json["metrics"] = ordered_json::object();
  if (trial.row)
    for (const auto& [name, value] : trial.row->metrics) json["metrics"][name] = MakeMetricJson(value, name);
  json["row_digest"] = trial.row ? ordered_json(trial.row->row_digest) : ordered_json();
  return json;
}

}  // namespace

ordered_json MakeKeysAndValues(const std::vector<std::string>& keys, const std::vector<std::string>& values) {
  ordered_json object = ordered_json::object();
  for (std::size_t i = 0; i < keys.size(); ++i) object[keys[i]] = values[i];
  return object;
}

ordered_json MakeDifferencesJson(const std::vector<Difference>& differences) {
  ordered_json json = ordered_json::array();
  for (const Difference& one : differences)
    json.push_back({{"key", one.key}, {"here", one.here}, {"text", one.text}, {"place", one.place}});
  return json;
}

ordered_json MakeChosenJson(const std::vector<Chosen>& chosen) {
  ordered_json json = ordered_json::array();
  for (const Chosen& one : chosen) json.push_back({{"key", one.key}, {"here", one.here}, {"reason", one.reason}});
  return json;
}

ordered_json MakeTrialJson(const TrialView& trial) {
  ordered_json json = SummaryJson(trial);
  json["spec"] = TryParseOrderedJson(EncodeTrialSpec(trial.spec));
  return json;
}

// The spec and the further members are texts already: parsing them again would be most of the work.
std::string FormatTrialJson(const TrialView& trial, const std::vector<std::pair<std::string, std::string>>& further) {
  std::string text = DumpJson(SummaryJson(trial));
  text.back() = ',';
  text += "\"spec\":" + EncodeTrialSpec(trial.spec);
  for (const auto& [name, value] : further) text += ",\"" + name + "\":" + value;
  return text + "}";
}

ordered_json MakeLedgerEntryJson(const storage::LedgerEntry& entry) {
  ordered_json json;
  json["id"] = entry.id;
  json["data_digest"] = entry.data_digest;
  json["trial"] = entry.attempt.trial.Hex();
  json["attempt"] = entry.attempt.number;
  json["generation"] = entry.generation;
  json["state"] = entry.state == storage::LedgerState::settled ? "settled" : "reserved";
  json["used"] = entry.state == storage::LedgerState::settled ? ordered_json(entry.used) : ordered_json();
  json["event"] = TryParseOrderedJson(privacy::EncodeEvent(entry.event));
  return json;
}
ordered_json MakeDevicesJson(const std::vector<DeviceView>& devices) {
  ordered_json all = ordered_json::array();
  for (const DeviceView& device : devices) {
    ordered_json trials = ordered_json::array();
    for (const TrialView* trial : device.trials) trials.push_back(trial->spec.id.Hex());
    ordered_json entry = {{"host", device.host},
                          {"device", device.device},
                          {"rank", device.rank},
                          {"slot", device.slot},
                          {"state", GetDeviceStateName(device.state)},
                          {"trials", std::move(trials)}};
    if (device.since > 0) entry["since"] = device.since;
    all.push_back(std::move(entry));
  }
  return all;
}

}  // namespace retort::orchestrator::cli
