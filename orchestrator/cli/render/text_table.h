// Formats aligned columns for a terminal, and fits text into its width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace retort::orchestrator::cli {

enum class Align : unsigned char { left, right };

// Rows of cells under one header; a cell may be empty. Two spaces between columns, nothing trailing.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header, std::vector<Align> align = {});
  // Missing cells at the end are empty; more cells than columns is a broken invariant.
  void Add(std::vector<std::string> cells);
  void AddRule();                           // a line across
  [[nodiscard]] std::size_t Width() const;  // of the widest line, without indent
  [[nodiscard]] std::string Render(std::size_t indent = 0) const;

 private:
  struct Cell {
    std::string text;
    std::size_t width = 0;
  };
  struct Line {
    bool rule = false;
    std::vector<Cell> cells;
  };
  // Widens the columns as needed.
  [[nodiscard]] std::vector<Cell> Measured(std::vector<std::string> texts);
  void AppendLine(const std::vector<Cell>& cells, std::size_t indent, std::string& out) const;
  std::vector<std::size_t> widths_;  // of the columns
  std::vector<Cell> header_;
  std::vector<Align> align_;
  std::vector<Line> lines_;
};

// Breaks at spaces so that no line exceeds `width`; later lines are indented by `hang` columns. What stands between
// backticks stays on one line, so that a command can be pasted.
[[nodiscard]] std::string Wrap(const std::string& text, std::size_t width, std::size_t hang);

// Text for a terminal that may be narrow. Pure.

// Lines of more than `width` columns are broken at spaces. What stands behind two spaces or more, as the meaning of an
// option does, goes on below itself, or where that leaves too little room in lines of its own. Tables with a rule below
// their header, and commands that are there to be pasted, stay as they are.
[[nodiscard]] std::string FitText(std::string_view text, std::size_t width);

}  // namespace retort::orchestrator::cli
