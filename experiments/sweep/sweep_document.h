// A sweep file after reading: every value checked against the key table, nothing expanded yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/methods/spec_keys.h"
#include "experiments/sweep/diagnostic_collector.h"
#include "experiments/sweep/network_tables.h"
#include "experiments/sweep/search_spec.h"
#include "experiments/sweep/select_spec.h"
#include "experiments/sweep/sweep_plan.h"
#include "experiments/sweep/toml_tree.h"

namespace retort {

// One KEY = value of the file.
struct Assignment {
  const SpecKey* key = nullptr;
  KeyValue value;
  Position where;            // of the value
  std::string path;          // dotted, as in "sweep.zip.row.epsilon"
  bool valid = true;         // false: already reported; trials that it reaches are not checked
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
  Position where, path, train, public_range, test, validation;
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
  std::vector<NetworkDefinition> networks;
  std::vector<std::string> other_networks;  // of a profile read by itself: what the file describes
  Assignments trial;
  std::vector<Axis> axes;  // in file order, the first varies slowest
  std::vector<std::uint64_t> seeds = {0};
  std::vector<WhenRule> when;
  std::vector<ExcludeRule> exclude;
  std::vector<TableSpec> tables;
  std::vector<FigureTable> figures;
  Quota quota;
  std::optional<SelectSpec> select;
  std::optional<SearchSpec> search;
  Assignments search_values;  // every value that its space lists
  Position trial_where, sweep_where;
  std::uint32_t assignments = 0;  // numbers given out
  std::string resolved_toml;

  // Whether the method "sleep", whose trials need no data set, is named somewhere.
  [[nodiscard]] bool NamesSleep() const;
  // Whether an unknown method is named, which may have been meant to be "sleep".
  [[nodiscard]] bool NamesUnknownMethod() const;
  [[nodiscard]] const DataTable* FindData(const std::string& data_name) const;
  [[nodiscard]] const TeacherDefinition* FindTeacher(const std::string& teacher_name) const;
  [[nodiscard]] const NetworkDefinition* FindNetwork(const std::string& network_name) const;
  [[nodiscard]] std::vector<std::string> DataNames() const;
  [[nodiscard]] std::vector<std::string> TeacherNames() const;
};

using Lookup = std::function<std::optional<std::string>(const std::string&)>;
using WeightsFinder = std::function<Result<std::string>(const std::string&)>;  // as PlanHooks::find_weights

// What the readers of single tables share.
struct ReadContext {
  SweepDocument& document;
  DiagnosticCollector& diagnostics;
  const Lookup& lookup;   // of ${VAR}
  std::string directory;  // of the sweep file
  std::string prefix;     // "" or "profile.NAME."
  bool partial = false;   // an overlay: required keys may be absent
  WeightsFinder find_weights = {};
};

// Expands ${VAR}, and makes the path absolute from the folder of the sweep file. Returns nothing, after an error at
// `where`, when a variable is not set.
[[nodiscard]] std::optional<std::string> ResolveAbsolutePath(const std::string& text, Position where,
                                                             const std::string& key, ReadContext& context);

// Reads the entries of a table as assignments of keys that may stand at `place`. `path` ends in a dot.
[[nodiscard]] Assignments ReadAssignments(const TomlNode& table, KeyPlace place, const std::string& path,
                                          ReadContext& context);
// Reads one entry; null key and an error when it is unknown.
[[nodiscard]] Assignment ReadAssignment(const TomlEntry& entry, KeyPlace place, const std::string& path,
                                        ReadContext& context);

// Reads a value of a trial's key, a network's name among those of the zoo and of the file. Nothing after one error, as
// ReadKeyValue.
[[nodiscard]] std::optional<KeyValue> ReadTrialValue(const TomlNode& node, const SpecKey& key, const std::string& path,
                                                     ReadContext& context);

// Reads the entry `stop` of such a table, as stop = { metric = "loss", below = 0.1, after = 20, every = 5 }. Nothing,
// after a reported error, when it is wrong.
[[nodiscard]] Assignments ReadStop(const TomlEntry& entry, const std::string& path, ReadContext& context);

// Reads the text of a sweep file. `diagnostics` gets everything that is wrong, in every table.
[[nodiscard]] SweepDocument ReadSweepDocument(const std::string& text, const std::string& path,
                                              const PlanOptions& options, const Lookup& lookup,
                                              const WeightsFinder& find_weights, SourceTexts& sources,
                                              DiagnosticCollector& diagnostics);

// Names of a sweep file that become names of files: leaves room for suffixes in a name of 255 bytes at most.
inline constexpr std::size_t kMaxFileNameBytes = 200;

// Returns the error about `name`, which is longer.
inline std::string DescribeTooLongName(const std::string& what, const std::string& name) {
  return what + " has " + std::to_string(name.size()) +
         " bytes, and files are called by it: " + std::to_string(kMaxFileNameBytes) + " at most";
}

}  // namespace retort
