#include "orchestrator/cli/table_lines.h"

#include "orchestrator/cli/spec_field.h"

namespace retort::orchestrator::cli {
namespace {

std::string ValueOf(const TeacherLine& teacher, const std::string& key) {
  if (key == "teacher") return teacher.name;
  if (key == "method") return teacher.method;
  if (key == "data") return teacher.data;
  if (key == "student" || key == "network") return teacher.network;
  return "";
}

// What teachers and cells have alike.
template <typename Line>
TableEntry Common(const Line& line, const ResultTable& table) {
  TableEntry entry;
  entry.summary = &line.summary;
  entry.planned = line.planned;
  entry.failed = line.failed;
  entry.published = line.published;
  entry.claims = &line.claims;
  entry.trials = &line.trials;
  entry.test = &line.test;
  entry.source = &line.source;
  entry.notes = &line.notes;
  entry.smoke = table.smoke && line.planned > 0;
  return entry;
}

}  // namespace

std::vector<std::string> KeyNames(const ResultTable& table) {
  std::vector<std::string> names = table.spec.rows;
  for (const std::string& column : table.spec.columns)
    if (!Holds(names, column)) names.push_back(column);
  return names;
}

TableEntry EntryOf(const TeacherLine& teacher, const ResultTable& table) {
  TableEntry entry = Common(teacher, table);
  entry.role = "teacher";
  for (const std::string& name : KeyNames(table)) entry.keys.push_back(ValueOf(teacher, name));
  entry.state = teacher.summary.n == 0                 ? CellState::missing
                : teacher.summary.n == teacher.planned ? CellState::complete
                                                       : CellState::partial;
  return entry;
}

TableEntry EntryOf(const TableCell& cell, const ResultTable& table) {
  TableEntry entry = Common(cell, table);
  entry.role = "student";
  entry.keys = cell.row;
  for (std::size_t i = 0; i < table.spec.columns.size(); ++i)
    if (!Holds(table.spec.rows, table.spec.columns[i])) entry.keys.push_back(cell.column[i]);
  entry.state = cell.state;
  entry.best = cell.best;
  entry.best_published = cell.best_published;
  return entry;
}

std::vector<TableEntry> EntriesOf(const ResultTable& table) {
  std::vector<TableEntry> entries;
  for (const TeacherLine& teacher : table.teachers) entries.push_back(EntryOf(teacher, table));
  for (const TableCell& cell : table.cells) entries.push_back(EntryOf(cell, table));
  return entries;
}

}  // namespace retort::orchestrator::cli
