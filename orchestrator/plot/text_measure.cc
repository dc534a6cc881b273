#include "orchestrator/plot/text_measure.h"

namespace retort::orchestrator::plot {

std::vector<std::string> WrapText(const std::string& text, Font font, double width, const TextMeasure& measure) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const std::string longer = line.empty() ? word : line + " " + word;
    if (!line.empty() && measure.Width(longer, font) > width) {
      lines.push_back(std::move(line));
      line = word;
    } else {
      line = longer;
    }
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string ShortenText(const std::string& text, Font font, double width, const TextMeasure& measure) {
  if (measure.Width(text, font) <= width) return text;
  std::string kept = text;
  while (!kept.empty() && measure.Width(kept + "…", font) > width) {
    // A whole code point goes.
    while (kept.size() > 1 && (static_cast<unsigned char>(kept.back()) & 0xC0U) == 0x80U) kept.pop_back();
    kept.pop_back();
  }
  return kept + "…";
}

}  // namespace retort::orchestrator::plot
