// A figure as a value: what is drawn, before it is placed. Knows nothing of trials.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace retort::orchestrator::plot {

struct Interval {
  double low = 0, high = 0;
};

struct Point {
  double x = 0;  // on an axis of categories: the index of one
  double y = 0;
  std::optional<Interval> interval = {};  // bar or band around y
  std::vector<double> singles = {};       // the values that y is the mean of, drawn faint
};

// Colour and marker follow from `style`, so that a line looks the same in every panel.
struct Line {
  std::string label;
  std::size_t style = 0;
  std::vector<Point> points;     // by ascending x; on a map in any order
  std::vector<double> gaps;      // x where a point was planned and there is none: the line is broken there
  std::vector<Point> published;  // hollow
};

// A dashed line across the panel.
struct Rule {
  double y = 0;
  std::string label;
};

struct Panel {
  std::string title;
  std::vector<Line> lines;  // on a map none = missing
  std::vector<Rule> rules;
};

struct Axis {
  std::string label;
  bool logarithmic = false;
  std::vector<std::string> categories;  // not empty: an axis of these, at 0, 1, ...
  std::optional<double> least, most;    // values beyond these cannot be, so the axis does not go there
};

// Small images with words above and below.
struct Sheet {
  std::string title;
  std::vector<std::string> notes;  // below, each wrapped
  std::int64_t count = 0, channels = 1, height = 0, width = 0;
  std::vector<std::uint8_t> pixels;  // [count, channels, height, width], 1 channel (grey) or 3
};

enum class Marks : std::uint8_t {
  points,
  bars,
  curves,
  sheets,
  map,  // points alone, in square panels whose axes say nothing; their mean is 0
};

struct Chart {
  Marks marks = Marks::points;
  std::string title;
  Axis x, y;
  std::vector<Panel> panels;         // of all but sheets
  std::vector<Sheet> sheets;         // of sheets
  std::size_t columns = 0;           // of sheets; 0 = as fits
  std::vector<std::string> caption;  // paragraphs
  std::string badge;                 // faint across each panel, as "smoke"
  std::string name, description;     // the SVG's title and alternative text
};

}  // namespace retort::orchestrator::plot
