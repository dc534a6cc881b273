#include <fmt/format.h>

#include <cmath>

#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/table_format.h"
#include "orchestrator/cli/table_lines.h"

namespace retort::orchestrator::cli {
namespace {

std::string Field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

void AppendLine(const std::vector<std::string>& fields, std::string& out) {
  for (std::size_t i = 0; i < fields.size(); ++i) out += (i == 0 ? "" : ",") + Field(fields[i]);
  out += '\n';
}

std::string Number(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ";") + word;
  return text;
}

std::vector<std::string> MeasuredFields(const TableEntry& entry, const std::string& metric) {
  const Summary& summary = *entry.summary;
  std::vector<std::string> fields = {metric, summary.n > 0 ? fmt::format("{}", summary.mean) : "",
                                     Number(summary.sd), std::to_string(summary.n)};
  fields.push_back(summary.ci95 ? fmt::format("{}", summary.ci95->first) : "");
  fields.push_back(summary.ci95 ? fmt::format("{}", summary.ci95->second) : "");
  fields.push_back(Number(entry.published));
  fields.emplace_back(CellStateName(entry.state));
  return fields;
}

std::vector<std::string> ClaimFields(const privacy::Claim& claim) {
  const bool finite = std::isfinite(claim.epsilon) && claim.status != privacy::ClaimStatus::unbounded;
  return {std::string(privacy::AdjacencyName(claim.adjacency)),
          std::string(privacy::NeighbourName(claim.neighbour)),
          ShortNumber(claim.delta),
          finite ? fmt::format("{}", claim.epsilon) : "inf",
          Number(claim.lower),
          std::string(privacy::StatusName(claim.status)),
          claim.accountant,
          claim.units,
          Joined(claim.assumptions),
          claim.reason};
}

std::string Ids(const std::vector<TrialId>& trials) {
  std::vector<std::string> hex;
  for (const TrialId trial : trials) hex.push_back(trial.Hex());
  return Joined(hex);
}

std::string Flag(bool value) { return value ? "true" : "false"; }

std::vector<std::string> MarkFields(const TableEntry& entry) {
  std::vector<std::string> fields(3);
  if (const std::optional<TestInterval>& test = *entry.test)
    fields = {std::to_string(test->n), fmt::format("{}", test->low), fmt::format("{}", test->high)};
  fields.push_back(Flag(entry.best));
  fields.push_back(Flag(entry.best_published));
  fields.push_back(Flag(entry.smoke));
  fields.push_back(*entry.source ? (*entry.source)->setting : "");
  std::string notes;
  for (const std::string& note : *entry.notes) notes += (notes.empty() ? "" : " | ") + note;
  fields.push_back(std::move(notes));
  return fields;
}

}  // namespace

std::string TableAsCsv(const ResultTable& table) {
  std::vector<std::string> header = {"table", "role"};
  for (const std::string& name : KeyNames(table)) header.push_back(name);
  for (const char* name : {"metric", "mean", "sd", "n", "ci95_low", "ci95_high", "published", "state",
                           "adjacency", "neighbour", "delta", "epsilon", "epsilon_lower", "status",
                           "accountant", "units", "assumptions", "reason", "trials", "test_n", "test95_low",
                           "test95_high", "best", "best_published", "smoke", "published_setting", "notes"})
    header.emplace_back(name);
  std::string out;
  AppendLine(header, out);
  for (const TableEntry& entry : EntriesOf(table)) {
    std::vector<std::string> fixed = {table.spec.name, entry.role};
    fixed.insert(fixed.end(), entry.keys.begin(), entry.keys.end());
    for (std::string& field : MeasuredFields(entry, table.spec.metric)) fixed.push_back(std::move(field));
    std::vector<std::vector<std::string>> claims;
    for (const privacy::Claim& claim : *entry.claims) claims.push_back(ClaimFields(claim));
    if (claims.empty()) claims.emplace_back(10);
    for (const auto& claim : claims) {
      std::vector<std::string> line = fixed;
      line.insert(line.end(), claim.begin(), claim.end());
      line.push_back(Ids(*entry.trials));
      for (std::string& field : MarkFields(entry)) line.push_back(std::move(field));
      AppendLine(line, out);
    }
  }
  return out;
}

}  // namespace retort::orchestrator::cli
