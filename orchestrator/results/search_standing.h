// How a sweep that searches stands: what was suggested, and the best of it so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/ids.h"
#include "experiments/sweep/search_points.h"
#include "experiments/sweep/search_spec.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/results/results_view.h"

namespace retort::orchestrator {

struct BestSuggestion {
  std::size_t number = 0;
  double score = 0;  // mean over its trials that have one
  std::size_t measured = 0;
  std::string name;  // of its first trial
  TrialId trial;
  std::vector<std::pair<std::string, std::string>> values;  // by searched key
};

struct SearchStanding {
  SearchTerms terms;
  std::size_t suggested = 0, ended = 0;
  std::int64_t total = 0;  // suggestions in all, as far as it is known: fewer than planned where too few have a score
  bool may_grow = false;   // asha: more than `total` may follow
  std::optional<BestSuggestion> best;  // of those that have ended, on the highest rung; the first of equal ones

  // Whether more is to be suggested.
  [[nodiscard]] bool IsOpen() const { return may_grow || static_cast<std::int64_t>(suggested) < total; }
  // Whether another may become the best.
  [[nodiscard]] bool MayChange() const { return IsOpen() || ended < suggested; }
};

// Of the trials of `plan`, which searches. `view` may hold fewer of them, or others.
[[nodiscard]] SearchStanding FindStanding(const SweepPlan& plan, const ResultsView& view);
// The same by the sweep as it was last run; nothing where it does not search.
[[nodiscard]] std::optional<SearchStanding> FindStanding(const ResultsView& view);

// "12 of 20 suggestions have ended; the best so far …", a whole sentence without ε.
[[nodiscard]] std::string DescribeStanding(const SearchStanding& standing);

// What a results folder has of the search. Error: damage, for a row that cannot be read.
[[nodiscard]] Result<SearchHistory> CollectHistory(const ResultsView& view);

}  // namespace retort::orchestrator
