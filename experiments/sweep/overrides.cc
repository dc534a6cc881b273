#include "experiments/sweep/overrides.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/base/printable.h"
#include "experiments/methods/spec_keys.h"

namespace retort {
namespace {

// The values between commas that stand in no bracket and no quotes.
std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  return parts;
}

bool IsBareWord(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./").find(c) != std::string_view::npos;
  });
}

// `key=`, then TOML; `trial.reading=sound` is taken for `trial.reading="sound"`.
bool ParseValue(const std::string& key, const std::string& value, int source, const SourceTexts& sources,
                TomlNode& tree) {
  Diagnostic ignored;
  if (ParseToml(key + value, source, sources, tree, ignored)) return tree.entries.size() == 1;
  return IsBareWord(value) && ParseToml(key + "\"" + value + "\"", source, sources, tree, ignored);
}

// The node that a tree of one key sets.
TomlNode& FindSet(TomlNode& tree) {
  TomlNode* node = &tree;
  while (node->kind == TomlKind::table && node->entries.size() == 1) node = &node->entries.front().value;
  return *node;
}

bool ParseListOfValues(const std::string& key, const std::string& value, int source, const SourceTexts& sources,
                       TomlNode& tree) {
  const std::vector<std::string> parts = SplitAtCommas(value);
  if (parts.size() < 2) return false;
  TomlNode list;
  for (const std::string& part : parts) {
    if (!ParseValue(key, part, source, sources, tree)) return false;
    list.kind = TomlKind::array;
    list.where = FindSet(tree).where;
    list.items.push_back(FindSet(tree));
  }
  FindSet(tree) = std::move(list);
  return true;
}

// Rows of a zip axis, and those of them that write a key.
struct ZipRows {
  std::string axis;  // "sweep.zip.row"
  std::size_t all = 0, writing = 0;
};

// The zip axes some row of which writes `key`.
std::vector<ZipRows> FindZipRows(const TomlNode& sweep, const std::string& key) {
  std::vector<ZipRows> found;
  const TomlEntry* zip = sweep.Find("zip");
  if (zip == nullptr) return found;
  for (const TomlEntry& rows : zip->value.entries) {
    const auto writes = [&key](const TomlNode& row) { return row.Find(key) != nullptr; };
    const auto writing = std::count_if(rows.value.items.begin(), rows.value.items.end(), writes);
    if (writing > 0)
      found.push_back({"sweep.zip." + rows.key, rows.value.items.size(), static_cast<std::size_t>(writing)});
  }
  return found;
}

// The axis that gives `key` to every trial, as "sweep.grid.sigma"; empty when none does.
std::string FindAxis(const TomlNode& sweep, const std::string& key) {
  if (const TomlEntry* grid = sweep.Find("grid"); grid != nullptr && grid->value.Find(key) != nullptr) {
    return "sweep.grid." + key;
  }
  const TomlEntry* search = sweep.Find("search");
  for (const char* part : {"space", "rungs"}) {
    const TomlEntry* searched = search == nullptr ? nullptr : search->value.Find(part);
    if (searched != nullptr && searched->value.Find(key) != nullptr)
      return std::string("sweep.search.") + part + "." + key;
  }
  for (const ZipRows& rows : FindZipRows(sweep, key))
    if (rows.writing == rows.all) return rows.axis;
  return "";
}

constexpr std::string_view kTables[] = {"data", "network", "teacher", "trial", "sweep", "table", "figure"};

// The dotted name of what `tree` sets, with `table` for its first part: "trial.steps".
std::string RenamedTo(const std::string& table, const TomlNode& tree) {
  std::string name = table;
  const TomlNode* below = &tree.entries.front().value;
  for (; below->kind == TomlKind::table && below->entries.size() == 1; below = &below->entries.front().value)
    name += "." + FormatTomlKey(below->entries.front().key);
  return name;
}

// Suggests what an override was probably meant to be whose first part is no table: one of a table with another name, or
// a key of [trial].
std::vector<std::string> NearTargets(const TomlNode& tree) {
  const TomlEntry& top = tree.entries.front();
  std::vector<std::string> near;
  if (top.value.kind == TomlKind::table)
    for (const std::string& table : FindNearest(top.key, {std::begin(kTables), std::end(kTables)}))
      near.push_back(RenamedTo(table, tree));
  else
    for (const std::string& key : FindNearest(top.key, ListKeyNames(kInTrial))) near.push_back("trial." + key);
  return near;
}

// An override changes what the file has: it adds no data set, teacher, table or figure.
bool TargetsExist(const TomlNode& root, const TomlNode& tree, DiagnosticCollector& diagnostics) {
  const TomlEntry& top = tree.entries.front();
  if (std::find(std::begin(kTables), std::end(kTables), top.key) == std::end(kTables)) {
    const std::vector<std::string> near = NearTargets(tree);
    diagnostics.AddError(
        top.where, top.key,
        "unknown key \"" + top.key +
            "\": an override starts with data., network., teacher., trial., sweep., table. or figure." +
            (near.empty() ? "" : "; did you mean \"" + near.front() + "\"?"),
        near);
    return false;
  }
  if (top.value.kind != TomlKind::table) {
    diagnostics.AddError(top.where, top.key, "\"" + top.key + "\" is a table; name a key of it, as in trial.steps=10");
    return false;
  }
  if (top.key == "trial" || top.key == "sweep") return true;
  const TomlEntry* existing = root.Find(top.key);
  for (const TomlEntry& entry : top.value.entries) {
    if (existing != nullptr && existing->value.Find(entry.key) != nullptr) continue;
    diagnostics.AddUnknown(entry.where, top.key + "." + entry.key, "[" + top.key + "] entry", entry.key,
                           existing == nullptr ? std::vector<std::string>() : ListKeys(existing->value), true);
    return false;
  }
  return true;
}

bool VariesOnAnAxis(const TomlNode& root, const TomlNode& tree, DiagnosticCollector& diagnostics) {
  const TomlEntry *trial = tree.Find("trial"), *sweep = root.Find("sweep");
  if (trial == nullptr || sweep == nullptr) return false;
  bool varies = false;
  for (const TomlEntry& entry : trial->value.entries) {
    const std::string key = "trial." + entry.key;
    const std::string axis = FindAxis(sweep->value, entry.key);
    if (!axis.empty()) {
      diagnostics.AddError(entry.where, key, key + " cannot be overridden: it varies on the axis " + axis, {axis});
      varies = true;
      continue;
    }
    for (const ZipRows& rows : FindZipRows(sweep->value, entry.key))
      diagnostics.AddWarning(entry.where, key,
                             key + " reaches " + std::to_string(rows.all - rows.writing) + " of the " +
                                 std::to_string(rows.all) + " rows of " + rows.axis + "; the others write " +
                                 entry.key + " themselves and keep theirs");
  }
  return varies;
}

// What stands below trial. goes below sweep.grid., where a key has several values.
TomlNode MoveToGrid(TomlNode tree) {
  TomlEntry& top = tree.entries.front();
  TomlNode sweep;
  sweep.entries.push_back({"grid", top.where, std::move(top.value)});
  top.key = "sweep";
  top.value = std::move(sweep);
  return tree;
}

void Remove(TomlNode& root, const TomlNode& tree, DiagnosticCollector& diagnostics) {
  TomlNode* under = &root;
  std::string path;
  for (const TomlNode* at = &tree; !at->entries.empty();) {
    const TomlEntry& entry = at->entries.front();
    const std::string name = path + FormatTomlKey(entry.key);
    TomlEntry* found = under->Find(entry.key);
    if (found == nullptr) {
      diagnostics.AddUnknown(entry.where, name, path.empty() ? "table" : "key", entry.key, ListKeys(*under), true,
                             "; ~ removes what the sweep file has");
      return;
    }
    if (entry.value.entries.empty()) {
      std::erase_if(under->entries, [&](const TomlEntry& each) { return each.key == entry.key; });
      return;
    }
    under = &found->value;
    path = name + ".";
    at = &entry.value;
  }
}

}  // namespace

std::optional<SweepOverride> ParseOverride(const std::string& argument, SourceTexts& sources,
                                           DiagnosticCollector& diagnostics) {
  const int source = sources.Add("command line", argument);
  SweepOverride change;
  change.removes = argument.starts_with('~');
  const std::size_t equals = argument.find('=');
  if (change.removes ? equals != std::string::npos : equals == std::string::npos || equals == 0) {
    diagnostics.AddError({source, 1, 1}, "",
                         "\"" + argument + "\" is not KEY=VALUE" + (change.removes ? " or ~KEY" : "") +
                             "; write for example trial.steps=10" + (change.removes ? " or ~trial.steps" : ""));
    return std::nullopt;
  }
  // Blanks in place of what stands before the key, so that places are those of the argument.
  const std::size_t before = std::min(argument.find_first_not_of(change.removes ? "~" : "+"), argument.size());
  const std::string key = std::string(before, ' ') + argument.substr(before, equals - before);
  const std::string value = change.removes ? "{}" : argument.substr(equals + 1);
  const std::string set = key + "=";
  const bool one = before <= 2 && ParseValue(set, value, source, sources, change.tree);
  change.several = !one && before <= 2 && ParseListOfValues(set, value, source, sources, change.tree);
  if (!one && !change.several) {
    diagnostics.AddError({source, 1, change.removes ? 1 : static_cast<int>(equals) + 2}, key,
                         "\"" + argument +
                             "\" is not KEY=VALUE with a TOML value; write for example trial.steps=10, "
                             "trial.reading=sound, trial.steps=10,20 or sweep.seeds=[0,1]");
    return std::nullopt;
  }
  return change;
}

void LayOverride(const SweepOverride& change, TomlNode& root, DiagnosticCollector& diagnostics) {
  if (change.removes) return Remove(root, change.tree, diagnostics);
  if (!TargetsExist(root, change.tree, diagnostics) || VariesOnAnAxis(root, change.tree, diagnostics)) return;
  const bool axis = change.several && change.tree.entries.front().key == "trial";
  Overlay(root, axis ? MoveToGrid(change.tree) : change.tree);
}

}  // namespace retort
