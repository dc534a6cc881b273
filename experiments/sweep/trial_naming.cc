#include "experiments/sweep/trial_naming.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "experiments/base/environment.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/spec_keys.h"
#include "experiments/sweep/search_points.h"
#include "experiments/sweep/sweep_document.h"

namespace retort {
namespace {

// A trial of a search keeps its name while others are suggested.
std::string Stem(const TrialSpec& spec) {
  if (spec.role == Role::teacher) return "teacher-" + spec.teacher;
  const MethodTraits* method = FindMethod(spec.method);
  const bool reads = method != nullptr && method->readings != 0;
  const std::optional<std::size_t> suggestion = FindSuggestion(spec);
  return spec.method + (reads ? "-" + FormatKey(spec, "reading") : "") +
         (suggestion ? "-" + std::string(kSuggestionKey) + std::to_string(*suggestion) : "");
}

std::string Tail(const TrialSpec& spec) {
  const std::string data = IsSleeper(FindKind(spec)) ? "" : "-" + (spec.data ? spec.data->name : "none");
  return data + "-s" + std::to_string(spec.seed);
}

// "sigma" and "50" as "sigma50", a word by itself; only characters that suit a folder.
std::string Label(const std::pair<std::string, std::string>& axis) {
  const bool word = !axis.second.empty() && axis.second.find_first_of("0123456789.-") != 0;
  std::string label = word ? axis.second : axis.first + axis.second;
  if (axis.second == "true" || axis.second == "false") label = axis.first + "-" + axis.second;
  return label;
}

const std::pair<std::string, std::string>* AxisNamed(const TrialSpec& spec, const std::string& key) {
  for (const auto& axis : spec.axes) {
    if (axis.first == key) return &axis;
  }
  return nullptr;
}

// The axes of the group in order, each once.
std::vector<std::string> AxisKeys(const std::vector<TrialSpec*>& group) {
  std::vector<std::string> keys;
  for (const TrialSpec* trial : group) {
    for (const auto& axis : trial->axes) {
      if (std::find(keys.begin(), keys.end(), axis.first) == keys.end()) keys.push_back(axis.first);
    }
  }
  return keys;
}

// Trials of one class have the same labels so far. Refines the classes by one axis; keeps its labels only
// when that tells trials apart.
void DistinguishTrials(const std::vector<TrialSpec*>& group, std::vector<std::string>& labels) {
  std::vector<std::size_t> classes(group.size(), 0);
  std::size_t count = 1;
  for (const std::string& key : AxisKeys(group)) {
    if (count == group.size()) return;
    std::map<std::pair<std::size_t, std::string>, std::size_t> refined;
    std::vector<std::size_t> next(group.size());
    for (std::size_t i = 0; i < group.size(); ++i) {
      const auto* axis = AxisNamed(*group[i], key);
      next[i] = refined.try_emplace({classes[i], axis == nullptr ? "" : axis->second}, refined.size()).first->second;
    }
    if (refined.size() == count) continue;
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (const auto* axis = AxisNamed(*group[i], key)) labels[i] += "-" + Label(*axis);
    }
    count = refined.size();
    classes = std::move(next);
  }
}

std::string FolderName(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 std::string_view("._-+").find(c) != std::string_view::npos);
      },
      '_');
  if (name.size() > kMaxFileNameBytes) name.resize(kMaxFileNameBytes);
  return name;
}

// Appends the beginning of the id to names that are equal.
void AppendIds(std::span<TrialSpec> trials) {
  std::vector<TrialSpec*> by_name;
  by_name.reserve(trials.size());
  for (TrialSpec& trial : trials) by_name.push_back(&trial);
  const auto less = [](const TrialSpec* a, const TrialSpec* b) { return a->name < b->name; };
  std::sort(by_name.begin(), by_name.end(), less);
  for (auto first = by_name.begin(); first != by_name.end();) {
    const auto last = std::upper_bound(first, by_name.end(), *first, less);
    if (last - first > 1)
      std::for_each(first, last, [](TrialSpec* trial) { trial->name += "-" + trial->id.Hex().substr(0, 8); });
    first = last;
  }
}

}  // namespace

void NameTrials(std::span<TrialSpec> trials) {
  std::unordered_map<std::string, std::vector<TrialSpec*>> groups;
  for (TrialSpec& trial : trials) groups[Stem(trial) + Tail(trial)].push_back(&trial);
  for (auto& [name, group] : groups) {
    std::vector<std::string> labels(group.size());
    if (group.size() > 1) DistinguishTrials(group, labels);
    for (std::size_t i = 0; i < group.size(); ++i) {
      group[i]->name = FolderName(Stem(*group[i]) + labels[i] + Tail(*group[i]));
      group[i]->name.shrink_to_fit();  // one a trial, for as long as the plan lives
    }
  }
  AppendIds(trials);
}

}  // namespace retort
