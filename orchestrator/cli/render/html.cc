#include "orchestrator/cli/render/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "experiments/base/printable.h"
#include "experiments/base/status.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string safe;
  safe.reserve(text.size() + text.size() / 8);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = MeasureCodePoint(text, at);
    const char c = text[at];
    if (length == 0) {
      safe += kReplacement;
    } else if (c == '&') {
      safe += "&amp;";
    } else if (c == '<') {
      safe += "&lt;";
    } else if (c == '>') {
      safe += "&gt;";
    } else if (c == '"') {
      safe += "&quot;";
    } else if (c == '\'') {
      safe += "&#39;";
    } else if (c == '\n' || c == '\t' || !IsControlCharacter(text.substr(at, length))) {
      safe += text.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return safe;
}

void Html::Begin(std::string_view tag, const HtmlAttributes& attributes) {
  out_ += '<';
  out_ += tag;
  for (const auto& [name, value] : attributes) out_ += " " + name + "=\"" + EscapeHtml(value) + "\"";
  out_ += '>';
}

void Html::Open(std::string_view tag, const HtmlAttributes& attributes) {
  Begin(tag, attributes);
  open_.emplace_back(tag);
}

void Html::Close() {
  RETORT_CHECK(!open_.empty());
  out_ += "</" + open_.back() + ">";
  open_.pop_back();
}

void Html::Element(std::string_view tag, std::string_view text, const HtmlAttributes& attributes) {
  Open(tag, attributes);
  Text(text);
  Close();
}

void Html::Prose(std::string_view tag, std::string_view text, const HtmlAttributes& attributes) {
  Open(tag, attributes);
  while (true) {
    const std::size_t begin = text.find('`');
    const std::size_t end = begin == std::string_view::npos ? begin : text.find('`', begin + 1);
    if (end == std::string_view::npos) break;
    Text(text.substr(0, begin));
    Element("code", text.substr(begin + 1, end - begin - 1));
    text.remove_prefix(end + 1);
  }
  Text(text);
  Close();
}

void Html::Void(std::string_view tag, const HtmlAttributes& attributes) { Begin(tag, attributes); }

std::string Html::Id(std::string_view wish) {
  std::string id;
  for (const char c : wish) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter || (c >= '0' && c <= '9'))
      id += c;
    else if (!id.empty() && id.back() != '-')
      id += '-';
  }
  if (id.empty() || (id.front() >= '0' && id.front() <= '9')) id = "x" + id;
  std::string free = id;
  for (int number = 2; !ids_.insert(free).second; ++number) free = id + "-" + std::to_string(number);
  return free;
}

std::string Html::Take() {
  RETORT_CHECK(open_.empty());
  return std::move(out_);
}

namespace {

void AddClasses(const HtmlColumn& column, std::string& css) {
  if (column.number) css += css.empty() ? "number" : " number";
  if (column.wide) css += css.empty() ? "wide" : " wide";
}

HtmlAttributes MakeAttributes(const HtmlCell& cell, const HtmlColumn& column) {
  HtmlAttributes attributes;
  if (cell.header) attributes.emplace_back("scope", cell.lines > 1 ? "rowgroup" : "row");
  if (cell.lines > 1) attributes.emplace_back("rowspan", std::to_string(cell.lines));
  std::string css = cell.css_class;
  AddClasses(column, css);
  if (!css.empty()) attributes.emplace_back("class", css);
  if (column.sort == HtmlSort::number || !cell.sort.empty()) attributes.emplace_back("data-value", cell.sort);
  return attributes;
}

void WriteFace(Html& html, const std::string& text, const char* tag) {
  if (tag == nullptr)
    html.Text(text);
  else
    html.Element(tag, text);
}

void WriteCell(Html& html, const HtmlCell& cell, const HtmlColumn& column) {
  html.Open(cell.header ? "th" : "td", MakeAttributes(cell, column));
  if (!cell.href.empty())
    html.Element("a", cell.text, {{"href", cell.href}});
  else
    WriteFace(html, cell.text, cell.strong ? "strong" : cell.em ? "em" : nullptr);
  if (!cell.after.empty()) WriteFace(html, cell.after, cell.after_em ? "em" : nullptr);
  WriteMarks(html, cell.marks, cell.note_prefix);
  for (const std::string& line : cell.below) html.Element("span", line, {{"class", "below"}});
  if (!cell.narrow.empty()) html.Element("span", cell.narrow, {{"class", "below narrow"}});
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

void WriteHead(Html& html, const std::vector<HtmlColumn>& columns, bool sortable) {
  html.Open("thead");
  html.Open("tr");
  for (const HtmlColumn& column : columns) {
    HtmlAttributes attributes = {{"scope", "col"}};
    std::string css;
    AddClasses(column, css);
    if (!css.empty()) attributes.emplace_back("class", css);
    const bool button = sortable && column.sort != HtmlSort::none;
    if (button) {
      attributes.emplace_back("aria-sort", "none");
      attributes.emplace_back("data-sort", column.sort == HtmlSort::number ? "number" : "text");
    }
    html.Open("th", attributes);
    if (button)
      html.Element("button", column.name, {{"type", "button"}, {"disabled", ""}});
    else
      html.Text(column.name);
    html.Close();
  }
  html.Close();
  html.Close();
  html.Line();
}

}  // namespace

HtmlCell MakeNumberCell(std::string text, double value) { return {std::move(text), fmt::format("{}", value)}; }

void WriteMarks(Html& html, const std::string& marks, const std::string& note_prefix) {
  std::size_t at = 0;
  while (true) {
    const std::size_t open = marks.find('[', at), close = marks.find(']', open);
    html.Text(marks.substr(at, open - at));
    if (close == std::string::npos) return;
    html.Element("a", marks.substr(open, close + 1 - open),
                 {{"href", "#" + note_prefix + marks.substr(open + 1, close - open - 1)}});
    at = close + 1;
  }
}

void WriteTable(Html& html, const HtmlTable& table) {
  const HtmlScope box(html, "div",
                      {{"class", "box"}, {"role", "region"}, {"tabindex", "0"}, {"aria-label", table.caption}});
  const bool sortable =
      table.groups.size() > 1 && std::any_of(table.columns.begin(), table.columns.end(),
                                             [](const HtmlColumn& column) { return column.sort != HtmlSort::none; });
  const HtmlScope element(html, "table", sortable ? HtmlAttributes{{"class", "sortable"}} : HtmlAttributes{});
  html.Element("caption", table.caption);
  WriteHead(html, table.columns, sortable);
  // One body for all where every group is a line.
  const bool lines =
      std::all_of(table.groups.begin(), table.groups.end(), [](const HtmlGroup& group) { return group.size() == 1; });
  if (lines) html.Open("tbody");
  for (const HtmlGroup& group : table.groups) {
    if (!lines) html.Open("tbody");
    WriteGroup(html, group, table.columns);
    if (!lines) html.Close();
  }
  if (lines) html.Close();
}

}  // namespace retort::orchestrator::cli
