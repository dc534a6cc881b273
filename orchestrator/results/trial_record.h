// One finished trial as trackers of experiments keep it: curves with times, metrics, settings and claims by name.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/claim.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/results/trial_times.h"
#include "storage/results/attempt_file.h"

namespace retort::orchestrator {

struct TimedPoint {
  std::int64_t step = 0;
  double at = 0;  // unix seconds
  double value = 0;
};

// An ε under a name that says what it is worth: "proven.example.add-remove.delta-1e-05".
struct NamedEpsilon {
  std::string name;       // letters, digits, dots and dashes; no two of a trial alike
  double epsilon = 0;     // infinity: nothing is bounded
  std::string line;       // the whole claim, as privacy::FormatStatementLine
  bool is_lower = false;  // ε is at least this: an audit found it
};

struct TrialRecord {
  std::string id;    // 16 hex
  std::string name;  // as it is shown; fit for a folder
  bool succeeded = false;
  std::string state, row_digest;
  double began = 0, ended = 0;  // unix seconds
  std::vector<std::pair<std::string, std::vector<TimedPoint>>> curves;
  std::int64_t last_step = 0;  // of all curves
  std::vector<std::pair<std::string, double>> metrics;
  std::vector<std::pair<std::string, std::string>> settings;  // those that apply to it; of paths the last
                                                              // name alone; `epsilon` as "epsilon-asked-for"
  std::vector<privacy::Claim> claims;
  std::vector<NamedEpsilon> epsilons;  // one a claim
  std::vector<std::string> withdrawn;  // why claims were withdrawn, in sentences
  std::string statement;               // its privacy in a paragraph
};

// "proven.example.add-remove.delta-1e-05", "no-bound.example.replace", "paper-formula-not-a-guarantee.label.replace.
// delta-0", "audited-lower-bound.…"; "delta-not-stated" where a source names none.
[[nodiscard]] std::string FormatClaimName(const privacy::Claim& claim);

// `trial` is one of a view that WithdrawRefuted has seen, and has a row; `file` is what it left. Points whose time
// nobody recorded have the time of the view's newest event.
[[nodiscard]] TrialRecord MakeTrialRecord(const ResultsView& view, const TrialView& trial,
                                          const storage::AttemptFile& file, const TrialTimes& times);

}  // namespace retort::orchestrator
