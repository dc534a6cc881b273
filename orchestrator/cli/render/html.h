// Writes HTML: text from data is escaped, every element that is opened is closed, and no id is used twice. Tables have
// captions, headers with their scope, and groups of lines that a reader may sort.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace retort::orchestrator::cli {

// For text and for attributes in quotes. Control characters (IsControlCharacter in printable.h) but line ends and tabs
// are left out; bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string EscapeHtml(std::string_view text);

using HtmlAttributes = std::vector<std::pair<std::string, std::string>>;

class Html {
 public:
  void Open(std::string_view tag, const HtmlAttributes& attributes = {});
  void Close();  // the innermost that is open
  void Text(std::string_view text) { out_ += EscapeHtml(text); }
  // Opened, filled with text and closed.
  void Element(std::string_view tag, std::string_view text, const HtmlAttributes& attributes = {});
  // Of elements that have no end: meta, img, col.
  void Void(std::string_view tag, const HtmlAttributes& attributes);
  void Paragraph(std::string_view text) { Prose("p", text); }
  // As Element; what stands between backticks is code.
  void Prose(std::string_view tag, std::string_view text, const HtmlAttributes& attributes = {});
  // As it is: markup that this program made.
  void Raw(std::string_view markup) { out_ += markup; }
  void Line() { out_ += '\n'; }

  // An id that is not in the document yet: letters, digits and hyphens of `wish`, and a number where needed.
  [[nodiscard]] std::string Id(std::string_view wish);

  [[nodiscard]] std::size_t size() const { return out_.size(); }
  // The document. Everything must be closed.
  [[nodiscard]] std::string Take();

 private:
  void Begin(std::string_view tag, const HtmlAttributes& attributes);

  std::string out_;
  std::vector<std::string> open_;
  std::unordered_set<std::string> ids_;
};

// Open while it lives.
class HtmlScope {
 public:
  HtmlScope(Html& html, std::string_view tag, const HtmlAttributes& attributes = {}) : html_(html) {
    html_.Open(tag, attributes);
  }
  ~HtmlScope() {
    html_.Close();
    html_.Line();
  }
  HtmlScope(const HtmlScope&) = delete;
  HtmlScope& operator=(const HtmlScope&) = delete;

 private:
  Html& html_;
};

// Tables of a page: a caption, headers with their scope, groups of lines that a reader may sort.

enum class HtmlSort : unsigned char { none, text, number };

struct HtmlColumn {
  std::string name;
  HtmlSort sort = HtmlSort::none;  // by the first line of each group
  bool number = false;             // stands at the right
  bool wide = false;               // left out on a narrow page
};

struct HtmlCell {
  std::string text;
  std::string sort = {};  // what it is sorted by, where that is not the text; empty in a column of numbers: last
  std::string css_class = {};
  bool strong = false, em = false;
  std::string after = {};  // behind the text, in a face of its own
  bool after_em = false;
  std::string marks = {};               // " [3]", of footnotes
  std::string note_prefix = {};         // each mark links to the id note_prefix + "3"
  std::string href = {};                // the text is a link
  std::vector<std::string> below = {};  // faint lines
  std::string narrow = {};              // another one, on a narrow page alone: what the columns hold that it leaves out
  bool header = false;                  // of its line
  std::size_t lines = 1;                // that it spans
};

// Sorted by the value, whatever the text says.
[[nodiscard]] HtmlCell MakeNumberCell(std::string text, double value);

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
