// Tables of a page: a caption, headers with their scope, groups of lines that a reader may sort.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orchestrator/cli/html_writer.h"

namespace retort::orchestrator::cli {

enum class HtmlSort : unsigned char { none, text, number };

struct HtmlColumn {
  std::string name;
  HtmlSort sort = HtmlSort::none;  // by the first line of each group
  bool number = false;             // stands at the right
  bool wide = false;               // left out on a narrow page
};

struct HtmlCell {
  std::string text;
  std::string sort =
      {};  // what it is sorted by, where that is not the text; empty in a column of numbers: last
  std::string css_class = {};
  bool strong = false, em = false;
  std::string after = {};  // behind the text, in a face of its own
  bool after_em = false;
  std::string marks = {};               // " [3]", of footnotes
  std::string note_prefix = {};         // each mark links to the id note_prefix + "3"
  std::string href = {};                // the text is a link
  std::vector<std::string> below = {};  // faint lines
  std::string narrow = {};  // another one, on a narrow page alone: what the columns hold that it leaves out
  bool header = false;      // of its line
  std::size_t lines = 1;    // that it spans
};

// Sorted by the value, whatever the text says.
[[nodiscard]] HtmlCell NumberCell(std::string text, double value);

// Lines that belong together and move together: an entry and its claims. The first has a cell in every
// column.
using HtmlLine = std::vector<HtmlCell>;
using HtmlGroup = std::vector<HtmlLine>;

struct HtmlTable {
  std::string caption;
  std::vector<HtmlColumn> columns;
  std::vector<HtmlGroup> groups;
};

// In a box that scrolls by itself and can be reached by keyboard. The header of a column that can be sorted
// is a button, off until a script wakes it.
void WriteTable(Html& html, const HtmlTable& table);

// Marks of footnotes as links.
void WriteMarks(Html& html, const std::string& marks, const std::string& note_prefix);

}  // namespace retort::orchestrator::cli
