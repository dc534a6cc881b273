#include <nlohmann/json.hpp>
#include <utility>

#include "orchestrator/cli/claim_json.h"
#include "orchestrator/cli/table_format.h"
#include "orchestrator/cli/version.h"

namespace retort::orchestrator::cli {
namespace {

using nlohmann::ordered_json;

ordered_json KeysAndValues(const std::vector<std::string>& keys, const std::vector<std::string>& values) {
  ordered_json object = ordered_json::object();
  for (std::size_t i = 0; i < keys.size(); ++i) object[keys[i]] = values[i];
  return object;
}

void AddSummary(const Summary& summary, ordered_json& into) {
  into["mean"] = summary.n > 0 ? ordered_json(summary.mean) : ordered_json();
  into["sd"] = summary.sd ? ordered_json(*summary.sd) : ordered_json();
  into["n"] = summary.n;
  into["ci95"] = summary.ci95 ? ordered_json{summary.ci95->first, summary.ci95->second} : ordered_json();
}

ordered_json Ids(const std::vector<TrialId>& trials) {
  ordered_json ids = ordered_json::array();
  for (const TrialId trial : trials) ids.push_back(trial.Hex());
  return ids;
}

ordered_json SourceJson(const std::optional<PublishedValue>& source) {
  if (!source) return {};
  ordered_json json;
  json["paper"] = source->paper;
  json["table"] = source->table;
  json["dataset"] = source->dataset;
  json["approach"] = source->approach;
  json["epsilon"] = source->epsilon ? ordered_json(*source->epsilon) : ordered_json();
  json["delta"] = source->delta;
  json["setting"] = source->setting;
  json["metric"] = source->metric;
  json["printed"] = source->printed;
  return json;
}

// What teachers and cells have alike beyond the measurement.
template <typename Line>
void AddMarks(const Line& line, bool smoke, ordered_json& into) {
  into["published_source"] = SourceJson(line.source);
  into["notes"] = line.notes;
  into["test_n"] = line.test ? ordered_json(line.test->n) : ordered_json();
  into["test95"] = line.test ? ordered_json{line.test->low, line.test->high} : ordered_json();
  into["smoke"] = smoke && line.planned > 0;
}

ordered_json CellJson(const TableCell& cell, const ResultTable& table) {
  const TableSpec& spec = table.spec;
  ordered_json json;
  json["row"] = KeysAndValues(spec.rows, cell.row);
  json["column"] = KeysAndValues(spec.columns, cell.column);
  json["metric"] = spec.metric;
  AddSummary(cell.summary, json);
  json["published"] = cell.published ? ordered_json(*cell.published) : ordered_json();
  json["state"] = CellStateName(cell.state);
  json["planned"] = cell.planned;
  json["failed"] = cell.failed;
  json["claims"] = ClaimsJson(cell.claims);
  json["trials"] = Ids(cell.trials);
  AddMarks(cell, table.smoke, json);
  json["best"] = cell.best;
  json["best_published"] = cell.best_published;
  return json;
}

ordered_json TeacherJson(const TeacherLine& teacher, const ResultTable& table) {
  ordered_json json;
  json["teacher"] = teacher.name;
  json["method"] = teacher.method;
  json["network"] = teacher.network;
  json["data"] = teacher.data;
  json["metric"] = table.spec.metric;
  AddSummary(teacher.summary, json);
  json["published"] = teacher.published ? ordered_json(*teacher.published) : ordered_json();
  json["claims"] = ClaimsJson(teacher.claims);
  json["trials"] = Ids(teacher.trials);
  AddMarks(teacher, table.smoke, json);
  return json;
}

// Behind what `json` holds.
ordered_json TableJson(const ResultTable& table, ordered_json json = ordered_json::object()) {
  json["table"] = table.spec.name;
  json["sweep"] = table.sweep;
  json["cells"] = ordered_json::array();
  for (const TableCell& cell : table.cells) json["cells"].push_back(CellJson(cell, table));
  json["teachers"] = ordered_json::array();
  for (const TeacherLine& teacher : table.teachers)
    json["teachers"].push_back(TeacherJson(teacher, table));
  json["interval"] = table.spec.interval == Interval::bootstrap ? "bootstrap" : "t";
  json["notes"] = LegendOf(table);
  json["spec_hash"] = table.spec_hash;
  json["retort"] = VersionText();
  return json;
}

}  // namespace

std::string TablesAsJson(const std::vector<ResultTable>& tables) {
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  if (tables.size() == 1) {
    document = TableJson(tables.front(), std::move(document));
  } else {
    document["tables"] = ordered_json::array();
    for (const ResultTable& table : tables) document["tables"].push_back(TableJson(table));
  }
  return DocumentText(document);
}

}  // namespace retort::orchestrator::cli
