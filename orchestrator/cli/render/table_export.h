// Formats a result table as Markdown, LaTeX, CSV and JSON (as text: table_text.h). Every epsilon comes with adjacency,
// neighbour, delta, accountant and status.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/cli/render/table_text.h"
#include "orchestrator/results/tables/result_table.h"

namespace retort::orchestrator::cli {

[[nodiscard]] std::string FormatTableMarkdown(const ResultTable& table);
[[nodiscard]] std::string FormatTableLatex(const ResultTable& table);  // needs booktabs
// One line for each claim of each cell; cells without claims have one line with empty claim columns.
[[nodiscard]] std::string FormatTableCsv(const ResultTable& table);
// One document; several tables come as "tables".
[[nodiscard]] std::string FormatTablesJson(const std::vector<ResultTable>& tables);

// Any text as LaTeX that compiles with the packages of the base system.

// Special characters are escaped and the symbols of claims become mathematics; other characters beyond Latin letters
// come out as their code point, "[U+4E2D]".
[[nodiscard]] std::string EscapeLatex(std::string_view text);

}  // namespace retort::orchestrator::cli
