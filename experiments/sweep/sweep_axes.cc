#include "experiments/sweep/sweep_axes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "experiments/base/printable.h"
#include "experiments/sweep/sweep_document.h"
#include "experiments/sweep/value_reader.h"

namespace retort {
namespace {

void ReadSeeds(const TomlEntry& entry, const std::string& path, ReadContext& context) {
  std::vector<std::uint64_t> seeds;
  std::set<std::uint64_t> seen;
  for (const TomlNode& item : entry.value.items) {
    if (item.integer < 0) continue;  // reported by its range check
    const auto seed = static_cast<std::uint64_t>(item.integer);
    if (!seen.insert(seed).second) {
      context.diagnostics.AddError(item.where, path, "seed " + std::to_string(seed) + " stands here twice");
    }
    seeds.push_back(seed);
  }
  if (entry.value.items.empty()) context.diagnostics.AddError(entry.value.where, path, path + " is empty: write [0]");
  context.document.seeds = std::move(seeds);
}

Axis ReadGridAxis(const TomlEntry& entry, const std::string& path, ReadContext& context) {
  Axis axis{"grid." + entry.key, entry.where, {}};
  if (entry.value.kind != TomlKind::array || entry.value.items.empty()) {
    context.diagnostics.AddError(entry.value.where, path + entry.key,
                                 path + entry.key + " takes an array of values that is not empty, not " +
                                     (entry.value.kind == TomlKind::array ? "an empty array" : entry.value.Describe()));
    return axis;
  }
  std::set<KeyValue> seen;
  for (const TomlNode& item : entry.value.items) {
    const TomlEntry one{entry.key, entry.where, item};
    if (entry.key == "stop") {
      axis.rows.push_back(ReadStop(one, path, context));
      continue;
    }
    Assignment assignment = ReadAssignment(one, kInTrial, path, context);
    if (assignment.key == nullptr) return axis;
    if (assignment.valid && !seen.insert(assignment.value).second) {
      context.diagnostics.AddError(item.where, path + entry.key, "this value stands here twice");
    }
    axis.rows.push_back({std::move(assignment)});
  }
  return axis;
}

Axis ReadZipAxis(const TomlEntry& entry, const std::string& path, ReadContext& context) {
  Axis axis{"zip." + entry.key, entry.where, {}};
  const bool tables = entry.value.kind == TomlKind::array && !entry.value.items.empty() &&
                      std::all_of(entry.value.items.begin(), entry.value.items.end(),
                                  [](const TomlNode& item) { return item.kind == TomlKind::table; });
  if (!tables) {
    context.diagnostics.AddError(entry.value.where, path + entry.key,
                                 path + entry.key +
                                     " takes an array of tables that is not empty, as in "
                                     "[{ method = \"dpdfd\" }, { method = \"dpsgd\" }]");
    return axis;
  }
  std::set<std::map<std::string_view, KeyValue>> seen;
  for (const TomlNode& item : entry.value.items) {
    Assignments row = ReadAssignments(item, kInTrial, path + entry.key + ".", context);
    std::map<std::string_view, KeyValue> content;
    bool valid = row.size() >= item.entries.size();
    for (const Assignment& assignment : row) {
      content[assignment.key->name] = assignment.value;
      valid = valid && assignment.valid;
    }
    if (valid && !seen.insert(std::move(content)).second) {
      context.diagnostics.AddError(item.where, path + entry.key, "this row stands here twice");
    }
    axis.rows.push_back(std::move(row));
  }
  return axis;
}

void RejectSharedKeys(const std::vector<Axis>& axes, DiagnosticCollector& diagnostics) {
  std::map<std::string_view, std::string> owner;
  for (const Axis& axis : axes) {
    for (const Assignments& row : axis.rows) {
      for (const Assignment& assignment : row) {
        const auto [entry, added] = owner.emplace(assignment.key->name, axis.name);
        if (added || entry->second == axis.name) continue;
        const std::string name(assignment.key->TrialName());
        diagnostics.AddError(
            assignment.where, "sweep." + axis.name,
            name + " varies on two axes, sweep." + entry->second + " and sweep." + axis.name + ": keep it on one");
      }
    }
  }
}

void ReadAxes(const TomlNode& sweep, const std::string& path, ReadContext& context) {
  std::vector<Axis>& axes = context.document.axes;
  if (const TomlEntry* grid = sweep.Find("grid"); grid != nullptr && grid->value.kind == TomlKind::table) {
    for (const TomlEntry& entry : grid->value.entries) axes.push_back(ReadGridAxis(entry, path + "grid.", context));
  }
  if (const TomlEntry* zip = sweep.Find("zip"); zip != nullptr && zip->value.kind == TomlKind::table) {
    for (const TomlEntry& entry : zip->value.entries) axes.push_back(ReadZipAxis(entry, path + "zip.", context));
  }
  std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) {
    return std::tie(a.where.source, a.where.line, a.where.column) <
           std::tie(b.where.source, b.where.line, b.where.column);
  });
  RejectSharedKeys(axes, context.diagnostics);
}

std::vector<Condition> ReadConditions(const TomlNode& table, const std::string& path, ReadContext& context) {
  std::vector<Condition> conditions;
  if (table.entries.empty()) {
    context.diagnostics.AddError(table.where, path, path + " has no condition: it would match every trial");
  }
  for (const TomlEntry& entry : table.entries) {
    const SpecKey* key = FindKey(entry.key, kNowhere);
    const std::string dotted = path + "." + entry.key;
    if (key == nullptr) {
      context.diagnostics.AddUnknown(entry.where, dotted, "key", entry.key, ListKeyNames(kNowhere), false);
      continue;
    }
    Condition condition{key, {}};
    const bool list = entry.value.kind == TomlKind::array;
    const std::size_t count = list ? entry.value.items.size() : 1;
    for (std::size_t i = 0; i < count; ++i) {
      const TomlNode& node = list ? entry.value.items[i] : entry.value;
      if (auto value = ReadTrialValue(node, *key, dotted, context)) condition.values.push_back(std::move(*value));
    }
    if (list && count == 0) context.diagnostics.AddError(entry.value.where, dotted, dotted + " lists no value");
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

void ReadWhen(const TomlNode& rules, const std::string& path, ReadContext& context) {
  for (const TomlNode& rule : rules.items) {
    const TomlEntry* condition = rule.Find("if");
    const TomlEntry* set = rule.Find("set");
    const bool shaped = condition != nullptr && set != nullptr && rule.entries.size() == 2 &&
                        condition->value.kind == TomlKind::table && set->value.kind == TomlKind::table;
    if (!shaped) {
      context.diagnostics.AddError(
          rule.where, path, path + " takes rules { if = { KEY = value }, set = { KEY = value } }", {"if", "set"});
      continue;
    }
    context.document.when.push_back({rule.where, ReadConditions(condition->value, path + ".if", context),
                                     ReadAssignments(set->value, kInTrial, path + ".set.", context)});
  }
}

}  // namespace

bool IsFolderName(const std::string& name) {
  return !name.empty() && name.size() <= 100 && name.front() != '.' && name.front() != '-' &&
         name.find('/') == std::string::npos && FindControlCharacter(name).empty();
}

void ReadSweepTable(const TomlNode& sweep, ReadContext& context) {
  SweepDocument& document = context.document;
  const std::string path = context.prefix + "sweep";
  document.sweep_where = sweep.where;
  CheckSection(sweep, "sweep", path, context.partial, context.diagnostics);
  if (const TomlEntry* name = sweep.Find("name"); name != nullptr && name->value.kind == TomlKind::text) {
    document.name = name->value.text;
    if (!IsFolderName(document.name)) {
      context.diagnostics.AddError(
          name->value.where, path + ".name",
          "the name of a sweep names a folder: at most 100 bytes without '/', not starting with '.' or '-'");
    }
  }
  if (const TomlEntry* seeds = sweep.Find("seeds"); seeds != nullptr && seeds->value.kind == TomlKind::array) {
    ReadSeeds(*seeds, path + ".seeds", context);
  }
  if (const TomlEntry* quota = sweep.Find("quota"); quota != nullptr && quota->value.kind == TomlKind::table)
    ReadQuota(quota->value, context);
  if (const TomlEntry* select = sweep.Find("select"); select != nullptr && select->value.kind == TomlKind::table)
    ReadSelect(select->value, context);
  CheckBesideSelect(sweep, context);
  if (const TomlEntry* search = sweep.Find("search"); search != nullptr && search->value.kind == TomlKind::table)
    ReadSearch(search->value, context);
  ReadAxes(sweep, path + ".", context);
  CheckBesideSearch(context);
  if (const TomlEntry* when = sweep.Find("when"); when != nullptr && when->value.kind == TomlKind::array) {
    ReadWhen(when->value, path + ".when", context);
  }
  if (const TomlEntry* exclude = sweep.Find("exclude"); exclude != nullptr && exclude->value.kind == TomlKind::array) {
    for (const TomlNode& rule : exclude->value.items) {
      if (rule.kind != TomlKind::table) continue;
      document.exclude.push_back({rule.where, ReadConditions(rule, path + ".exclude", context)});
    }
  }
}

}  // namespace retort
