// What a table says about the privacy of its rows in whole paragraphs.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/cli/result_table.h"
#include "orchestrator/results_view.h"

namespace retort::orchestrator::cli {

// "dpdfd, sound, dpsgd: Released: …", one for each measured teacher and cell in the table's order, told of
// the trial with the largest epsilon for one training example among its seeds. Rows with the same paragraph
// share it.
[[nodiscard]] std::vector<std::string> StatementsOf(const ResultTable& table, const ResultsView& view);

}  // namespace retort::orchestrator::cli
