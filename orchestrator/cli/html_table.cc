#include "orchestrator/cli/html_table.h"

#include <algorithm>

namespace retort::orchestrator::cli {
namespace {

// Where the marks at the end of the text begin.
std::size_t MarksAt(const std::string& text) {
  std::size_t begin = text.size();
  while (begin > 2 && text[begin - 1] == ']') {
    const std::size_t open = text.rfind('[', begin - 1);
    if (open == std::string::npos || open + 2 >= begin) break;
    const bool digits = std::all_of(text.begin() + static_cast<std::ptrdiff_t>(open) + 1,
                                    text.begin() + static_cast<std::ptrdiff_t>(begin) - 1,
                                    [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) break;
    begin = open;
    while (begin > 0 && text[begin - 1] == ' ') --begin;
  }
  return begin;
}

std::string SortName(HtmlSort sort) { return sort == HtmlSort::number ? "number" : "text"; }

void WriteCell(Html& html, const HtmlCell& cell, const HtmlColumn& column) {
  HtmlAttributes attributes;
  if (cell.header) attributes.emplace_back("scope", cell.lines > 1 ? "rowgroup" : "row");
  if (cell.lines > 1) attributes.emplace_back("rowspan", std::to_string(cell.lines));
  std::string css = cell.css_class;
  if (column.number) css += css.empty() ? "number" : " number";
  if (!css.empty()) attributes.emplace_back("class", css);
  if (column.sort == HtmlSort::number || !cell.sort.empty()) attributes.emplace_back("data-value", cell.sort);
  html.Open(cell.header ? "th" : "td", attributes);
  if (cell.strong) html.Open("strong");
  if (cell.em) html.Open("em");
  if (cell.link_prefix.empty())
    html.Text(cell.text);
  else
    WriteMarked(html, cell.text, cell.link_prefix);
  if (cell.em) html.Close();
  if (cell.strong) html.Close();
  html.Close();
}

// Cells of earlier lines may reach into this one, so a cell's place is counted over what is free.
void WriteGroup(Html& html, const HtmlGroup& group, const std::vector<HtmlColumn>& columns) {
  std::vector<std::size_t> taken(columns.size(), 0);  // lines still covered from above
  for (const HtmlLine& line : group) {
    html.Open("tr");
    std::size_t place = 0;
    for (const HtmlCell& cell : line) {
      while (place < columns.size() && taken[place] > 0) --taken[place++];
      if (place == columns.size()) break;
      WriteCell(html, cell, columns[place]);
      taken[place++] = cell.lines - 1;
    }
    for (; place < columns.size(); ++place)
      if (taken[place] > 0) --taken[place];
    html.Close();
    html.Line();
  }
}

}  // namespace

void WriteMarked(Html& html, const std::string& text, const std::string& link_prefix) {
  std::size_t at = MarksAt(text);
  html.Text(text.substr(0, at));
  while (at < text.size()) {
    const std::size_t open = text.find('[', at), close = text.find(']', open);
    html.Text(text.substr(at, open - at));
    html.Element("a", text.substr(open, close + 1 - open),
                 {{"href", "#" + link_prefix + text.substr(open + 1, close - open - 1)}});
    at = close + 1;
  }
}

void WriteTable(Html& html, const HtmlTable& table) {
  const HtmlScope box(html, "div",
                      {{"class", "box"}, {"role", "region"}, {"tabindex", "0"}, {"aria-label", table.caption}});
  const bool sortable = table.groups.size() > 1 && std::any_of(table.columns.begin(), table.columns.end(), [](const auto& c) {
                          return c.sort != HtmlSort::none;
                        });
  const HtmlScope element(html, "table", sortable ? HtmlAttributes{{"class", "sortable"}} : HtmlAttributes{});
  html.Element("caption", table.caption);
  html.Open("thead");
  html.Open("tr");
  for (const HtmlColumn& column : table.columns) {
    HtmlAttributes attributes = {{"scope", "col"}};
    if (column.number) attributes.emplace_back("class", "number");
    if (sortable && column.sort != HtmlSort::none) attributes.emplace_back("data-sort", SortName(column.sort));
    html.Element("th", column.name, attributes);
  }
  html.Close();
  html.Close();
  html.Line();
  // One body for all where every group is a line.
  const bool lines = std::all_of(table.groups.begin(), table.groups.end(),
                                 [](const HtmlGroup& group) { return group.size() == 1; });
  if (lines) html.Open("tbody");
  for (const HtmlGroup& group : table.groups) {
    if (!lines) html.Open("tbody");
    WriteGroup(html, group, table.columns);
    if (!lines) html.Close();
  }
  if (lines) html.Close();
}

}  // namespace retort::orchestrator::cli
