// HTML as text: what comes from data is escaped, every element that is opened is closed, and no id stands
// twice.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace retort::orchestrator::cli {

// For text and for attributes in quotes. Control characters (IsControl in printable.h) but line ends and tabs are left
// out; bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string EscapedHtml(std::string_view text);
// RFC 4648, with padding.
[[nodiscard]] std::string Base64(std::string_view bytes);

using HtmlAttributes = std::vector<std::pair<std::string, std::string>>;

class Html {
 public:
  void Open(std::string_view tag, const HtmlAttributes& attributes = {});
  void Close();  // the innermost that is open
  void Text(std::string_view text) { out_ += EscapedHtml(text); }
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

}  // namespace retort::orchestrator::cli
