// [data]: readers, paths and budgets.
#include <algorithm>
#include <span>
#include <utility>

#include "experiments/spec/data_readers.h"
#include "experiments/spec/sweep_document.h"
#include "experiments/spec/value_reader.h"

namespace retort {
namespace {

constexpr std::span<const std::string_view> kNone;

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
  table.data->reader = entry.value.text;
  if (const DataReader* reader = FindDataReader(entry.value.text)) {
    table.data->classes = reader->classes;
    if (!reader->targets.empty()) table.data->target = reader->targets.front();
    if (!reader->versions.empty()) table.data->version = reader->versions.front();
    if (reader->name == "idx") return;
    table.data->channels = reader->channels == 0 ? 3 : reader->channels;
    table.data->height = table.data->width = 0;
    return;
  }
  context.complaints.Unknown(entry.value.where, path + ".reader", "reader", entry.value.text, DataReaderNames(),
                             true);
  table.readable = false;
}

// `target` or `version`: one of those that the reader has.
void ReadChoice(const TomlEntry& entry, const std::string& path, std::span<const std::string_view> choices,
                std::string& field, DataTable& table, ReadContext& context) {
  const std::string key = path + "." + entry.key;
  if (FindDataReader(table.data->reader) == nullptr && !context.partial) return;
  field = entry.value.text;
  if (context.partial || std::find(choices.begin(), choices.end(), field) != choices.end()) return;
  table.readable = false;
  if (!choices.empty())
    return context.complaints.Unknown(entry.value.where, key, entry.key, field, {choices.begin(), choices.end()},
                                      true);
  context.complaints.Error(entry.where, key, "the reader \"" + table.data->reader + "\" has no " + entry.key +
                                                 "; leave it out");
}

std::vector<double> Numbers(const TomlNode& node) {
  std::vector<double> numbers;
  for (const TomlNode& item : node.items)
    numbers.push_back(item.kind == TomlKind::real ? item.real : static_cast<double>(item.integer));
  return numbers;
}

void ReadScale(const TomlNode& node, const std::string& path, DataTable& table, ReadContext& context) {
  const TomlEntry* mean = node.Find("mean");
  const TomlEntry* std = node.Find("std");
  if (!table.valid || (mean == nullptr && std == nullptr)) return;
  if (mean != nullptr) table.data->mean = Numbers(mean->value);
  if (std != nullptr) table.data->std = Numbers(std->value);
  if (context.partial) return;
  const auto wrong = [&](const TomlEntry& at, const std::string& message) {
    context.complaints.Error(at.value.where, path + "." + at.key, message);
    table.valid = false;
  };
  const TomlEntry& given = mean == nullptr ? *std : *mean;
  if (mean == nullptr || std == nullptr)
    return wrong(given, path + ".mean and " + path + ".std go together: write both, or neither");
  const std::size_t count = table.data->mean.size();
  if (table.data->std.size() != count)
    return wrong(*std, path + ".std holds " + std::to_string(table.data->std.size()) + " values, and mean " +
                           std::to_string(count) + "; give each one a channel");
  if (count != 1 && count != 3)
    wrong(*mean, path + ".mean holds " + std::to_string(count) + " values; write one, or one for each of 3 channels");
}

void ReadSensitiveClasses(const TomlEntry& entry, const std::string& path, DataTable& table, ReadContext& context) {
  std::vector<std::int64_t>& classes = table.data->sensitive_classes;
  for (const TomlNode& item : entry.value.items)
    if (item.kind == TomlKind::integer) classes.push_back(item.integer);
  std::sort(classes.begin(), classes.end());
  const auto twice = std::adjacent_find(classes.begin(), classes.end());
  if (twice == classes.end()) return;
  context.complaints.Error(entry.value.where, path + ".sensitive_classes",
                           path + ".sensitive_classes names class " + std::to_string(*twice) + " twice");
  table.valid = false;
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
    const DataReader* reader = FindDataReader(table.data->reader);
    with("target", TomlKind::text, [&](const TomlEntry& item) {
      ReadChoice(item, path, reader == nullptr ? kNone : reader->targets, table.data->target, table, context);
    });
    with("version", TomlKind::text, [&](const TomlEntry& item) {
      ReadChoice(item, path, reader == nullptr ? kNone : reader->versions, table.data->version, table, context);
    });
    with("sensitive_classes", TomlKind::array,
         [&](const TomlEntry& item) { ReadSensitiveClasses(item, path, table, context); });
    ReadScale(entry.value, path, table, context);
    ReadPreprocessing(entry.value, path, table, context);
    with("classes", TomlKind::integer,
         [&](const TomlEntry& item) { table.data->classes = item.value.integer; });
    with("published_as", TomlKind::text,
         [&](const TomlEntry& item) { table.data->published_as = item.value.text; });
    table.readable = table.readable && !table.data->reader.empty() && !table.data->path.empty();
    context.document.data.push_back(std::move(table));
  }
}

}  // namespace retort
