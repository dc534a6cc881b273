// A table as flat lines: one for each claim of each teacher and cell. What CSV, Markdown and LaTeX print.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/cli/result_table.h"

namespace retort::orchestrator::cli {

// A teacher or a cell, with what it is called. What it points to is owned by the table.
struct TableEntry {
  std::string role;               // "teacher" or "student"
  std::vector<std::string> keys;  // in the order of KeyNames
  const Summary* summary = nullptr;
  int planned = 0, failed = 0;
  std::optional<double> published;
  CellState state = CellState::missing;
  const std::vector<privacy::Claim>* claims = nullptr;
  const std::vector<TrialId>* trials = nullptr;
  const std::optional<TestInterval>* test = nullptr;
  const std::optional<PublishedValue>* source = nullptr;
  const std::vector<std::string>* notes = nullptr;
  bool best = false, best_published = false;
  bool smoke = false;  // planned here, at the size of the profile "smoke"
};

// Row keys, then column keys that are not row keys already.
[[nodiscard]] std::vector<std::string> KeyNames(const ResultTable& table);
// A teacher fills the keys that it has: teacher, method, data, student (its network).
[[nodiscard]] TableEntry EntryOf(const TeacherLine& teacher, const ResultTable& table);
[[nodiscard]] TableEntry EntryOf(const TableCell& cell, const ResultTable& table);
// All, teachers first.
[[nodiscard]] std::vector<TableEntry> EntriesOf(const ResultTable& table);

}  // namespace retort::orchestrator::cli
