#include "orchestrator/results/trial_fields.h"

#include <algorithm>
#include <utility>

#include "experiments/base/diagnostic.h"
#include "experiments/base/failure_kind.h"
#include "experiments/base/number_text.h"
#include "experiments/methods/spec_keys.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator {
namespace {

std::vector<std::string> KnownKeys() {
  std::vector<std::string> keys = retort::ListKeyNames(kNowhere);
  for (const char* own : {"trial", "name", "state", "role", "failure", "attempts"}) keys.emplace_back(own);
  return keys;
}

// What a trial may have of a key, where that is a closed set.
std::vector<std::string> ListKnownValues(const std::string& key) {
  if (key == "role") return {"teacher", "student"};
  if (key == "failure") return ListFailureNames();
  if (const SpecKey* own = FindKey(key, kNowhere); own != nullptr)
    return own->type == KeyType::flag ? std::vector<std::string>{"true", "false"} : own->ChoiceList();
  std::vector<std::string> states;
  if (key == "state")
    for (int state = 1; state <= static_cast<int>(TrialState::cancelled); ++state)
      states.emplace_back(GetStateName(static_cast<TrialState>(state)));
  return states;
}

// The same with what trials of the view have; empty where any other value is possible, too.
std::vector<std::string> ClosedValues(const std::string& key, const ResultsView& view) {
  std::vector<std::string> values = ListKnownValues(key);
  const SpecKey* own = FindKey(key, kNowhere);
  if (values.empty() && (own == nullptr || own->type != KeyType::name)) return values;
  for (const TrialView& trial : view.trials) {
    std::optional<std::string> value = FindTrialField(trial, key);
    if (value && !value->empty() && !Holds(values, *value)) values.push_back(*std::move(value));
  }
  return values;
}

}  // namespace

std::optional<std::string> FindSpecField(const TrialSpec& spec, const std::string& key) {
  for (const auto& [axis, value] : spec.axes)
    if (axis == key) return value;
  if (key == "role") return spec.role == Role::teacher ? "teacher" : "student";
  if (key == "method") return spec.method;  // of teachers that are loaded, too, which the key does not apply to
  if (FindKey(key, kNowhere) == nullptr) return std::nullopt;
  return FormatKey(spec, key);
}

std::optional<std::string> FindTrialField(const TrialView& trial, const std::string& key) {
  if (key == "trial") return trial.spec.id.Hex();
  if (key == "name") return FormatTrialName(trial.spec);
  if (key == "state") return std::string(GetStateName(trial.state));
  if (key == "failure") return std::string(GetFailureName(trial.failure));
  if (key == "attempts") return std::to_string(trial.attempts);
  return FindSpecField(trial.spec, key);
}

bool Holds(const std::vector<std::string>& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool IsSameText(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto left = ParseFiniteNumber(a), right = ParseFiniteNumber(b);
  return left && right && *left == *right;
}

bool Fits(const TrialSpec& spec, const std::vector<KeyCondition>& conditions) {
  return std::all_of(conditions.begin(), conditions.end(), [&](const KeyCondition& condition) {
    const std::string field = FindSpecField(spec, condition.key).value_or("");
    return std::any_of(condition.values.begin(), condition.values.end(),
                       [&](const std::string& value) { return IsSameText(field, value); });
  });
}

Result<WhereFilter> WhereFilter::Parse(const std::vector<std::string>& conditions) {
  WhereFilter filter;
  for (const std::string& condition : conditions) {
    const std::size_t equals = condition.find('=');
    if (equals == std::string::npos || equals == 0)
      return UsageError("--where " + condition + " is not of the form KEY=VALUE, e.g. --where state=failed.");
    filter.conditions_.emplace_back(condition.substr(0, equals), condition.substr(equals + 1));
  }
  return filter;
}

bool WhereFilter::Holds(const TrialView& trial) const {
  for (const auto& [key, value] : conditions_) {
    const std::optional<std::string> field = FindTrialField(trial, key);
    if (!field || !IsSameText(*field, value)) return false;
  }
  return true;
}

Status WhereFilter::CheckKeys(const ResultsView& view) const {
  for (const auto& [key, value] : conditions_) {
    bool known = view.trials.empty();
    for (const TrialView& trial : view.trials) known = known || FindTrialField(trial, key).has_value();
    if (known) continue;
    std::string message = "no trial has a key `" + key + "`";
    const std::vector<std::string> near = FindNearest(key, KnownKeys());
    if (!near.empty()) message += "; nearest: " + near.front();
    return UsageError(message + ".", near);
  }
  return {};
}

Status WhereFilter::CheckValues(const ResultsView& view) const {
  for (const auto& [key, value] : conditions_) {
    std::vector<std::string> values = ClosedValues(key, view);
    const auto same = [&value](const std::string& known) { return IsSameText(known, value); };
    if (value.empty() || values.empty() || std::any_of(values.begin(), values.end(), same)) continue;
    values = SortByNearness(value, values);
    std::string message = "no trial can have " + key + "=" + value + "; " + key + " is one of ";
    for (std::size_t i = 0; i < values.size(); ++i) message += (i == 0 ? "" : ", ") + values[i];
    return UsageError(message + ".", std::move(values));
  }
  return {};
}

}  // namespace retort::orchestrator
