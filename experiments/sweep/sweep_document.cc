#include "experiments/sweep/sweep_document.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/base/printable.h"
#include "experiments/sweep/data_tables.h"
#include "experiments/sweep/figure_specs.h"
#include "experiments/sweep/overrides.h"
#include "experiments/sweep/quota.h"
#include "experiments/sweep/sweep_axes.h"
#include "experiments/sweep/table_specs.h"
#include "experiments/sweep/teacher_tables.h"
#include "experiments/sweep/value_reader.h"

namespace retort {
namespace {

// Names in assignments must exist; conditions are checked where they are read.
void CheckNames(Assignments& assignments, const SweepDocument& document, DiagnosticCollector& diagnostics) {
  for (Assignment& assignment : assignments) {
    if (assignment.key == nullptr || assignment.key->type != KeyType::name || !assignment.valid) continue;
    const bool data = assignment.key->name == "data";
    const std::vector<std::string> names = data ? document.DataNames() : document.TeacherNames();
    const auto& name = std::get<std::string>(assignment.value);
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    assignment.valid = false;
    diagnostics.AddUnknown(assignment.where, std::string(assignment.key->name), data ? "data set" : "teacher", name,
                           names, true);
  }
}

// Whether `holds` is true for a method that is named somewhere.
template <typename F>
bool AnyMethod(const SweepDocument& document, F holds) {
  const auto among = [&holds](const Assignments& values) {
    return std::any_of(values.begin(), values.end(),
                       [&holds](const Assignment& value) { return value.key->name == "method" && holds(value); });
  };
  const auto in_axis = [&among](const Axis& axis) { return std::any_of(axis.rows.begin(), axis.rows.end(), among); };
  return among(document.trial) || among(document.search_values) ||
         std::any_of(document.axes.begin(), document.axes.end(), in_axis) ||
         std::any_of(document.when.begin(), document.when.end(),
                     [&among](const WhenRule& rule) { return among(rule.set); });
}

// Reports a misspelt name, with the nearest among the keys of this place and among the other spellings of a key.
void UnknownKey(const TomlEntry& entry, KeyPlace place, const std::string& path, DiagnosticCollector& diagnostics) {
  const std::string table = "[" + path.substr(0, path.size() - 1) + "]";
  const KeyPlace other = place == kInTrial ? kInTeacher : kInTrial;
  const SpecKey* elsewhere = FindKey(entry.key, other);
  if (elsewhere == nullptr) elsewhere = FindKey(entry.key, kNowhere);
  if (elsewhere == nullptr) {
    diagnostics.AddUnknown(entry.where, path + entry.key, "key", entry.key, ListKeyNames(place), false, "in " + table);
    return;
  }
  std::string message = "\"" + entry.key + "\" is not a key of " + table;
  if (elsewhere->name == "seed")
    message += "; write sweep.seeds";
  else if ((elsewhere->places & place) != 0)
    message += "; here it is called \"" + std::string(elsewhere->NameIn(place)) + "\"";
  else if (place == kInTrial)
    message += "; it belongs to a [teacher] definition";
  else if (elsewhere->inherited)
    message += "; teachers take it from [trial]";
  else if ((elsewhere->kinds & kinds::kDpsgdTeacher) != 0)
    message += "; write private = { epsilon = ..., norm_bound = ... }";
  else
    message += "; it belongs to [trial]";
  std::vector<std::string> choices;
  if ((elsewhere->places & place) != 0) choices.emplace_back(elsewhere->NameIn(place));
  diagnostics.AddError(entry.where, path + entry.key, std::move(message), std::move(choices));
}

const SpecKey& Key(std::string_view name) {
  const SpecKey* key = FindKey(name, kNowhere);
  RETORT_CHECK(key != nullptr);
  return *key;
}

std::optional<std::string> Expand(const std::string& text, Position where, const std::string& key,
                                  ReadContext& context) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "${") != 0) {
      out += text[i++];
      continue;
    }
    const std::size_t end = text.find('}', i);
    const std::string name = end == std::string::npos ? "" : text.substr(i + 2, end - i - 2);
    const auto value = name.empty() ? std::nullopt : context.lookup(name);
    if (!value) {
      context.diagnostics.AddError(where, key,
                                   name.empty()
                                       ? "${ has no variable name and } behind it"
                                       : "the environment variable " + name + " is not set; set it, or write the path");
      return std::nullopt;
    }
    out += *value;
    i = end + 1;
  }
  return out;
}

// Control characters in names and texts of a sweep file.

bool Refuse(const std::string& text, Position where, const std::string& key, DiagnosticCollector& diagnostics) {
  const std::string control = FindControlCharacter(text);
  if (control.empty()) return false;
  TomlNode shown;
  shown.kind = TomlKind::text;
  shown.text = MakeOneLine(text);
  const std::string right = FormatTomlValue(shown);
  diagnostics.AddError(where, key,
                       key + " holds the control character " + control +
                           ", which a terminal or a page obeys rather than shows: leave it out, as in " + right,
                       {right});
  return true;
}

bool ReportControlCharacters(const TomlNode& table, const std::string& path, DiagnosticCollector& diagnostics);

bool ReportControlsInValue(const TomlNode& value, const std::string& key, DiagnosticCollector& diagnostics) {
  if (value.kind == TomlKind::text) return Refuse(value.text, value.where, key, diagnostics);
  if (value.kind == TomlKind::table) return ReportControlCharacters(value, key + ".", diagnostics);
  bool any = false;
  for (const TomlNode& item : value.items) any = ReportControlsInValue(item, key, diagnostics) || any;
  return any;
}

// Reports every name and text of `table` with a control character, which a terminal or a page obeys rather than shows.
// `path`: the dotted name of the table, with its dot; empty for the document. Returns whether there is one.
bool ReportControlCharacters(const TomlNode& table, const std::string& path, DiagnosticCollector& diagnostics) {
  bool any = false;
  for (const TomlEntry& entry : table.entries) {
    const std::string key = path + FormatTomlKey(entry.key);
    any = Refuse(entry.key, entry.where, key, diagnostics) || any;
    any = ReportControlsInValue(entry.value, key, diagnostics) || any;
  }
  return any;
}

// Reads the seven tables of `root`, which has no profile any more.
void ReadTables(const TomlNode& root, ReadContext& context) {
  SweepDocument& document = context.document;
  const auto table = [&root](std::string_view name) -> const TomlNode* {
    const TomlEntry* entry = root.Find(name);
    return entry != nullptr && entry->value.kind == TomlKind::table ? &entry->value : nullptr;
  };
  if (const TomlNode* data = table("data")) ReadDataTables(*data, context);
  if (const TomlNode* networks = table("network")) ReadNetworks(*networks, context);
  if (const TomlNode* teachers = table("teacher")) ReadTeachers(*teachers, context);
  if (const TomlNode* trial = table("trial")) {
    document.trial_where = trial->where;
    document.trial = ReadAssignments(*trial, kInTrial, context.prefix + "trial.", context);
  }
  if (const TomlNode* sweep = table("sweep")) ReadSweepTable(*sweep, context);
  if (const TomlNode* tables = table("table")) ReadTableSpecs(*tables, context);
  if (const TomlNode* figures = table("figure")) ReadFigures(*figures, context);
  if (context.partial) return;
  CheckNames(document.trial, document, context.diagnostics);
  for (Axis& axis : document.axes) {
    for (Assignments& row : axis.rows) CheckNames(row, document, context.diagnostics);
  }
  CheckNames(document.search_values, document, context.diagnostics);
  for (WhenRule& rule : document.when) CheckNames(rule.set, document, context.diagnostics);
}

// Profiles and KEY=VALUE arguments.

// Reads a profile into a document of its own, for the diagnostics.
void CheckProfile(const TomlEntry& profile, const TomlNode& root, const Lookup& lookup,
                  DiagnosticCollector& diagnostics) {
  const std::string path = "profile." + profile.key;
  if (profile.value.kind != TomlKind::table) {
    diagnostics.AddError(profile.value.where, path, path + " takes a table, not " + profile.value.Describe());
    return;
  }
  CheckSection(profile.value, "profile.*", path, true, diagnostics);
  SweepDocument scratch;
  if (const TomlEntry* networks = root.Find("network")) scratch.other_networks = ListKeys(networks->value);
  ReadContext context{scratch, diagnostics, lookup, "", path + ".", true};
  ReadTables(profile.value, context);
}

void Override(TomlNode& root, const std::string& argument, SourceTexts& sources, DiagnosticCollector& diagnostics) {
  const std::optional<SweepOverride> change = ParseOverride(argument, sources, diagnostics);
  if (!change || ReportControlCharacters(change->tree, "", diagnostics)) return;
  LayOverride(*change, root, diagnostics);
}

// Lays the chosen profile and the KEY=VALUE overrides on `root`, takes [profile] out of it, and checks
// the profiles that were not chosen. `sources` gains one text for each argument.
void OverlayDocument(TomlNode& root, const PlanOptions& options, SourceTexts& sources, const Lookup& lookup,
                     DiagnosticCollector& diagnostics) {
  std::vector<std::string> names;
  TomlNode chosen;
  if (const TomlEntry* profiles = root.Find("profile");
      profiles != nullptr && profiles->value.kind == TomlKind::table) {
    names = ListKeys(profiles->value);
    for (const TomlEntry& profile : profiles->value.entries) {
      CheckProfile(profile, root, lookup, diagnostics);
      if (profile.key == options.profile && profile.value.kind == TomlKind::table) chosen = profile.value;
    }
    std::erase_if(root.entries, [](const TomlEntry& entry) { return entry.key == "profile"; });
  }
  if (!options.profile.empty() && std::find(names.begin(), names.end(), options.profile) == names.end()) {
    const int source = sources.Add("command line", "--profile " + options.profile);
    diagnostics.AddUnknown({source, 1, 11}, "profile", "profile", options.profile, names, true,
                           names.empty() ? "(the sweep file has no [profile.NAME])" : "");
  }
  Overlay(root, chosen);
  for (const std::string& argument : options.overrides) Override(root, argument, sources, diagnostics);
}

// Writes the sweep's name into [sweep]: the copy in the results folder has another file name, which would name the
// sweep.
void KeepName(const std::string& name, TomlNode& root) {
  if (!IsFolderName(name)) return;
  if (root.Find("sweep") == nullptr) root.entries.push_back({"sweep", {}, {}});
  TomlNode& sweep = root.Find("sweep")->value;
  if (sweep.kind != TomlKind::table || sweep.Find("name") != nullptr) return;
  TomlNode text;
  text.kind = TomlKind::text;
  text.text = name;
  sweep.entries.push_back({"name", {}, std::move(text)});
}

}  // namespace

const DataTable* SweepDocument::FindData(const std::string& data_name) const {
  for (const DataTable& table : data) {
    if (table.data->name == data_name) return &table;
  }
  return nullptr;
}

const TeacherDefinition* SweepDocument::FindTeacher(const std::string& teacher_name) const {
  for (const TeacherDefinition& teacher : teachers) {
    if (teacher.name == teacher_name) return &teacher;
  }
  return nullptr;
}

const NetworkDefinition* SweepDocument::FindNetwork(const std::string& network_name) const {
  for (const NetworkDefinition& network : networks) {
    if (network.name == network_name) return &network;
  }
  return nullptr;
}

bool SweepDocument::NamesSleep() const {
  return AnyMethod(*this, [](const Assignment& method) {
    return method.valid && IsSleeper(FindMethod(std::get<std::string>(method.value))->kind);
  });
}

bool SweepDocument::NamesUnknownMethod() const {
  return AnyMethod(*this, [](const Assignment& method) { return !method.valid; });
}

std::vector<std::string> SweepDocument::DataNames() const {
  std::vector<std::string> names;
  for (const DataTable& table : data) names.push_back(table.data->name);
  return names;
}

std::vector<std::string> SweepDocument::TeacherNames() const {
  std::vector<std::string> names;
  for (const TeacherDefinition& teacher : teachers) names.push_back(teacher.name);
  return names;
}

std::optional<KeyValue> ReadTrialValue(const TomlNode& node, const SpecKey& key, const std::string& path,
                                       ReadContext& context) {
  const bool text = node.kind == TomlKind::text;
  if (text && (key.name == "network" || key.name == "generator")) return ReadNetworkName(node, key, path, context);
  return ReadKeyValue(node, key, path, context.diagnostics);
}

Assignment ReadAssignment(const TomlEntry& entry, KeyPlace place, const std::string& path, ReadContext& context) {
  Assignment assignment;
  assignment.where = entry.value.where;
  assignment.path = path + entry.key;
  assignment.number = context.document.assignments++;
  assignment.key = FindKey(entry.key, place);
  assignment.valid = false;
  if (assignment.key == nullptr) {
    UnknownKey(entry, place, path, context.diagnostics);
    return assignment;
  }
  if (auto value = ReadTrialValue(entry.value, *assignment.key, path + entry.key, context)) {
    assignment.value = std::move(*value);
    assignment.valid = true;
  }
  return assignment;
}

Assignments ReadAssignments(const TomlNode& table, KeyPlace place, const std::string& path, ReadContext& context) {
  Assignments assignments;
  for (const TomlEntry& entry : table.entries) {
    if (entry.key == "stop") {
      for (Assignment& part : ReadStop(entry, path, context)) assignments.push_back(std::move(part));
      continue;
    }
    Assignment assignment = ReadAssignment(entry, place, path, context);
    if (assignment.key != nullptr) assignments.push_back(std::move(assignment));
  }
  return assignments;
}

Assignments ReadStop(const TomlEntry& entry, const std::string& path, ReadContext& context) {
  const std::string dotted = path + entry.key;
  const TomlNode& node = entry.value;
  Assignments assignments;
  if (node.kind != TomlKind::table) {
    context.diagnostics.AddError(
        node.where, dotted,
        dotted + " takes a table, as in { metric = \"loss\", below = 0.1, after = 20 }, not " + node.Describe());
    return assignments;
  }
  if (!CheckSection(node, "stop", dotted, context.partial, context.diagnostics)) return assignments;
  const TomlEntry *metric = node.Find("metric"), *above = node.Find("above"), *below = node.Find("below");
  if ((above == nullptr) == (below == nullptr)) {
    context.diagnostics.AddError(node.where, dotted, dotted + " needs either above or below", {"above", "below"});
    return assignments;
  }
  if (metric == nullptr) return assignments;
  const auto value = ReadKeyValue(metric->value, Key("stop_metric"), dotted + ".metric", context.diagnostics);
  if (!value) return assignments;
  const auto give = [&](std::string_view name, KeyValue held) {
    assignments.push_back({&Key(name), std::move(held), node.where, dotted, true, context.document.assignments++});
  };
  give("stop_metric", *value);
  give("stop_above", above != nullptr);
  give("stop_threshold", (above != nullptr ? above : below)->value.Number());
  if (const TomlEntry* after = node.Find("after")) give("stop_after", after->value.integer);
  if (const TomlEntry* every = node.Find("every")) give("stop_every", every->value.integer);
  return assignments;
}

std::optional<std::string> ResolveAbsolutePath(const std::string& text, Position where, const std::string& key,
                                               ReadContext& context) {
  const std::optional<std::string> expanded = Expand(text, where, key, context);
  if (!expanded) return std::nullopt;
  return (std::filesystem::path(context.directory) / *expanded).lexically_normal().string();
}

SweepDocument ReadSweepDocument(const std::string& text, const std::string& path, const PlanOptions& options,
                                const Lookup& lookup, const WeightsFinder& find_weights, SourceTexts& sources,
                                DiagnosticCollector& diagnostics) {
  SweepDocument document;
  document.name = std::filesystem::path(path).stem().string();
  const int source = sources.Add(path, text);
  TomlNode root;
  Diagnostic syntax;
  if (!ParseToml(text, source, sources, root, syntax)) {
    diagnostics.Add(std::move(syntax));
    return document;
  }
  root.where = {source, 1, 1};
  const TomlEntry* version = root.Find("retort");
  if (version != nullptr && version->value.kind == TomlKind::integer && version->value.integer != 1) {
    diagnostics.AddError(version->value.where, "retort",
                         "this file says format " + std::to_string(version->value.integer) +
                             "; this program reads format 1: write retort = 1",
                         {"1"});
    return document;
  }
  document.sweep_where = root.where;
  if (ReportControlCharacters(root, "", diagnostics)) return document;
  OverlayDocument(root, options, sources, lookup, diagnostics);
  CheckSection(root, "", "", false, diagnostics);
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  ReadContext context{document, diagnostics, lookup, folder.string(), "", false, find_weights};
  ReadTables(root, context);
  if (!FindControlCharacter(document.name).empty())
    diagnostics.AddError(document.sweep_where, "sweep.name",
                         "the name of this file, which names the sweep, holds the control character " +
                             FindControlCharacter(document.name) + ": set name in [sweep], or call the file otherwise");
  if (const TomlEntry* sweep = root.Find("sweep"); sweep == nullptr || sweep->value.Find("name") == nullptr)
    if (document.name.size() > kMaxFileNameBytes)
      diagnostics.AddError(document.sweep_where, "sweep.name",
                           DescribeTooLongName("the name of this file, which names the sweep,", document.name) +
                               ": set name in [sweep], or call the file otherwise");
  if (root.Find("data") == nullptr && !document.NamesSleep() && !document.NamesUnknownMethod())
    diagnostics.AddError(root.where, "data", "missing data: the data sets, one table each");
  // The copy in the results folder is in another folder, so paths become absolute.
  for (const DataTable& table : document.data) {
    TomlEntry* entry = root.Find("data")->value.Find(table.data->name);
    if (TomlEntry* data_path = entry->value.Find("path")) data_path->value.text = table.data->path;
  }
  for (const TeacherDefinition& teacher : document.teachers) {
    for (const Assignment& assignment : teacher.assignments) {
      if (assignment.key->type != KeyType::path || !assignment.valid) continue;
      TomlEntry* entry = root.Find("teacher")->value.Find(teacher.name);
      if (TomlEntry* file = entry->value.Find(assignment.key->name))
        file->value.text = std::get<std::string>(assignment.value);
    }
  }
  KeepName(document.name, root);
  document.resolved_toml = FormatToml(root);
  return document;
}

}  // namespace retort
