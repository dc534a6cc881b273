// A sweep file after reading: every value checked against the key table, nothing expanded yet.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/spec/complaints.h"
#include "experiments/spec/spec_keys.h"
#include "experiments/spec/sweep.h"
#include "experiments/spec/toml_tree.h"

namespace retort {

// KEY = value, somewhere.
struct Assignment {
  const SpecKey* key = nullptr;
  KeyValue value;
  Position where;            // of the value
  std::string path;          // dotted, as in "sweep.zip.row.epsilon"
  bool valid = true;         // false: complained about already; trials that it reaches are not judged
  std::uint32_t number = 0;  // index among all assignments of the document
};
using Assignments = std::vector<Assignment>;

// How a teacher follows from its definition.
struct TeacherDefinition {
  std::string name;
  Position where;
  TrialKind kind = TrialKind::plain_teacher;
  Assignments assignments;  // `private` included
  bool valid = true;
};

struct DataTable {
  std::shared_ptr<DataSpec> data;
  Position where, path, train, public_range, test;
  bool valid = true;
  bool readable = true;  // reader and path are known, so that the files can be looked at
};

// One varied thing: a key with its values (grid), or named rows (zip).
struct Axis {
  std::string name;  // "grid.sigma", "zip.row"
  Position where;
  std::vector<Assignments> rows;
};

// KEY = value or [values]; matches any of them.
struct Condition {
  const SpecKey* key = nullptr;
  std::vector<KeyValue> values;
};
struct WhenRule {
  Position where;
  std::vector<Condition> conditions;
  Assignments set;
};
struct ExcludeRule {
  Position where;
  std::vector<Condition> conditions;
};

struct FigureTable {
  FigureSpec spec;
  Position where, x, log_x;
};

struct SweepDocument {
  std::string name;
  std::vector<DataTable> data;
  std::vector<TeacherDefinition> teachers;
  Assignments trial;
  std::vector<Axis> axes;  // in file order, the first varies slowest
  std::vector<std::uint64_t> seeds = {0};
  std::vector<WhenRule> when;
  std::vector<ExcludeRule> exclude;
  std::vector<TableSpec> tables;
  std::vector<FigureTable> figures;
  Quota quota;
  Position trial_where, sweep_where;
  std::uint32_t assignments = 0;  // numbers given out
  std::string resolved_toml;

  // Some trial may do without a data set: the method "sleep" is named somewhere.
  [[nodiscard]] bool NamesSleep() const;
  // A method is named that there is not; it may have been meant to be "sleep".
  [[nodiscard]] bool NamesUnknownMethod() const;
  [[nodiscard]] const DataTable* FindData(const std::string& data_name) const;
  [[nodiscard]] const TeacherDefinition* FindTeacher(const std::string& teacher_name) const;
  [[nodiscard]] std::vector<std::string> DataNames() const;
  [[nodiscard]] std::vector<std::string> TeacherNames() const;
};

using Lookup = std::function<std::optional<std::string>(const std::string&)>;

// What the readers of single tables share.
struct ReadContext {
  SweepDocument& document;
  Complaints& complaints;
  const Lookup& lookup;   // of ${VAR}
  std::string directory;  // of the sweep file
  std::string prefix;     // "" or "profile.NAME."
  bool partial = false;   // an overlay: required keys may be absent
};

// ${VAR} expanded, then relative to the folder of the sweep file. Nothing, after a complaint at `where`, when a
// variable is not set.
[[nodiscard]] std::optional<std::string> AbsolutePath(const std::string& text, Position where,
                                                      const std::string& key, ReadContext& context);

// Reads the six tables of `root`, which has no profile any more.
void ReadTables(const TomlNode& root, ReadContext& context);

// Complains of every name and text of `table` that holds what a terminal or a page obeys rather than shows (IsControl in
// printable.h). `path`: the dotted name of the table, with its dot; empty for the document. Returns whether there is one.
bool HoldsControls(const TomlNode& table, const std::string& path, Complaints& complaints);

// Parts of ReadTables, one file each.
void ReadDataTables(const TomlNode& data, ReadContext& context);
// The entry `split` of a data table, after its reader.
void ReadSplit(const TomlNode& split, const std::string& path, DataTable& table, ReadContext& context);
// The entries of a data table that say how pictures are prepared, after its reader.
void ReadPreprocessing(const TomlNode& node, const std::string& path, DataTable& table, ReadContext& context);
void ReadTeachers(const TomlNode& teachers, ReadContext& context);
// Whether a sweep may be called so.
[[nodiscard]] bool NamesFolder(const std::string& name);
void ReadSweepTable(const TomlNode& sweep, ReadContext& context);
void ReadQuota(const TomlNode& quota, ReadContext& context);
void ReadTableSpecs(const TomlNode& tables, ReadContext& context);
void ReadFigures(const TomlNode& figures, ReadContext& context);

// What figures ask of the trials that were planned. `part`: a profile is laid over the sweep, and may leave axes out;
// then a figure without its axis is warned of.
void CheckFigures(const SweepDocument& document, const std::vector<TrialSpec>& trials, bool part,
                  Complaints& complaints);

// The entries of a table as assignments of keys that may stand at `place`. `path` ends in a dot.
[[nodiscard]] Assignments ReadAssignments(const TomlNode& table, KeyPlace place, const std::string& path,
                                          ReadContext& context);
// One entry; null key and a complaint when it is unknown.
[[nodiscard]] Assignment ReadAssignment(const TomlEntry& entry, KeyPlace place, const std::string& path,
                                        ReadContext& context);

// The entry `stop` of such a table. Nothing, after a complaint, when it is wrong.
[[nodiscard]] Assignments ReadStop(const TomlEntry& entry, const std::string& path, ReadContext& context);

// Lays the chosen profile and the KEY=VALUE overrides on `root`, takes [profile] out of it, and checks
// the profiles that were not chosen. `sources` gains one text for each argument.
void OverlayDocument(TomlNode& root, const PlanOptions& options, SourceTexts& sources, const Lookup& lookup,
                     Complaints& complaints);

// Text to document. Complaints say everything that is wrong, in every table.
[[nodiscard]] SweepDocument ReadSweepDocument(const std::string& text, const std::string& path,
                                              const PlanOptions& options, const Lookup& lookup,
                                              SourceTexts& sources, Complaints& complaints);

}  // namespace retort
