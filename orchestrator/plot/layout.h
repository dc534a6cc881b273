// Places everything in a chart. All lengths are in points (1/72 inch), y downwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orchestrator/plot/chart.h"
#include "orchestrator/plot/scales.h"
#include "orchestrator/plot/text_measure.h"

namespace retort::orchestrator::plot {

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  [[nodiscard]] double right() const { return x + width; }
  [[nodiscard]] double bottom() const { return y + height; }
  [[nodiscard]] bool Overlaps(const Box& other) const {
    return x < other.right() && other.x < right() && y < other.bottom() && other.y < bottom();
  }
};

enum class TextRole : std::uint8_t { title, legend, panel_title, tick, axis_label, note, caption };
enum class Turn : std::uint8_t { none, upwards, slanted };  // 0, 90 and 30 degrees against the clock

// One line of text. `box` is what it covers; it begins at the box's left end, or, slanted, ends at its top right
// corner.
struct PlacedText {
  TextRole role = TextRole::title;
  Box box;
  std::string text;
  Font font;
  Turn turn = Turn::none;
};

// What a legend explains.
struct LegendEntry {
  enum class Kind : std::uint8_t { line, quoted, published, rule, gap };
  Kind kind = Kind::line;
  std::size_t style = 0;  // of lines; of rules their number
  std::string label;
};
struct PlacedEntry {
  LegendEntry entry;
  Box swatch;
};

struct PlacedPanel {
  Box frame;
  bool labelled_x = true, labelled_y = true;  // false: ticks without labels
};

struct PlacedSheet {
  Box images;
  std::int64_t across = 1, down = 1;
};

struct Layout {
  double width = 0, height = 0;
  std::vector<PlacedText> texts;
  std::vector<PlacedEntry> legend;
  std::vector<PlacedPanel> panels;  // as chart.panels
  std::vector<PlacedSheet> sheets;  // as chart.sheets
  Scale x, y;
};

// The legend's entries in order: lines, rules, then what hollow markers and crosses mean.
[[nodiscard]] std::vector<LegendEntry> MakeLegend(const Chart& chart);
// The number of a rule among those of the chart, by label.
[[nodiscard]] std::size_t FindRuleNumber(const Chart& chart, const std::string& label);

// Nothing overlaps: not the texts each other, the legend or the panels (slanted texts in their boxes excepted).
[[nodiscard]] Layout Arrange(const Chart& chart, const TextMeasure& measure);

}  // namespace retort::orchestrator::plot
