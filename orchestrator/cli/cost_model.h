// What trials will cost, from what finished ones of the same kind cost. Nothing measured: nothing said.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/results_view.h"

namespace retort::orchestrator::cli {

struct CostEstimate {
  double seconds = 0;        // wall clock on the machines measured, one trial after the other
  double low = 0, high = 0;  // smallest and largest measured rate
  int measured = 0;          // finished trials behind it; for a sum the fewest behind any term
};

// Equal for trials whose units of work cost the same.
[[nodiscard]] std::string KindOfWork(const TrialSpec& spec);

class CostModel {
 public:
  explicit CostModel(const ResultsView& view);
  [[nodiscard]] std::optional<CostEstimate> For(const TrialSpec& spec) const;
  // Nothing when any of them is unknown.
  [[nodiscard]] std::optional<CostEstimate> Sum(const std::vector<const TrialSpec*>& specs) const;

 private:
  std::map<std::string, std::vector<double>> rates_;  // seconds for each unit of work, by kind of trial
};

}  // namespace retort::orchestrator::cli
