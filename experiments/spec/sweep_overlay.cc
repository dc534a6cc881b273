// Profiles and KEY=VALUE arguments.
#include <algorithm>
#include <utility>

#include "experiments/spec/sweep_document.h"
#include "experiments/spec/value_reader.h"

namespace retort {
namespace {

std::vector<std::string> EntryNames(const TomlNode& table) {
  std::vector<std::string> names;
  for (const TomlEntry& entry : table.entries) names.push_back(entry.key);
  return names;
}

// Reads a profile into a document of its own, for the complaints.
void CheckProfile(const TomlEntry& profile, const Lookup& lookup, Complaints& complaints) {
  const std::string path = "profile." + profile.key;
  if (profile.value.kind != TomlKind::table) {
    complaints.Error(profile.value.where, path, path + " takes a table, not " + profile.value.Describe());
    return;
  }
  CheckSection(profile.value, "profile.*", path, true, complaints);
  SweepDocument scratch;
  ReadContext context{scratch, complaints, lookup, "", path + ".", true};
  ReadTables(profile.value, context);
}

// The axis that varies `key`, as "sweep.grid.sigma"; empty when none does.
std::string AxisOf(const TomlNode& root, const std::string& key) {
  const TomlEntry* sweep = root.Find("sweep");
  if (sweep == nullptr) return "";
  if (const TomlEntry* grid = sweep->value.Find("grid");
      grid != nullptr && grid->value.Find(key) != nullptr) {
    return "sweep.grid." + key;
  }
  const TomlEntry* zip = sweep->value.Find("zip");
  if (zip == nullptr) return "";
  for (const TomlEntry& rows : zip->value.entries) {
    for (const TomlNode& row : rows.value.items) {
      if (row.Find(key) != nullptr) return "sweep.zip." + rows.key;
    }
  }
  return "";
}

// `trial.reading=sound` is accepted for `trial.reading="sound"`.
bool ParseArgument(const std::string& argument, std::size_t equals, int source, const SourceTexts& sources,
                   TomlNode& tree, Diagnostic& error) {
  if (ParseToml(argument, source, sources, tree, error)) return true;
  const std::string word = argument.substr(equals + 1);
  const bool bare = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./").find(c) != std::string_view::npos;
  });
  Diagnostic ignored;
  return bare &&
         ParseToml(argument.substr(0, equals + 1) + "\"" + word + "\"", source, sources, tree, ignored);
}

constexpr std::string_view kTables[] = {"data", "teacher", "trial", "sweep", "table", "figure"};

// The dotted name of what `tree` sets, with `table` for its first part: "trial.steps".
std::string RenamedTo(const std::string& table, const TomlNode& tree) {
  std::string name = table;
  const TomlNode* below = &tree.entries.front().value;
  for (; below->kind == TomlKind::table && below->entries.size() == 1; below = &below->entries.front().value)
    name += "." + FormatTomlKey(below->entries.front().key);
  return name;
}

// What an override whose first part is no table was probably to be: that of a table with another name, or a key of
// [trial].
std::vector<std::string> NearTargets(const TomlNode& tree) {
  const TomlEntry& top = tree.entries.front();
  std::vector<std::string> near;
  if (top.value.kind == TomlKind::table)
    for (const std::string& table : NearestOf(top.key, {std::begin(kTables), std::end(kTables)}))
      near.push_back(RenamedTo(table, tree));
  else
    for (const std::string& key : NearestOf(top.key, KeyNames(kInTrial))) near.push_back("trial." + key);
  return near;
}

// Overrides change what the file has: they bring no new data set, teacher, table or figure.
bool TargetsExist(const TomlNode& root, const TomlNode& tree, Complaints& complaints) {
  const TomlEntry& top = tree.entries.front();
  if (std::find(std::begin(kTables), std::end(kTables), top.key) == std::end(kTables)) {
    const std::vector<std::string> near = NearTargets(tree);
    complaints.Error(top.where, top.key,
                     "unknown key \"" + top.key +
                         "\": an override starts with data., teacher., trial., sweep., table. or figure." +
                         (near.empty() ? "" : "; did you mean \"" + near.front() + "\"?"),
                     near);
    return false;
  }
  if (top.value.kind != TomlKind::table) {
    complaints.Error(top.where, top.key,
                     "\"" + top.key + "\" is a table; name a key of it, as in trial.steps=10");
    return false;
  }
  if (top.key == "trial" || top.key == "sweep") return true;
  const TomlEntry* existing = root.Find(top.key);
  for (const TomlEntry& entry : top.value.entries) {
    if (existing != nullptr && existing->value.Find(entry.key) != nullptr) continue;
    complaints.Unknown(entry.where, top.key + "." + entry.key, "[" + top.key + "] entry", entry.key,
                       existing == nullptr ? std::vector<std::string>() : EntryNames(existing->value), true);
    return false;
  }
  return true;
}

bool VariesOnAnAxis(const TomlNode& root, const TomlNode& tree, Complaints& complaints) {
  const TomlEntry* trial = tree.Find("trial");
  if (trial == nullptr) return false;
  bool varies = false;
  for (const TomlEntry& entry : trial->value.entries) {
    const std::string axis = AxisOf(root, entry.key);
    if (axis.empty()) continue;
    complaints.Error(entry.where, "trial." + entry.key,
                     "trial." + entry.key + " cannot be overridden: it varies on the axis " + axis, {axis});
    varies = true;
  }
  return varies;
}

void Override(TomlNode& root, const std::string& argument, SourceTexts& sources, Complaints& complaints) {
  const int source = sources.Add("command line", argument);
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0) {
    complaints.Error({source, 1, 1}, "",
                     "\"" + argument + "\" is not KEY=VALUE; write for example trial.steps=10");
    return;
  }
  TomlNode tree;
  Diagnostic error;
  if (!ParseArgument(argument, equals, source, sources, tree, error) || tree.entries.size() != 1) {
    complaints.Error({source, 1, static_cast<int>(equals) + 2}, argument.substr(0, equals),
                     "\"" + argument +
                         "\" is not KEY=VALUE with a TOML value; write for example trial.steps=10, "
                         "trial.reading=sound or sweep.seeds=[0,1]");
    return;
  }
  if (HoldsControls(tree, "", complaints)) return;
  if (!TargetsExist(root, tree, complaints) || VariesOnAnAxis(root, tree, complaints)) return;
  Overlay(root, tree);
}

}  // namespace

void OverlayDocument(TomlNode& root, const PlanOptions& options, SourceTexts& sources, const Lookup& lookup,
                     Complaints& complaints) {
  std::vector<std::string> names;
  TomlNode chosen;
  if (const TomlEntry* profiles = root.Find("profile");
      profiles != nullptr && profiles->value.kind == TomlKind::table) {
    names = EntryNames(profiles->value);
    for (const TomlEntry& profile : profiles->value.entries) {
      CheckProfile(profile, lookup, complaints);
      if (profile.key == options.profile && profile.value.kind == TomlKind::table) chosen = profile.value;
    }
    std::erase_if(root.entries, [](const TomlEntry& entry) { return entry.key == "profile"; });
  }
  if (!options.profile.empty() && std::find(names.begin(), names.end(), options.profile) == names.end()) {
    const int source = sources.Add("command line", "--profile " + options.profile);
    complaints.Unknown({source, 1, 11}, "profile", "profile", options.profile, names, true,
                       names.empty() ? "(the sweep file has no [profile.NAME])" : "");
  }
  Overlay(root, chosen);
  for (const std::string& argument : options.overrides) Override(root, argument, sources, complaints);
}

}  // namespace retort
