#include "orchestrator/plot/render.h"

#include <map>
#include <string_view>

#include "orchestrator/plot/layout.h"
#include "orchestrator/plot/painters.h"

namespace retort::orchestrator::plot {
namespace {

std::string Escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '"')
      safe += "&quot;";
    else if (static_cast<unsigned char>(c) >= ' ' || c == '\n')
      safe += c;
  }
  return safe;
}

// cairo names surfaces and images by a number that goes up through the life of the process: "surface7", "image9".
std::string Renumbered(const std::string& svg, std::string_view word) {
  std::map<std::string, std::size_t> numbers;
  std::string out;
  std::size_t at = 0;
  while (at < svg.size()) {
    const std::size_t found = svg.find(word, at);
    if (found == std::string::npos) break;
    // Elsewhere the word is that of an element, or stands in an image's own bytes.
    const bool names = found > 0 && (svg[found - 1] == '"' || svg[found - 1] == '#');
    std::size_t end = found + word.size();
    while (names && end < svg.size() && svg[end] >= '0' && svg[end] <= '9') ++end;
    out.append(svg, at, found + word.size() - at);
    const std::string number = svg.substr(found + word.size(), end - found - word.size());
    if (!number.empty()) out += std::to_string(numbers.try_emplace(number, numbers.size()).first->second);
    at = end;
  }
  return out.append(svg, at, std::string::npos);
}

}  // namespace

std::string WithAlternativeText(std::string svg, const std::string& name, const std::string& description) {
  svg = Renumbered(Renumbered(svg, "surface"), "image");
  const std::size_t root = svg.find("<svg ");
  const std::size_t end = root == std::string::npos ? root : svg.find('>', root);
  if (end == std::string::npos) return svg;
  svg.insert(end + 1, "\n<title>" + Escaped(name) + "</title>\n<desc>" + Escaped(description) + "</desc>");
  svg.insert(root + 5, "role=\"img\" ");
  return svg;
}

Result<std::string> Render(const Picture& picture, Format format) {
  const Canvas measure(Format::png, 1, 1);
  const Layout layout = Arrange(picture, measure);
  Canvas canvas(format, layout.width, layout.height);
  for (std::size_t i = 0; i < layout.panels.size(); ++i) PaintPanel(picture, layout, i, canvas);
  for (std::size_t i = 0; i < layout.sheets.size(); ++i)
    PaintSheet(picture.sheets[i], layout.sheets[i], picture.badge, canvas);
  PaintLegend(layout, picture.marks, canvas);
  PaintTexts(layout, canvas);
  RETORT_ASSIGN_OR_RETURN(std::string bytes, canvas.Finish());
  return format == Format::svg ? WithAlternativeText(std::move(bytes), picture.name, picture.description) : bytes;
}

}  // namespace retort::orchestrator::plot
