// [table.NAME]: what to print.
#include "experiments/sweep/table_specs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/methods/networks.h"
#include "experiments/sweep/sweep_document.h"
#include "experiments/sweep/value_reader.h"

namespace retort {
namespace {

bool HasFrozenFeatures(const TrialSpec& spec) {
  const NamedNetwork* network = FindNetwork(spec.network);
  return network != nullptr && network->frozen;
}

// Released labels are shared among public images that are alike by oriented gradients.
bool SharesLabels(const TrialSpec& student) {
  return student.source == QuerySource::public_split && student.labels.neighbours > 0;
}

constexpr std::array kJoinColumns = {"dataset", "approach", "epsilon", "delta", "setting", "metric"};

// Returns the value as tables show it; empty for arrays and tables.
std::string ScalarText(const TomlNode& node) {
  switch (node.kind) {
    case TomlKind::text:
      return node.text;
    case TomlKind::integer:
      return std::to_string(node.integer);
    case TomlKind::real:
      return FormatReal(node.real);
    case TomlKind::flag:
      return node.flag ? "true" : "false";
    default:
      return "";
  }
}

bool IsScalar(const TomlNode& node) {
  return node.kind == TomlKind::text || node.kind == TomlKind::integer || node.kind == TomlKind::real ||
         node.kind == TomlKind::flag;
}

std::vector<std::string> ConditionKeys() {
  std::vector<std::string> keys = ListKeyNames(kNowhere);
  keys.emplace_back("role");
  return keys;
}

std::vector<std::string> TableKeys() {
  std::vector<std::string> keys = ListKeyNames(kNowhere);
  keys.emplace_back(kSideInformationKey);
  keys.emplace_back(kSuggestionKey);
  return keys;
}

void ReadKeys(const TomlEntry& keys, const std::string& path, std::vector<std::string>& list, ReadContext& context) {
  for (const TomlNode& key : keys.value.items) {
    if (FindKey(key.text, kNowhere) == nullptr && key.text != kSideInformationKey && key.text != kSuggestionKey)
      context.diagnostics.AddUnknown(key.where, path, "key", key.text, TableKeys(), false);
    list.push_back(key.text);
  }
}

std::vector<KeyCondition> ReadKeyConditions(const TomlNode& table, const std::string& path, ReadContext& context) {
  std::vector<KeyCondition> conditions;
  if (table.entries.empty())
    context.diagnostics.AddError(table.where, path, path + " has no condition: it would match every trial");
  for (const TomlEntry& entry : table.entries) {
    const std::string dotted = path + "." + entry.key;
    if (entry.key != "role" && FindKey(entry.key, kNowhere) == nullptr) {
      context.diagnostics.AddUnknown(entry.where, dotted, "key", entry.key, ConditionKeys(), false);
      continue;
    }
    KeyCondition condition{entry.key, {}};
    const bool list = entry.value.kind == TomlKind::array;
    const std::size_t count = list ? entry.value.items.size() : 1;
    for (std::size_t i = 0; i < count; ++i) {
      const TomlNode& node = list ? entry.value.items[i] : entry.value;
      if (IsScalar(node))
        condition.values.push_back(ScalarText(node));
      else
        context.diagnostics.AddError(node.where, dotted, dotted + " takes values, not " + node.Describe());
    }
    if (list && count == 0) context.diagnostics.AddError(entry.value.where, dotted, dotted + " lists no value");
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

// The entry `published` of a join.
void ReadJoinColumns(const TomlNode& node, const std::string& path, PublishedJoin& join, ReadContext& context) {
  if (node.kind == TomlKind::text && node.text == "none") return;
  if (node.kind != TomlKind::table || node.entries.empty()) {
    context.diagnostics.AddError(node.where, path,
                                 path + " takes { COLUMN = value }, or \"none\", not " +
                                     (node.kind == TomlKind::table ? "an empty table" : node.Describe()),
                                 {kJoinColumns.begin(), kJoinColumns.end()});
    return;
  }
  for (const TomlEntry& entry : node.entries) {
    const std::string dotted = path + "." + entry.key;
    const bool number = entry.key == "epsilon" || entry.key == "delta";
    if (std::find(kJoinColumns.begin(), kJoinColumns.end(), entry.key) == kJoinColumns.end()) {
      context.diagnostics.AddUnknown(entry.where, dotted, "column", entry.key,
                                     {kJoinColumns.begin(), kJoinColumns.end()}, true);
    } else if (number ? entry.value.kind != TomlKind::integer && entry.value.kind != TomlKind::real
                      : entry.value.kind != TomlKind::text) {
      context.diagnostics.AddError(
          entry.value.where, dotted,
          dotted + " takes " + (number ? "a number" : "a string") + ", not " + entry.value.Describe());
    } else {
      join.columns.emplace_back(entry.key, ScalarText(entry.value));
    }
  }
}

std::vector<PublishedJoin> ReadJoins(const TomlNode& rules, const std::string& path, ReadContext& context) {
  std::vector<PublishedJoin> joins;
  for (const TomlNode& rule : rules.items) {
    const TomlEntry* condition = rule.Find("if");
    const TomlEntry* published = rule.Find("published");
    const bool shaped = condition != nullptr && published != nullptr && rule.entries.size() == 2 &&
                        condition->value.kind == TomlKind::table;
    if (!shaped) {
      context.diagnostics.AddError(rule.where, path,
                                   path + " takes rules { if = { KEY = value }, published = { COLUMN = value } }",
                                   {"if", "published"});
      continue;
    }
    PublishedJoin join;
    join.conditions = ReadKeyConditions(condition->value, path + ".if", context);
    ReadJoinColumns(published->value, path + ".published", join, context);
    joins.push_back(std::move(join));
  }
  return joins;
}

Interval ReadInterval(const TomlEntry& entry, const std::string& path, ReadContext& context) {
  if (entry.value.text == "bootstrap") return Interval::bootstrap;
  if (entry.value.text != "t")
    context.diagnostics.AddUnknown(entry.value.where, path, "interval", entry.value.text, {"t", "bootstrap"}, true);
  return Interval::student_t;
}

void CheckMetric(const TomlEntry& entry, const std::string& path, ReadContext& context) {
  const std::vector<std::string> names(kMetricNames.begin(), kMetricNames.end());
  if (std::find(names.begin(), names.end(), entry.value.text) != names.end()) return;
  context.diagnostics.AddUnknown(entry.value.where, path, "metric", entry.value.text, names, true);
}

}  // namespace

void ReadTableSpecs(const TomlNode& tables, ReadContext& context) {
  for (const TomlEntry& entry : tables.entries) {
    const std::string path = context.prefix + "table." + entry.key;
    if (entry.value.kind != TomlKind::table) {
      context.diagnostics.AddError(entry.value.where, path, path + " takes a table, not " + entry.value.Describe());
      continue;
    }
    if (!CheckSection(entry.value, "table.*", path, context.partial, context.diagnostics)) continue;
    TableSpec table;
    table.name = entry.key;
    if (const TomlEntry* rows = entry.value.Find("rows")) ReadKeys(*rows, path + ".rows", table.rows, context);
    if (const TomlEntry* columns = entry.value.Find("columns"))
      ReadKeys(*columns, path + ".columns", table.columns, context);
    if (const TomlEntry* metric = entry.value.Find("metric")) {
      CheckMetric(*metric, path + ".metric", context);
      table.metric = metric->value.text;
    }
    if (const TomlEntry* published = entry.value.Find("published")) table.published = published->value.text;
    if (const TomlEntry* interval = entry.value.Find("interval"))
      table.interval = ReadInterval(*interval, path + ".interval", context);
    if (const TomlEntry* where = entry.value.Find("where"))
      table.where = ReadKeyConditions(where->value, path + ".where", context);
    if (const TomlEntry* joins = entry.value.Find("joins"))
      table.joins = ReadJoins(joins->value, path + ".joins", context);
    context.document.tables.push_back(std::move(table));
  }
}

std::string DescribeSideInformation(const TrialSpec& student, const TrialSpec* teacher) {
  const bool compared = !student.score.empty() && student.score_noise == 0;
  const bool labels = compared || (teacher != nullptr && teacher->trained_on != TrainedOn::private_split);
  const bool known = student.source == QuerySource::procedural || SharesLabels(student) || HasFrozenFeatures(student) ||
                     (teacher != nullptr && HasFrozenFeatures(*teacher));
  std::string all;
  const auto add = [&all](const char* what) { all += (all.empty() ? "" : ", ") + std::string(what); };
  if (labels) add("public examples");
  if (ShowsPublicImages(student.source)) add("public pictures");
  if (SharesLabels(student) && student.distill.balance) add("class shares");
  if (known) add("domain knowledge");
  return all.empty() ? "none" : all;
}

bool ShowsSideInformation(const std::vector<TableSpec>& tables) {
  const auto among = [](const std::vector<std::string>& keys) {
    return std::find(keys.begin(), keys.end(), kSideInformationKey) != keys.end();
  };
  return std::any_of(tables.begin(), tables.end(),
                     [&](const TableSpec& table) { return among(table.rows) || among(table.columns); });
}

}  // namespace retort
