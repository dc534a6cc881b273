// [data]: paths and splits.
#include <algorithm>
#include <utility>

#include "experiments/spec/sweep_document.h"
#include "experiments/spec/value_reader.h"

namespace retort {
namespace {

IndexRange RangeOf(const TomlNode& node) { return {node.items[0].integer, node.items[1].integer}; }

bool Overlap(const IndexRange& a, const IndexRange& b) {
  return a.begin < b.end && b.begin < a.end && a.size() > 0 && b.size() > 0;
}

std::string Text(const IndexRange& range) {
  return std::string("[") + std::to_string(range.begin) + ", " + std::to_string(range.end) + "]";
}

struct NamedRange {
  const char* name;
  const IndexRange* range;
  Position where;
  bool may_be_empty;
};

void CheckSplit(const std::string& path, DataTable& table, Complaints& complaints) {
  const SplitSpec& split = table.data->split;
  const NamedRange ranges[] = {{"train", &split.train, table.train, false},
                               {"public", &split.public_range, table.public_range, true},
                               {"test", &split.test, table.test, false}};
  for (std::size_t i = 0; i < std::size(ranges); ++i) {
    const auto& [name, range, where, may_be_empty] = ranges[i];
    const std::string key = path + ".split." + name;
    if (range->size() < 0 || (range->size() == 0 && !may_be_empty)) {
      complaints.Error(
          where, key,
          key + " = " + Text(*range) + " holds no example: a range is [begin, end) with begin < end");
      table.valid = false;
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (!Overlap(*range, *ranges[j].range)) continue;
      complaints.Error(where, key,
                       key + " = " + Text(*range) + " overlaps " + ranges[j].name + " = " +
                           Text(*ranges[j].range) + "; the ranges of a split must be disjoint");
      table.valid = false;
    }
  }
}

void ReadSplit(const TomlNode& node, const std::string& path, DataTable& table, ReadContext& context) {
  if (!CheckSection(node, "data.*.split", path + ".split", context.partial, context.complaints)) {
    table.valid = false;
    return;
  }
  SplitSpec& split = table.data->split;
  if (const TomlEntry* shuffle = node.Find("shuffle"))
    split.shuffle = static_cast<std::uint64_t>(shuffle->value.integer);
  const auto read = [&node](const char* name, IndexRange& range, Position& where) {
    if (const TomlEntry* entry = node.Find(name)) {
      range = RangeOf(entry->value);
      where = entry->value.where;
    }
  };
  read("train", split.train, table.train);
  read("public", split.public_range, table.public_range);
  read("test", split.test, table.test);
  if (!context.partial) CheckSplit(path, table, context.complaints);
}

void ReadPath(const TomlEntry& entry, const std::string& path, DataTable& table, ReadContext& context) {
  table.path = entry.value.where;
  if (entry.value.text.empty()) {
    context.complaints.Error(entry.value.where, path + ".path", path + ".path is empty");
    table.readable = false;
    return;
  }
  const auto absolute = AbsolutePath(entry.value.text, entry.value.where, path + ".path", context);
  table.readable = table.readable && absolute.has_value();
  table.data->path = absolute.value_or(entry.value.text);
}

void ReadBudget(const TomlNode& node, const std::string& path, DataTable& table, ReadContext& context) {
  if (!CheckSection(node, "data.*.budget", path + ".budget", context.partial, context.complaints)) {
    table.valid = false;
    return;
  }
  const auto number = [&node](const char* name) {
    const TomlEntry* entry = node.Find(name);
    if (entry == nullptr) return 0.0;
    return entry->value.kind == TomlKind::real ? entry->value.real
                                               : static_cast<double>(entry->value.integer);
  };
  table.data->budget = Budget{number("epsilon"), number("delta")};
}

void ReadReader(const TomlEntry& entry, const std::string& path, DataTable& table, ReadContext& context) {
  static const std::vector<std::string> kReaders = {"idx"};
  table.data->reader = entry.value.text;
  if (std::find(kReaders.begin(), kReaders.end(), entry.value.text) != kReaders.end()) return;
  context.complaints.Unknown(entry.value.where, path + ".reader", "reader", entry.value.text, kReaders, true);
  table.readable = false;
}

}  // namespace

void ReadDataTables(const TomlNode& data, ReadContext& context) {
  if (data.entries.empty() && !context.partial) {
    context.complaints.Error(data.where, "data",
                             "[data] names no data set: write [data.NAME] with reader, path and split");
  }
  for (const TomlEntry& entry : data.entries) {
    const std::string path = context.prefix + "data." + entry.key;
    if (entry.value.kind != TomlKind::table) {
      context.complaints.Error(entry.value.where, path,
                               path + " takes a table, not " + entry.value.Describe());
      continue;
    }
    DataTable table;
    table.data = std::make_shared<DataSpec>();
    table.data->name = entry.key;
    table.where = entry.where;
    table.valid = CheckSection(entry.value, "data.*", path, context.partial, context.complaints);
    const auto with = [&](const char* name, TomlKind kind, const auto& read) {
      const TomlEntry* item = entry.value.Find(name);
      if (item != nullptr && item->value.kind == kind) read(*item);
    };
    with("reader", TomlKind::text, [&](const TomlEntry& item) { ReadReader(item, path, table, context); });
    with("path", TomlKind::text, [&](const TomlEntry& item) { ReadPath(item, path, table, context); });
    with("split", TomlKind::table,
         [&](const TomlEntry& item) { ReadSplit(item.value, path, table, context); });
    with("budget", TomlKind::table,
         [&](const TomlEntry& item) { ReadBudget(item.value, path, table, context); });
    with("classes", TomlKind::integer,
         [&](const TomlEntry& item) { table.data->classes = item.value.integer; });
    with("published_as", TomlKind::text,
         [&](const TomlEntry& item) { table.data->published_as = item.value.text; });
    table.readable = table.readable && !table.data->reader.empty() && !table.data->path.empty();
    context.document.data.push_back(std::move(table));
  }
}

}  // namespace retort
