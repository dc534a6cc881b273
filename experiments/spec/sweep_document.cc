#include "experiments/spec/sweep_document.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "experiments/spec/file_names.h"
#include "experiments/spec/printable.h"
#include "experiments/spec/value_reader.h"

namespace retort {
namespace {

// Names in assignments must exist; conditions are checked where they are read.
void CheckNames(Assignments& assignments, const SweepDocument& document, Complaints& complaints) {
  for (Assignment& assignment : assignments) {
    if (assignment.key == nullptr || assignment.key->type != KeyType::name || !assignment.valid) continue;
    const bool data = assignment.key->name == "data";
    const std::vector<std::string> names = data ? document.DataNames() : document.TeacherNames();
    const auto& name = std::get<std::string>(assignment.value);
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    assignment.valid = false;
    complaints.Unknown(assignment.where, std::string(assignment.key->name), data ? "data set" : "teacher",
                       name, names, true);
  }
}

// Whether `holds` does of a method that is named somewhere.
template <typename F>
bool AnyMethod(const SweepDocument& document, F holds) {
  const auto among = [&holds](const Assignments& values) {
    return std::any_of(values.begin(), values.end(),
                       [&holds](const Assignment& value) { return value.key->name == "method" && holds(value); });
  };
  const auto in_axis = [&among](const Axis& axis) { return std::any_of(axis.rows.begin(), axis.rows.end(), among); };
  return among(document.trial) || std::any_of(document.axes.begin(), document.axes.end(), in_axis) ||
         std::any_of(document.when.begin(), document.when.end(),
                     [&among](const WhenRule& rule) { return among(rule.set); });
}

// A misspelt name is looked for among the keys of this place, and among the other spellings of a key.
void UnknownKey(const TomlEntry& entry, KeyPlace place, const std::string& path, Complaints& complaints) {
  const std::string table = "[" + path.substr(0, path.size() - 1) + "]";
  const KeyPlace other = place == kInTrial ? kInTeacher : kInTrial;
  const SpecKey* elsewhere = FindKey(entry.key, other);
  if (elsewhere == nullptr) elsewhere = FindKey(entry.key, kNowhere);
  if (elsewhere == nullptr) {
    complaints.Unknown(entry.where, path + entry.key, "key", entry.key, KeyNames(place), false,
                       "in " + table);
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
  else if ((elsewhere->kinds & MaskOf(TrialKind::dpsgd_teacher)) != 0)
    message += "; write private = { epsilon = ..., norm_bound = ... }";
  else
    message += "; it belongs to [trial]";
  std::vector<std::string> choices;
  if ((elsewhere->places & place) != 0) choices.emplace_back(elsewhere->NameIn(place));
  complaints.Error(entry.where, path + entry.key, std::move(message), std::move(choices));
}

// The copy in the results folder is called otherwise than the file, which names the sweep where [sweep] does not.
void KeepName(const std::string& name, TomlNode& root) {
  if (!NamesFolder(name)) return;
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

bool SweepDocument::NamesSleep() const {
  return AnyMethod(*this, [](const Assignment& method) {
    return method.valid && method.value == KeyValue(std::string("sleep"));
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

Assignment ReadAssignment(const TomlEntry& entry, KeyPlace place, const std::string& path,
                          ReadContext& context) {
  Assignment assignment;
  assignment.where = entry.value.where;
  assignment.path = path + entry.key;
  assignment.number = context.document.assignments++;
  assignment.key = FindKey(entry.key, place);
  assignment.valid = false;
  if (assignment.key == nullptr) {
    UnknownKey(entry, place, path, context.complaints);
    return assignment;
  }
  if (auto value = ReadKeyValue(entry.value, *assignment.key, path + entry.key, context.complaints)) {
    assignment.value = std::move(*value);
    assignment.valid = true;
  }
  return assignment;
}

Assignments ReadAssignments(const TomlNode& table, KeyPlace place, const std::string& path,
                            ReadContext& context) {
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

void ReadTables(const TomlNode& root, ReadContext& context) {
  SweepDocument& document = context.document;
  const auto table = [&root](std::string_view name) -> const TomlNode* {
    const TomlEntry* entry = root.Find(name);
    return entry != nullptr && entry->value.kind == TomlKind::table ? &entry->value : nullptr;
  };
  if (const TomlNode* data = table("data")) ReadDataTables(*data, context);
  if (const TomlNode* teachers = table("teacher")) ReadTeachers(*teachers, context);
  if (const TomlNode* trial = table("trial")) {
    document.trial_where = trial->where;
    document.trial = ReadAssignments(*trial, kInTrial, context.prefix + "trial.", context);
  }
  if (const TomlNode* sweep = table("sweep")) ReadSweepTable(*sweep, context);
  if (const TomlNode* tables = table("table")) ReadTableSpecs(*tables, context);
  if (const TomlNode* figures = table("figure")) ReadFigures(*figures, context);
  if (context.partial) return;
  CheckNames(document.trial, document, context.complaints);
  for (Axis& axis : document.axes) {
    for (Assignments& row : axis.rows) CheckNames(row, document, context.complaints);
  }
  for (WhenRule& rule : document.when) CheckNames(rule.set, document, context.complaints);
}

SweepDocument ReadSweepDocument(const std::string& text, const std::string& path, const PlanOptions& options,
                                const Lookup& lookup, SourceTexts& sources, Complaints& complaints) {
  SweepDocument document;
  document.name = std::filesystem::path(path).stem().string();
  const int source = sources.Add(path, text);
  TomlNode root;
  Diagnostic syntax;
  if (!ParseToml(text, source, sources, root, syntax)) {
    complaints.Add(std::move(syntax));
    return document;
  }
  root.where = {source, 1, 1};
  const TomlEntry* version = root.Find("retort");
  if (version != nullptr && version->value.kind == TomlKind::integer && version->value.integer != 1) {
    complaints.Error(version->value.where, "retort",
                     "this file says format " + std::to_string(version->value.integer) +
                         "; this program reads format 1: write retort = 1",
                     {"1"});
    return document;
  }
  document.sweep_where = root.where;
  if (HoldsControls(root, "", complaints)) return document;
  OverlayDocument(root, options, sources, lookup, complaints);
  CheckSection(root, "", "", false, complaints);
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  ReadContext context{document, complaints, lookup, folder.string(), "", false};
  ReadTables(root, context);
  if (!FirstControl(document.name).empty())
    complaints.Error(document.sweep_where, "sweep.name",
                     "the name of this file, which names the sweep, holds the control character " +
                         FirstControl(document.name) + ": set name in [sweep], or call the file otherwise");
  if (const TomlEntry* sweep = root.Find("sweep"); sweep == nullptr || sweep->value.Find("name") == nullptr)
    if (document.name.size() > kMostFileNameBytes)
      complaints.Error(document.sweep_where, "sweep.name",
                       TooLongForAFile("the name of this file, which names the sweep,", document.name) +
                           ": set name in [sweep], or call the file otherwise");
  if (root.Find("data") == nullptr && !document.NamesSleep() && !document.NamesUnknownMethod())
    complaints.Error(root.where, "data", "missing data: the data sets, one table each");
  // The copy in the results folder stands elsewhere, so paths become absolute.
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
