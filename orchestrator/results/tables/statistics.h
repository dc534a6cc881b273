// What the seeds of one cell have in common: mean, spread and confidence intervals of a metric, and the worst claims.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/privacy/claim.h"
#include "experiments/sweep/sweep_plan.h"

namespace retort::orchestrator {

struct SeedSummary {
  int n = 0;
  double mean = 0;                                // meaningless when n = 0
  std::optional<double> sd;                       // sample standard deviation; none below two values
  std::optional<std::pair<double, double>> ci95;  // of the mean; none below two values
};

// The interval over seeds: Student t with n - 1 degrees of freedom, or the 2.5th and 97.5th percentile of the means of
// 4,000 resamples, whose draws are the same every time.
[[nodiscard]] SeedSummary Summarize(const std::vector<double>& values,
                                    retort::Interval interval = retort::Interval::student_t);

// Wilson's 95 % score interval of a binomial fraction that was seen as `fraction` (in [0, 1]) in `n` examples, n >= 1.
[[nodiscard]] std::pair<double, double> ComputeWilsonInterval(double fraction, std::int64_t n);

// What holds for every one of several trials.
// In the order of first appearance. Guarantees (proven or unbounded), for each (adjacency, neighbour, delta):
// the largest epsilon of each accountant that proves one in every trial; where no accountant does, the
// largest of the trials' best ones; unbounded where some trial has none. Formulas and audited bounds: the
// largest of those that are there.
[[nodiscard]] std::vector<privacy::Claim> FindWorstClaims(const std::vector<std::vector<privacy::Claim>>& trials);
// Whether the metric counts something: its values are whole numbers, and are printed as such.
[[nodiscard]] bool IsCount(const std::string& metric);
// Returns the value of such a metric; nothing for other metrics, and for means that are no whole number.
[[nodiscard]] std::optional<std::int64_t> FindCount(double value, const std::string& metric);
// "91.73 ± 0.42 %" for accuracies, "155,210" for counts (without a spread where all seeds agree), plain numbers for
// other metrics; "– missing" without a value.
[[nodiscard]] std::string FormatMeasured(const SeedSummary& summary, const std::string& metric);
// "n=5", "n=3 of 5", "0 of 3, 1 failed".
[[nodiscard]] std::string FormatSeeds(const SeedSummary& summary, int planned, int failed);
// "95.12 %", "155,210"; what is published, and a mean where it is compared.
[[nodiscard]] std::string FormatPublished(double published, const std::string& metric);
// "90.15–93.53", "1,204–1,260", in the unit of the metric.
[[nodiscard]] std::string FormatInterval(const std::pair<double, double>& interval, const std::string& metric);
// The interval over seeds; empty without one, and for a count in which all seeds agree.
[[nodiscard]] std::string FormatSeedsInterval(const SeedSummary& summary, const std::string& metric);
// One value, in the unit of the metric: "91.73 %", "155,210", "0.482913".
[[nodiscard]] std::string FormatMetric(double value, const std::string& metric);

}  // namespace retort::orchestrator
