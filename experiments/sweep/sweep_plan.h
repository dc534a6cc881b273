// The plan of a sweep: a sweep file and its expansion into trials.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/diagnostic.h"
#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/sweep/figure_specs.h"
#include "experiments/sweep/quota.h"
#include "experiments/sweep/search_points.h"
#include "experiments/sweep/search_spec.h"
#include "experiments/sweep/select_spec.h"
#include "experiments/sweep/table_specs.h"

namespace retort {

// For the digest of a data set that is stored packed: the digest that its files would have unpacked. Budgets and totals
// are about examples, which it names; equal examples may be stored in several ways.
using UnpackedDigests = std::map<std::string, std::string>;
[[nodiscard]] const std::string& FindUnpackedDigest(const UnpackedDigests& unpacked, const std::string& digest);

struct SweepPlan {
  std::string name;               // [sweep] name
  std::string file;               // path as given
  std::string profile;            // laid over it; empty = none
  std::vector<TrialSpec> trials;  // teachers before the students that need them; fixed order; ids set
  std::vector<TableSpec> tables;
  std::vector<FigureSpec> figures;
  std::vector<std::shared_ptr<const DataSpec>> data;
  UnpackedDigests unpacked;  // of `data`
  Quota quota;
  std::optional<SelectSpec> select;  // the trials are its candidates then, with seed 0
  std::optional<SearchSpec> search;  // the trials are those of what it has suggested so far
  std::string resolved_toml;         // what sweep.toml in the results folder holds
  std::vector<Diagnostic> warnings;
};

struct PlanOptions {
  std::vector<std::string> overrides;  // "trial.steps=10", "sweep.seeds=[0]"
  std::string profile;                 // [profile.NAME], or empty
  // What a search has suggested and measured so far; null: nothing.
  std::shared_ptr<const SearchHistory> history = nullptr;
};

// What the plan needs from its caller. `inspect` fills digest, examples and shape of a data set
// from its files; its error becomes a diagnostic at the data table. `calibrate` fills what an epsilon
// asks for; its error becomes a diagnostic at the trial's epsilon key. `unpacked` gives the digest that a
// data set which was inspected would have unpacked; its error becomes a diagnostic at the data table.
// `calibrate_candidates` gives the epsilon of each candidate that select.epsilon leaves, of candidates that are not
// calibrated; its error becomes a diagnostic there.
struct PlanHooks {
  std::function<Status(DataSpec&)> inspect;
  std::function<Status(TrialSpec&)> calibrate;
  std::function<Result<double>(const SelectSpec& select, std::span<const TrialSpec> candidates)> calibrate_candidates =
      {};
  std::function<Result<std::string>(const DataSpec&)> unpacked = {};
  // SHA-256, 64 hex digits, of the bytes of a file that a teacher is loaded from; its error becomes a diagnostic at
  // the key. Absent: the digest stays empty.
  std::function<Result<std::string>(const std::string& path)> digest_file = {};
  // Whether `unpacked` is asked for also where nothing in the sweep compares examples: for one data set without budget.
  bool unpack_all = true;
  // The path of the file that a published name of weights stands for, empty for a text that is no such name; its error
  // becomes a diagnostic at the key. Absent: every text is a path.
  std::function<Result<std::string>(const std::string& text)> find_weights = {};
  // Value of ${VAR} in a data path; empty = the process environment.
  std::function<std::optional<std::string>(const std::string&)> lookup = {};
};

// All errors at once.
struct PlanOutcome {
  std::optional<SweepPlan> plan;
  std::vector<Diagnostic> errors;
};

// Returns the text of a sweep file. Error: usage, for a folder, a file that cannot be read, and one above 16 MiB, which
// an endless device or pipe is.
[[nodiscard]] Result<std::string> ReadSweepFile(const std::string& path);
// The networks that a sweep file describes: TrialSpec::layers by name, and what is wrong with the file as a whole or
// with its [network.NAME] tables; the other tables are not looked at, nor is any profile.
struct NetworksOutcome {
  std::map<std::string, std::shared_ptr<const std::string>> layers;
  std::vector<Diagnostic> errors;
};
[[nodiscard]] NetworksOutcome LoadNetworks(const std::string& path);

[[nodiscard]] PlanOutcome LoadSweep(const std::string& path, const PlanOptions& options, const PlanHooks& hooks);
[[nodiscard]] PlanOutcome ParseSweep(const std::string& text, const std::string& path, const PlanOptions& options,
                                     const PlanHooks& hooks);

}  // namespace retort
