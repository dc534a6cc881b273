// stop = { metric = "loss", below = 0.1, after = 20, every = 5 }: one value of a file, five keys of the
// table.
#include <utility>

#include "experiments/spec/sweep_document.h"
#include "experiments/spec/value_reader.h"

namespace retort {
namespace {

const SpecKey& Key(std::string_view name) {
  const SpecKey* key = FindKey(name, kNowhere);
  RETORT_CHECK(key != nullptr);
  return *key;
}

double Number(const TomlNode& node) {
  return node.kind == TomlKind::real ? node.real : static_cast<double>(node.integer);
}

}  // namespace

Assignments ReadStop(const TomlEntry& entry, const std::string& path, ReadContext& context) {
  const std::string dotted = path + entry.key;
  const TomlNode& node = entry.value;
  Assignments assignments;
  if (node.kind != TomlKind::table) {
    context.complaints.Error(
        node.where, dotted,
        dotted + " takes a table, as in { metric = \"loss\", below = 0.1, after = 20 }, not " +
            node.Describe());
    return assignments;
  }
  if (!CheckSection(node, "stop", dotted, context.partial, context.complaints)) return assignments;
  const TomlEntry *metric = node.Find("metric"), *above = node.Find("above"), *below = node.Find("below");
  if ((above == nullptr) == (below == nullptr)) {
    context.complaints.Error(node.where, dotted, dotted + " needs either above or below", {"above", "below"});
    return assignments;
  }
  if (metric == nullptr) return assignments;
  const auto value = ReadKeyValue(metric->value, Key("stop_metric"), dotted + ".metric", context.complaints);
  if (!value) return assignments;
  const auto give = [&](std::string_view name, KeyValue held) {
    assignments.push_back(
        {&Key(name), std::move(held), node.where, dotted, true, context.document.assignments++});
  };
  give("stop_metric", *value);
  give("stop_above", above != nullptr);
  give("stop_threshold", Number((above != nullptr ? above : below)->value));
  if (const TomlEntry* after = node.Find("after")) give("stop_after", after->value.integer);
  if (const TomlEntry* every = node.Find("every")) give("stop_every", every->value.integer);
  return assignments;
}

}  // namespace retort
