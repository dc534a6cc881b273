// The papers' own values, compiled in from experiments/published/*.csv.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retort::orchestrator::cli {

struct PublishedValue {
  std::string paper, table, dataset, approach;
  std::optional<double> epsilon;  // as the paper claims it
  double delta = 0;               // likewise; 0 = none claimed
  std::string setting, metric;
  double value = 0;  // fraction for accuracies
};

// Rows whose value is a number; the others (parameter counts as text) are left out.
[[nodiscard]] std::vector<PublishedValue> ParsePublished(std::string_view csv);

// All compiled-in values of one "paper/table". Empty when there is no such table, or no name.
[[nodiscard]] std::vector<PublishedValue> PublishedTable(std::string_view paper_and_table);
// Every "paper/table" there is.
[[nodiscard]] std::vector<std::string> PublishedTableNames();

struct PublishedKey {
  std::string dataset;            // `published_as`
  std::string method;             // the trial's method, or "teacher"
  std::optional<double> epsilon;  // compared numerically; none = values without epsilon
  std::string metric = "accuracy";
  std::string teacher = "";       // its name in the sweep; published values of one teacher alone ("teacher=ResNet") join it
};

// The one value that fits; nothing when none does, or when several differing ones do.
[[nodiscard]] std::optional<double> FindPublished(const std::vector<PublishedValue>& values,
                                                  const PublishedKey& key);

// The name under which the papers print a method: "dpsd-label" -> "DPSD".
[[nodiscard]] std::string ApproachName(std::string_view method);

}  // namespace retort::orchestrator::cli
