// Measures how wide text is, apart from who draws it.
#pragma once

#include <string>
#include <vector>

namespace retort::orchestrator::plot {

struct Font {
  double size = 8;  // points
  bool bold = false;
};

class TextMeasure {
 public:
  virtual ~TextMeasure() = default;
  [[nodiscard]] virtual double Width(const std::string& text, Font font) const = 0;  // points
};

// Of a line of text above and below the line that it stands on, in points.
[[nodiscard]] inline double ComputeAscent(Font font) { return 0.76 * font.size; }
[[nodiscard]] inline double ComputeLineHeight(Font font) { return 1.25 * font.size; }

// Broken at blanks into lines of at most `width`; a longer word has a line of its own.
[[nodiscard]] std::vector<std::string> WrapText(const std::string& text, Font font, double width,
                                                const TextMeasure& measure);
// Cut, with an ellipsis, to at most `width`.
[[nodiscard]] std::string ShortenText(const std::string& text, Font font, double width, const TextMeasure& measure);

}  // namespace retort::orchestrator::plot
