// A table as flat lines: one for each claim of each teacher and cell. What CSV, Markdown and LaTeX print.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/cli/result_table.h"

namespace retort::orchestrator::cli {

// A teacher or a cell, with what it is called.
struct TableEntry {
  std::string role;                  // "teacher" or "student"
  std::vector<std::string> keys;     // in the order of KeyNames
  const Summary* summary = nullptr;  // owned by the table
  int planned = 0, failed = 0;
  std::optional<double> published;
  CellState state = CellState::missing;
  const std::vector<privacy::Claim>* claims = nullptr;  // owned by the table
  const std::vector<TrialId>* trials = nullptr;         // owned by the table
};

// Row keys, then column keys that are not row keys already.
[[nodiscard]] std::vector<std::string> KeyNames(const ResultTable& table);
// Teachers first. A teacher fills the keys that it has: teacher, method, data, student (its network).
[[nodiscard]] std::vector<TableEntry> EntriesOf(const ResultTable& table);

}  // namespace retort::orchestrator::cli
