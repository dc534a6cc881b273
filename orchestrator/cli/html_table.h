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
};

struct HtmlCell {
  std::string text;
  std::string sort = {};         // what it is sorted by, where that is not the text; empty of a number: last
  std::string css_class = {};
  bool strong = false, em = false;
  bool header = false;           // of its line
  std::size_t lines = 1;         // that it spans
  std::string link_prefix = {};  // not empty: "[3]" at the end of the text links to the id link_prefix + "3"
};

// Lines that belong together and move together: an entry and its claims.
using HtmlLine = std::vector<HtmlCell>;
using HtmlGroup = std::vector<HtmlLine>;

struct HtmlTable {
  std::string caption;
  std::vector<HtmlColumn> columns;
  std::vector<HtmlGroup> groups;
};

// In a box that scrolls by itself and can be reached by keyboard.
void WriteTable(Html& html, const HtmlTable& table);

// Text whose "[3]" at the end, several of them apart by blanks, are links.
void WriteMarked(Html& html, const std::string& text, const std::string& link_prefix);

}  // namespace retort::orchestrator::cli
