// The measurements alone, rows against columns, as papers print them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orchestrator/cli/claim_text.h"
#include "orchestrator/cli/result_table.h"

namespace retort::orchestrator::cli {

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

// Values of the table's column keys that cells stand in, by key: numbers by size and none last, names in the order of their
// first cell.
[[nodiscard]] std::vector<std::vector<std::string>> ColumnsOf(const ResultTable& table);
// "data = digits, epsilon = 1".
[[nodiscard]] std::string ColumnName(const ResultTable& table, const std::vector<std::string>& column);

[[nodiscard]] Matrix MatrixOf(const ResultTable& table, Notes& notes);

}  // namespace retort::orchestrator::cli
