// Compares what was measured with the published values beside it, and counts how many of a paper's values hold.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/results/tables/published.h"
#include "orchestrator/results/tables/result_table.h"
#include "orchestrator/results/tables/statistics.h"

namespace retort::orchestrator {

enum class Verdict : unsigned char {
  inside,         // the published value lies in the interval of what was measured
  above,          // what was measured is above it, interval and all
  below,          // likewise below
  not_measured,   // trials of the sweep would measure it, and none has
  not_measurable  // no trial of the sweep would, or its files are not here
};
inline constexpr std::size_t kVerdicts = 5;
// "inside", "above", "below", "not measured", "not measurable here".
[[nodiscard]] std::string_view GetVerdictName(Verdict verdict);
[[nodiscard]] constexpr bool IsMeasured(Verdict verdict) { return verdict <= Verdict::below; }

// What the interval of a comparison is of.
enum class IntervalKind : unsigned char {
  seeds,   // 95 % of the mean over seeds
  test,    // 95 % of the mean for its test examples; where one seed was measured
  printed  // one unit of the last printed digit; where there is neither
};
[[nodiscard]] std::string_view GetIntervalKindName(IntervalKind kind);  // "seeds", "test", "printed"

// One published value beside one cell or teacher of a table; of a value that nothing stands beside, once.
struct ComparedValue {
  PublishedValue value;
  std::string sweep, table;       // of what was measured
  std::string role;               // "student" or "teacher"; empty: nothing stands beside the value
  std::vector<std::string> keys;  // as ListKeyNames of the table
  std::string reading;            // of a student; empty where it has none
  SeedSummary summary;            // of what was measured
  std::optional<std::pair<double, double>> interval;
  IntervalKind interval_kind = IntervalKind::printed;
  std::optional<double> difference;  // measured mean less published value
  Verdict verdict = Verdict::not_measurable;
  std::string reason;  // why nothing is measured, a clause; empty where something is
  bool smoke = false;  // measured with the profile "smoke"
};

// Why trials cannot run here, a clause, by the name of their data set or of their teacher.
struct AbsentFiles {
  std::map<std::string, std::string> data, teachers;
};

// Every value of `published`, in the order of the table's lines; then those that no line shows. `table` was built from
// `plan` and `published`. Values of a profile "smoke" are compared as they are and marked.
[[nodiscard]] std::vector<ComparedValue> CompareTable(const SweepPlan& plan, const ResultTable& table,
                                                      const std::vector<PublishedValue>& published,
                                                      const AbsentFiles& absent);

// How many values of one paper have which verdict.
struct PaperCount {
  std::string paper;
  int values = 0;
  std::vector<int> verdicts = std::vector<int>(kVerdicts);  // by Verdict; each value once
  std::map<std::string, std::vector<int>> by_reading;       // measured values alone, each once for each reading
};

// Each value of `all` once, by the best of its comparisons: inside before the nearest of above and below, before not
// measured, before not measurable. A value without a comparison is not measurable. Comparisons of a profile "smoke"
// count as not measured. Papers in the order of `all`.
[[nodiscard]] std::vector<PaperCount> CountByPaper(const std::vector<PublishedValue>& all,
                                                   const std::vector<ComparedValue>& compared);

}  // namespace retort::orchestrator
