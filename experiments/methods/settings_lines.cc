#include "experiments/methods/settings_lines.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "experiments/methods/methods.h"
#include "experiments/methods/spec_keys.h"
#include "experiments/methods/stated_settings.h"

namespace retort {
namespace {

constexpr std::size_t kMaxShown = 4;  // values of a key in one line

// What trials of one method, branch and reading say of a key.
struct KeyLine {
  std::string key, text;
  std::string_view place;           // or the reason
  std::vector<std::string> values;  // distinct ones, in the trials' order
};

void AddValue(std::vector<KeyLine>& lines, const KeyLine& line, const std::string& value) {
  auto found = std::find_if(lines.begin(), lines.end(), [&](const KeyLine& other) {
    return other.key == line.key && other.text == line.text && other.place == line.place;
  });
  if (found == lines.end()) found = lines.insert(lines.end(), line);
  if (std::find(found->values.begin(), found->values.end(), value) == found->values.end())
    found->values.push_back(value);
}

// "20, 50, 200", or "20, 50, 100, ... 500".
std::string ValuesText(const std::vector<std::string>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool left_out = values.size() > kMaxShown && i + 1 >= kMaxShown && i + 1 < values.size();
    if (left_out) continue;
    if (!text.empty()) text += values.size() > kMaxShown && i + 1 == values.size() ? ", ... " : ", ";
    text += values[i];
  }
  return text;
}

struct SettingsGroup {
  std::string subject;  // "working dpdfd", "stated feddpsd, branch label"
  bool stated = false;
  std::vector<KeyLine> differs, chosen;
};

std::string Subject(const TrialSpec& spec) {
  std::string subject = FormatKey(spec, "reading") + " " + spec.method;
  if (HasBranches(spec)) subject += ", branch " + FormatKey(spec, "branch");
  return subject;
}

// `teacher`: the student's, or null.
void Gather(const TrialSpec& spec, const TrialSpec* teacher, SettingsGroup& group) {
  for (const Difference& difference : ListDifferences(spec, teacher))
    AddValue(group.differs, {difference.key, difference.text, difference.place, {}}, difference.here);
  for (const Chosen& chosen : ListChosen(spec))
    AddValue(group.chosen, {chosen.key, "", chosen.reason, {}}, chosen.here);
}

// Lines of one place, or one reason, stand together, in the order of the first.
std::vector<KeyLine> Together(const std::vector<KeyLine>& lines) {
  std::vector<KeyLine> sorted;
  for (const KeyLine& line : lines) {
    const auto same = [&](const KeyLine& other) { return other.place == line.place; };
    const auto last = std::find_if(sorted.rbegin(), sorted.rend(), same);
    sorted.insert(last == sorted.rend() ? sorted.end() : last.base(), line);
  }
  return sorted;
}

// The keys with their values, each with what `about` says of it; behind those of one place, or one reason, what
// `behind` makes of it.
template <typename About, typename Behind>
std::string JoinByPlace(const std::vector<KeyLine>& lines, About about, Behind behind) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const KeyLine& line = lines[i];
    if (i > 0) text += lines[i - 1].place == line.place ? ", " : "; ";
    text += line.key + " " + ValuesText(line.values) + about(line);
    if (i + 1 == lines.size() || lines[i + 1].place != line.place) text += behind(std::string(line.place));
  }
  return text;
}

// "dkd_beta 1 (8), by citation of DKD; information_entropy 20 (1), activation_norm 0.1 (1), Eq. 5"
std::string DiffersText(const std::vector<KeyLine>& lines) {
  return JoinByPlace(
      lines, [](const KeyLine& line) { return " (" + line.text + ")"; },
      [](const std::string& place) { return ", " + place; });
}

// "steps 160 (T is not printed); lr 0.001, generator_lr 0.001 (rates are not printed)"
std::string ChosenText(const std::vector<KeyLine>& lines) {
  return JoinByPlace(
      lines, [](const KeyLine&) { return ""; }, [](const std::string& reason) { return " (" + reason + ")"; });
}

std::string GroupText(const SettingsGroup& group) {
  const std::string differs = group.differs.empty()
                                  ? " is as its text"
                                  : " differs from its text (in brackets): " + DiffersText(Together(group.differs));
  const std::string chosen = group.chosen.empty() ? "" : " Not in it: " + ChosenText(Together(group.chosen)) + ".";
  return group.subject + differs + "." + chosen;
}

}  // namespace

std::vector<std::string> DescribeSettings(std::span<const TrialSpec* const> trials) {
  std::unordered_map<TrialId, const TrialSpec*> teachers;
  for (const TrialSpec* spec : trials)
    if (spec->role == Role::teacher) teachers.emplace(spec->id, spec);
  std::vector<SettingsGroup> groups;
  for (const TrialSpec* spec : trials) {
    if (!FollowsPaper(*spec)) continue;
    const auto teacher = spec->parent ? teachers.find(*spec->parent) : teachers.end();
    std::string subject = Subject(*spec);
    auto found = std::find_if(groups.begin(), groups.end(),
                              [&](const SettingsGroup& group) { return group.subject == subject; });
    if (found == groups.end())
      found = groups.insert(groups.end(), {std::move(subject), spec->reading == Reading::stated, {}, {}});
    Gather(*spec, teacher == teachers.end() ? nullptr : teacher->second, *found);
  }
  std::vector<std::string> lines;
  for (const SettingsGroup& group : groups)
    if (group.stated || !group.differs.empty()) lines.push_back(GroupText(group));
  return lines;
}

}  // namespace retort
