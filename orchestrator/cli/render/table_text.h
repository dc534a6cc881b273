// Formats a result table as text, and holds what the other formats share with it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orchestrator/cli/render/claim_text.h"
#include "orchestrator/results/tables/result_table.h"

namespace retort::orchestrator::cli {

// `bold`: the terminal understands it; else a star marks what is best.
[[nodiscard]] std::string FormatTableText(const ResultTable& table, std::size_t width, bool bold = false);

// "–" where there is none.
[[nodiscard]] inline std::string FormatTextOrDash(const std::string& text) { return text.empty() ? "–" : text; }
// The marks of footnotes, each after a blank: " [1] [2]".
[[nodiscard]] std::string FormatMarks(const std::vector<std::string>& footnotes, Notes& notes);
// Sentences below the table: what the labels mean, what working means, where the numbers come from.
[[nodiscard]] std::vector<std::string> MakeLegend(const ResultTable& table);

// The measurements alone, rows against columns, as papers print them.
struct MatrixCell {
  std::string measured;   // "– missing" where nothing is; empty where only a value is published
  std::string published;  // empty where nothing is
  std::string marks;      // of the footnotes of `published`
  bool planned = false;   // false: no trial and no value stands here
  bool quoted = false, best = false, best_published = false;
};

struct Matrix {
  std::vector<std::string> header;  // row keys, then columns
  struct Row {
    std::vector<std::string> keys;  // values
    std::vector<MatrixCell> cells;  // one a column
  };
  std::vector<Row> rows;
};

// Values of the table's column keys that cells stand in, by key: numbers by size and none last, names in the order of
// their first cell.
[[nodiscard]] std::vector<std::vector<std::string>> FindColumns(const ResultTable& table);
// "data = digits, epsilon = 1".
[[nodiscard]] std::string FormatColumnName(const ResultTable& table, const std::vector<std::string>& column);

[[nodiscard]] Matrix MakeMatrix(const ResultTable& table, Notes& notes);

}  // namespace retort::orchestrator::cli
