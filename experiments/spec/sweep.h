// A parsed sweep file and its expansion into trials.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/spec/diagnostic.h"
#include "experiments/spec/figure_spec.h"
#include "experiments/spec/status.h"
#include "experiments/spec/trial_spec.h"

namespace retort {

// A trial's key is one of the values, as tables show them; numbers compare as numbers.
struct KeyCondition {
  std::string key;  // of [trial], "seed" or "role"
  std::vector<std::string> values;
};

// What the sweep file itself puts beside trials, in place of the published value that is found by name.
struct PublishedJoin {
  std::vector<KeyCondition> conditions;                     // all hold
  std::vector<std::pair<std::string, std::string>> columns; // of published.csv and what stands there; empty: no value
};

// Of the mean over seeds, at 95 %.
enum class Interval : std::uint8_t { student_t, bootstrap };

struct TableSpec {
  std::string name;
  std::vector<std::string> rows, columns;
  std::string metric = "test.accuracy";
  std::string published;             // "dpdfd-ijcai23/table1" or empty
  Interval interval = Interval::student_t;
  std::vector<KeyCondition> where;   // trials of the table; empty = all
  std::vector<PublishedJoin> joins;  // the first that matches counts
};

// Caps on what a results folder may use; 0 = no cap. What is spent is read from the journal.
struct Quota {
  std::int64_t trials = 0;       // begun: those with an attempt
  double wall_seconds = 0;       // of runs, summed
  std::int64_t concurrency = 0;  // trials at once
  double device_hours = 0;       // of attempts, ended ones in full, summed over their devices
  bool operator==(const Quota&) const = default;
};

// By digest of a data set that is stored packed: the digest that its files would have unpacked. What names
// the examples, where budgets and totals are about them; equal examples may be stored in several ways.
using UnpackedDigests = std::map<std::string, std::string>;
[[nodiscard]] const std::string& UnpackedOf(const UnpackedDigests& unpacked, const std::string& digest);

struct SweepPlan {
  std::string name;                  // [sweep] name
  std::string file;                  // path as given
  std::string profile;               // laid over it; empty = none
  std::vector<TrialSpec> trials;     // teachers before the students that need them; fixed order; ids set
  std::vector<TableSpec> tables;
  std::vector<FigureSpec> figures;
  std::vector<std::shared_ptr<const DataSpec>> data;
  UnpackedDigests unpacked;  // of `data`
  Quota quota;
  std::string resolved_toml;         // what sweep.toml in the results folder holds
  std::vector<Diagnostic> warnings;
};

struct PlanOptions {
  std::vector<std::string> overrides;   // "trial.steps=10", "sweep.seeds=[0]"
  std::string profile;                  // [profile.NAME], or empty
};

// What the plan needs from outside of spec. `inspect` fills digest, examples and shape of a data set
// from its files; its error becomes a diagnostic at the data table. `calibrate` fills what an epsilon
// asks for; its error becomes a diagnostic at the trial's epsilon key. `unpacked` gives the digest that a
// data set which was inspected would have unpacked; its error becomes a diagnostic at the data table.
struct PlanHooks {
  std::function<Status(DataSpec&)> inspect;
  std::function<Status(TrialSpec&)> calibrate;
  std::function<Result<std::string>(const DataSpec&)> unpacked = {};
  // SHA-256, 64 hex digits, of the bytes of a file that a teacher is loaded from; its error becomes a diagnostic at
  // the key. Absent: the digest stays empty.
  std::function<Result<std::string>(const std::string& path)> weigh = {};
  // Whether `unpacked` is asked for also where nothing in the sweep compares examples: for one data set without budget.
  bool unpack_all = true;
  // Value of ${VAR} in a data path; empty = the process environment.
  std::function<std::optional<std::string>(const std::string&)> lookup = {};
};

// All errors at once.
struct PlanOutcome {
  std::optional<SweepPlan> plan;
  std::vector<Diagnostic> errors;
};

[[nodiscard]] PlanOutcome LoadSweep(const std::string& path, const PlanOptions& options, const PlanHooks& hooks);
[[nodiscard]] PlanOutcome ParseSweep(const std::string& text, const std::string& path, const PlanOptions& options,
                                     const PlanHooks& hooks);

// The quota in the resolved text of a sweep; none where there is none, or the text is no sweep.
[[nodiscard]] Quota QuotaOf(const std::string& resolved_toml);

// JSON Schema of the sweep file, generated from the key table.
[[nodiscard]] std::string SweepJsonSchema();

}  // namespace retort
