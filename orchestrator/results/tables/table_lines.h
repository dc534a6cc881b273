// Lists a table as flat lines, one for each teacher and cell, and the privacy of its rows in paragraphs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/results/results_view.h"
#include "orchestrator/results/tables/result_table.h"

namespace retort::orchestrator {

// A teacher or a cell, with what it is called. What it points to is owned by the table.
struct TableEntry {
  std::string role;               // "teacher" or "student"
  std::vector<std::string> keys;  // in the order of ListKeyNames
  const SeedSummary* summary = nullptr;
  int planned = 0, failed = 0;
  std::optional<double> published;
  CellState state = CellState::missing;
  const std::vector<privacy::Claim>* claims = nullptr;
  const std::vector<TrialId>* trials = nullptr;
  const std::optional<TestInterval>* test = nullptr;
  const std::optional<PublishedValue>* source = nullptr;
  const std::vector<std::string>* notes = nullptr;
  std::vector<Difference> differs;
  bool best = false, best_published = false;
  bool smoke = false;  // planned here, at the size of the profile "smoke"
};

// Row keys, then column keys that are not row keys already.
[[nodiscard]] std::vector<std::string> ListKeyNames(const ResultTable& table);
// A teacher fills the keys that it has: teacher, method, data, student (its network).
[[nodiscard]] TableEntry MakeEntry(const TeacherLine& teacher, const ResultTable& table);
[[nodiscard]] TableEntry MakeEntry(const TableCell& cell, const ResultTable& table);
// All, teachers first.
[[nodiscard]] std::vector<TableEntry> ListEntries(const ResultTable& table);

// What a table says about the privacy of its rows in whole paragraphs.

// "dpdfd, sound, dpsgd: Released: …", one for each measured teacher and cell in the table's order, told of
// the trial with the largest epsilon for one training example among its seeds. Rows with the same paragraph
// share it.
[[nodiscard]] std::vector<std::string> MakeStatements(const ResultTable& table, const ResultsView& view);

}  // namespace retort::orchestrator
