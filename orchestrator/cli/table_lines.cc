#include "orchestrator/cli/table_lines.h"

#include <algorithm>

namespace retort::orchestrator::cli {
namespace {

std::string TeacherKey(const TeacherLine& teacher, const std::string& key) {
  if (key == "teacher") return teacher.name;
  if (key == "method") return teacher.method;
  if (key == "data") return teacher.data;
  if (key == "student" || key == "network") return teacher.network;
  return "";
}

TableEntry EntryOf(const TeacherLine& teacher, const std::vector<std::string>& names) {
  TableEntry entry;
  entry.role = "teacher";
  for (const std::string& name : names) entry.keys.push_back(TeacherKey(teacher, name));
  entry.summary = &teacher.summary;
  entry.planned = teacher.planned;
  entry.failed = teacher.failed;
  entry.published = teacher.published;
  entry.state = teacher.summary.n == 0                 ? CellState::missing
                : teacher.summary.n == teacher.planned ? CellState::complete
                                                       : CellState::partial;
  entry.claims = &teacher.claims;
  entry.trials = &teacher.trials;
  return entry;
}

TableEntry EntryOf(const TableCell& cell, const TableSpec& spec) {
  TableEntry entry;
  entry.role = "student";
  entry.keys = cell.row;
  for (std::size_t i = 0; i < spec.columns.size(); ++i)
    if (std::find(spec.rows.begin(), spec.rows.end(), spec.columns[i]) == spec.rows.end())
      entry.keys.push_back(cell.column[i]);
  entry.summary = &cell.summary;
  entry.planned = cell.planned;
  entry.failed = cell.failed;
  entry.published = cell.published;
  entry.state = cell.state;
  entry.claims = &cell.claims;
  entry.trials = &cell.trials;
  return entry;
}

}  // namespace

std::vector<std::string> KeyNames(const ResultTable& table) {
  std::vector<std::string> names = table.spec.rows;
  for (const std::string& column : table.spec.columns)
    if (std::find(names.begin(), names.end(), column) == names.end()) names.push_back(column);
  return names;
}

std::vector<TableEntry> EntriesOf(const ResultTable& table) {
  const std::vector<std::string> names = KeyNames(table);
  std::vector<TableEntry> entries;
  for (const TeacherLine& teacher : table.teachers) entries.push_back(EntryOf(teacher, names));
  for (const TableCell& cell : table.cells) entries.push_back(EntryOf(cell, table.spec));
  return entries;
}

}  // namespace retort::orchestrator::cli
