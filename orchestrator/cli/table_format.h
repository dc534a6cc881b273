// A result table in each output format. Every epsilon goes out with adjacency, neighbour, delta, accountant
// and status.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/cli/claim_text.h"
#include "orchestrator/cli/result_table.h"

namespace retort::orchestrator::cli {

// `bold`: the terminal understands it; else a star marks what is best.
[[nodiscard]] std::string TableAsText(const ResultTable& table, std::size_t width, bool bold = false);
[[nodiscard]] std::string TableAsMarkdown(const ResultTable& table);
[[nodiscard]] std::string TableAsLatex(const ResultTable& table);  // needs booktabs
// One line for each claim of each cell; cells without claims have one line with empty claim columns.
[[nodiscard]] std::string TableAsCsv(const ResultTable& table);
// One document; several tables come as "tables".
[[nodiscard]] std::string TablesAsJson(const std::vector<ResultTable>& tables);

// Shared by the formats.
// "91.73 ± 0.42 %" for accuracies, plain numbers for other metrics; "– missing" without a value.
[[nodiscard]] std::string MeasuredText(const Summary& summary, const std::string& metric);
// "n=5", "n=3 of 5", "0 of 3, 1 failed".
[[nodiscard]] std::string SeedsText(const Summary& summary, int planned, int failed);
// "95.12 %"; what is published, and a mean where it is compared.
[[nodiscard]] std::string PublishedText(double published, const std::string& metric);
// "90.15–93.53", in the unit of the metric.
[[nodiscard]] std::string IntervalText(const std::pair<double, double>& interval, const std::string& metric);
// The marks of footnotes, each after a blank: " [1] [2]".
[[nodiscard]] std::string MarksOf(const std::vector<std::string>& footnotes, Notes& notes);
// Sentences below the table: what the labels mean, what working means, where the numbers come from.
[[nodiscard]] std::vector<std::string> LegendOf(const ResultTable& table);

}  // namespace retort::orchestrator::cli
