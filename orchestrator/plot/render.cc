#include "orchestrator/plot/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numbers>
#include <set>
#include <string_view>

#include "experiments/base/number_text.h"
#include "orchestrator/plot/canvas.h"
#include "orchestrator/plot/chart.h"
#include "orchestrator/plot/layout.h"

namespace retort::orchestrator::plot {
namespace {

// Of the dashed lines that tell rules, or a second round of colours, apart; empty for 0.
Dashes FindDashes(std::size_t number) {
  switch (number % 4) {
    case 1:
      return {5, 2.5};
    case 2:
      return {5, 2, 1, 2};
    case 3:
      return {2, 2};
    default:
      return {};
  }
}

// Shades of grey of one image and of several side by side, white lines between them.
std::vector<std::uint8_t> SheetPixels(const Sheet& sheet, const PlacedSheet& placed, int& width, int& height) {
  width = static_cast<int>(placed.across * (sheet.width + 1) - 1);
  height = static_cast<int>(placed.down * (sheet.height + 1) - 1);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3, 255);
  const std::int64_t plane = sheet.height * sheet.width;
  for (std::int64_t image = 0; image < sheet.count; ++image) {
    const std::int64_t left = image % placed.across * (sheet.width + 1),
                       top = image / placed.across * (sheet.height + 1);
    for (std::int64_t y = 0; y < sheet.height; ++y) {
      for (std::int64_t x = 0; x < sheet.width; ++x) {
        const std::int64_t into = ((top + y) * width + left + x) * 3;
        for (std::int64_t colour = 0; colour < 3; ++colour) {
          const std::int64_t channel = sheet.channels == 3 ? colour : 0;
          const std::int64_t from = (image * sheet.channels + channel) * plane + y * sheet.width + x;
          pixels[static_cast<std::size_t>(into + colour)] = sheet.pixels[static_cast<std::size_t>(from)];
        }
      }
    }
  }
  return pixels;
}

void PaintSwatch(const PlacedEntry& placed, Marks marks, Canvas& canvas) {
  const Box& box = placed.swatch;
  const double y = box.y + box.height / 2, centre = box.x + box.width / 2;
  const Style style = FindStyle(placed.entry.style);
  const Canvas::Path across = {{box.x, y}, {box.right(), y}};
  switch (placed.entry.kind) {
    case LegendEntry::Kind::line:
      if (marks == Marks::bars) {
        canvas.FillRectangle(centre - 6, y - 3.5, 12, 7, style.colour);
        return;
      }
      if (marks != Marks::map)
        canvas.Stroke(across, style.colour, 1.3, FindDashes(static_cast<std::size_t>(style.dash)));
      canvas.DrawMarker(style.marker, centre, y, 2.7, style.colour, false);
      return;
    case LegendEntry::Kind::quoted:
      if (marks == Marks::bars) {
        canvas.StrokeRectangle(centre - 6, y - 3.5, 12, 7, style.colour, 1, {2.5, 1.5});
        return;
      }
      canvas.Stroke(across, style.colour, 0.8, {1, 2.2});
      canvas.DrawMarker(style.marker, centre, y, 3.1, style.colour, true);
      return;
    case LegendEntry::Kind::published:
      canvas.DrawMarker(Marker::circle, centre, y, 3.1, kFaint, true);
      return;
    case LegendEntry::Kind::rule:
      canvas.Stroke(across, kFaint, 1, FindDashes(placed.entry.style + 1));
      return;
    case LegendEntry::Kind::gap:
      canvas.Stroke({{centre - 2.3, y - 2.3}, {centre + 2.3, y + 2.3}}, kFaint, 1.2);
      canvas.Stroke({{centre - 2.3, y + 2.3}, {centre + 2.3, y - 2.3}}, kFaint, 1.2);
      return;
  }
}

Colour ChooseInk(TextRole role) { return role == TextRole::caption || role == TextRole::note ? kFaint : kInk; }

// Faint and large across a box.
void PaintBadge(const std::string& badge, const Box& box, Canvas& canvas) {
  if (badge.empty()) return;
  constexpr double kAngle = std::numbers::pi / 9;
  Font font{10, true};
  font.size *= 0.6 * std::min(box.width, 1.6 * box.height) / std::max(1.0, canvas.Width(badge, font));
  const double half = canvas.Width(badge, font) / 2;
  canvas.Text(badge, box.x + box.width / 2 - half * std::cos(kAngle),
              box.y + box.height / 2 + half * std::sin(kAngle) + 0.3 * font.size, font, kBadge, kAngle);
}

// In place of what is not there.
void PaintMissing(const Box& box, Canvas& canvas) {
  canvas.StrokeRectangle(box.x, box.y, box.width, box.height, kFaint, 0.6, {2, 2});
  const Font font{8, false};
  canvas.Text("missing", box.x + (box.width - canvas.Width("missing", font)) / 2, box.y + box.height / 2, font, kFaint);
}

void PaintSheet(const Sheet& sheet, const PlacedSheet& placed, const std::string& badge, Canvas& canvas) {
  const Box& box = placed.images;
  if (sheet.count == 0) return PaintMissing(box, canvas);
  int width = 0, height = 0;
  const std::vector<std::uint8_t> pixels = SheetPixels(sheet, placed, width, height);
  canvas.Image(pixels, width, height, box.x, box.y, box.width, box.height);
  if (badge.empty()) return;
  const Font font{6.5, true};
  const double wide = canvas.Width(badge, font) + 5;
  canvas.FillRectangle(box.right() - wide, box.bottom() - 9, wide, 9, {1, 1, 1}, 0.85);
  canvas.Text(badge, box.right() - wide + 2.5, box.bottom() - 2.3, font, kInk);
}

void PaintLegend(const Layout& layout, Marks marks, Canvas& canvas) {
  for (const PlacedEntry& entry : layout.legend) PaintSwatch(entry, marks, canvas);
}

void PaintTexts(const Layout& layout, Canvas& canvas) {
  for (const PlacedText& placed : layout.texts) {
    const Box& box = placed.box;
    const double above = ComputeAscent(placed.font) + (ComputeLineHeight(placed.font) - placed.font.size) / 2;
    const Colour ink = ChooseInk(placed.role);
    if (placed.turn == Turn::none) {
      canvas.Text(placed.text, box.x, box.y + above, placed.font, ink);
    } else if (placed.turn == Turn::upwards) {
      canvas.Text(placed.text, box.x + above, box.bottom(), placed.font, ink, std::numbers::pi / 2);
    } else {
      constexpr double kTextSlant = std::numbers::pi / 6;
      const double width = canvas.Width(placed.text, placed.font);
      canvas.Text(placed.text, box.right() - width * std::cos(kTextSlant), box.y + above + width * std::sin(kTextSlant),
                  placed.font, ink, kTextSlant);
    }
  }
}

constexpr double kMarker = 2.7, kHollow = 3.3, kMapMarker = 2.1;  // radii
constexpr double kLineWidth = 1.3, kThin = 0.8;
constexpr double kCap = 2.4;           // half a cap of an interval
constexpr double kBetweenLines = 3.2;  // sideways, so that intervals at one x stay apart
constexpr double kBeside = 2.6;        // of single values, from the interval
constexpr std::size_t kMaxValuesOnBars = 16;
constexpr Font kValueFont{6.5, false};

class PanelPainter {
 public:
  PanelPainter(const Chart& chart, const Layout& layout, std::size_t panel, Canvas& canvas)
      : chart_(chart),
        layout_(layout),
        panel_(chart.panels[panel]),
        placed_(layout.panels[panel]),
        frame_(placed_.frame),
        canvas_(canvas) {}

  void Paint() {
    if (chart_.marks == Marks::map && panel_.lines.empty()) return PaintMissing(frame_, canvas_);
    PaintBadge(chart_.badge, frame_, canvas_);
    if (chart_.marks == Marks::map) return PaintMap();
    PaintGrid();
    canvas_.Clip(frame_.x, frame_.y, frame_.width, frame_.height);
    for (const Rule& rule : panel_.rules) PaintRule(rule);
    if (chart_.marks == Marks::bars)
      PaintBars();
    else
      for (std::size_t i = 0; i < panel_.lines.size(); ++i) PaintUnderLine(i);
    if (chart_.marks != Marks::bars)
      for (std::size_t i = 0; i < panel_.lines.size(); ++i) PaintLine(i);
    canvas_.Unclip();
    PaintAxes();
  }

 private:
  [[nodiscard]] double X(double value) const { return frame_.x + layout_.x.At(value) * frame_.width; }
  [[nodiscard]] double Y(double value) const { return frame_.bottom() - layout_.y.At(value) * frame_.height; }
  [[nodiscard]] bool Shown(double x) const { return layout_.x.At(x) > -1e-6 && layout_.x.At(x) < 1 + 1e-6; }
  [[nodiscard]] bool Categories() const { return !chart_.x.categories.empty(); }

  // In turn one of each line, so that none lies above all others.
  void PaintMap() {
    std::size_t most = 0;
    for (const Line& line : panel_.lines) most = std::max(most, line.points.size());
    for (std::size_t i = 0; i < most; ++i) {
      for (const Line& line : panel_.lines) {
        if (i >= line.points.size()) continue;
        const Style style = FindStyle(line.style);
        canvas_.DrawMarker(style.marker, X(line.points[i].x), Y(line.points[i].y), kMapMarker, style.colour, false);
      }
    }
    canvas_.StrokeRectangle(frame_.x, frame_.y, frame_.width, frame_.height, kFaint, kThin);
  }

  void PaintGrid() {
    for (const Tick& tick : layout_.y.ticks)
      canvas_.Stroke({{frame_.x, Y(tick.at)}, {frame_.right(), Y(tick.at)}}, kGrid, 0.6);
    if (Categories()) return;
    for (const Tick& tick : layout_.x.ticks)
      canvas_.Stroke({{X(tick.at), frame_.y}, {X(tick.at), frame_.bottom()}}, kGrid, 0.6);
  }

  void PaintAxes() {
    for (const Tick& tick : layout_.y.ticks)
      canvas_.Stroke({{frame_.x - 3.5, Y(tick.at)}, {frame_.x, Y(tick.at)}}, kInk, kThin);
    for (const double at : layout_.y.minor) canvas_.Stroke({{frame_.x - 2, Y(at)}, {frame_.x, Y(at)}}, kInk, 0.5);
    if (chart_.marks != Marks::bars)
      for (const Tick& tick : layout_.x.ticks)
        canvas_.Stroke({{X(tick.at), frame_.bottom()}, {X(tick.at), frame_.bottom() + 3.5}}, kInk, kThin);
    for (const double at : layout_.x.minor)
      canvas_.Stroke({{X(at), frame_.bottom()}, {X(at), frame_.bottom() + 2}}, kInk, 0.5);
    canvas_.Stroke({{frame_.x, frame_.y}, {frame_.x, frame_.bottom()}, {frame_.right(), frame_.bottom()}}, kInk, kThin);
  }

  void PaintRule(const Rule& rule) {
    const std::size_t number = FindRuleNumber(chart_, rule.label);
    canvas_.Stroke({{frame_.x, Y(rule.y)}, {frame_.right(), Y(rule.y)}}, kFaint, 1, FindDashes(number + 1));
  }

  // An end that the axis does not reach has no cap.
  void PaintInterval(double x, const Interval& interval, Colour colour) {
    const double low = std::min(Y(std::max(interval.low, layout_.y.range.low)), frame_.bottom());
    const double high = std::max(Y(std::min(interval.high, layout_.y.range.high)), frame_.y);
    canvas_.Stroke({{x, low}, {x, high}}, colour, 1);
    if (interval.low >= layout_.y.range.low) canvas_.Stroke({{x - kCap, low}, {x + kCap, low}}, colour, 1);
    if (interval.high <= layout_.y.range.high) canvas_.Stroke({{x - kCap, high}, {x + kCap, high}}, colour, 1);
  }

  void PaintSingles(double x, const Point& point, Colour colour) {
    for (const double single : point.singles) canvas_.Dot(x + kBeside, Y(single), 1, colour, 0.5);
  }

  void PaintGap(double x, Colour colour) {
    const double y = frame_.bottom() - 5, r = 2.3;
    canvas_.Stroke({{x - r, y - r}, {x + r, y + r}}, colour, 1.2);
    canvas_.Stroke({{x - r, y + r}, {x + r, y - r}}, colour, 1.2);
  }

  // How far to the side the line with this index is drawn.
  [[nodiscard]] double Shift(std::size_t index) const {
    if (chart_.marks == Marks::curves) return 0;
    std::size_t before = 0, all = 0;
    bool intervals = false;
    for (std::size_t i = 0; i < panel_.lines.size(); ++i) {
      const std::vector<Point>& points = panel_.lines[i].points;
      if (points.empty()) continue;
      if (i < index) ++before;
      ++all;
      intervals = intervals || std::any_of(points.begin(), points.end(),
                                           [](const Point& point) { return point.interval.has_value(); });
    }
    const bool apart = all > 1 && (intervals || Categories()) && !panel_.lines[index].points.empty();
    if (!apart) return 0;
    const double step = Categories() ? 8 : std::min(kBetweenLines, 14 / static_cast<double>(all));
    return step * (static_cast<double>(before) - (static_cast<double>(all) - 1) / 2);
  }

  // Between two of which no planned point is missing.
  [[nodiscard]] std::vector<Canvas::Path> Pieces(const Line& line, double shift) const {
    std::vector<Canvas::Path> pieces(1);
    const std::multiset<double> gaps(line.gaps.begin(), line.gaps.end());
    double before = -HUGE_VAL;
    for (const Point& point : line.points) {
      const auto gap = gaps.upper_bound(before);
      if (gap != gaps.end() && *gap < point.x && !pieces.back().empty()) pieces.emplace_back();
      if (Shown(point.x)) pieces.back().emplace_back(X(point.x) + shift, Y(point.y));
      before = point.x;
    }
    return pieces;
  }

  // Bands, intervals and single values: what lines are drawn over.
  void PaintUnderLine(std::size_t index) {
    const Line& line = panel_.lines[index];
    const Colour colour = FindStyle(line.style).colour;
    const double shift = Shift(index);
    if (chart_.marks == Marks::curves) return PaintBand(line, colour);
    for (const Point& point : line.points) {
      if (!Shown(point.x)) continue;
      if (point.interval) PaintInterval(X(point.x) + shift, *point.interval, colour);
      PaintSingles(X(point.x) + shift, point, colour);
    }
  }

  void PaintBand(const Line& line, Colour colour) {
    Canvas::Path path, back;
    for (const Point& point : line.points) {
      if (!point.interval || !Shown(point.x)) continue;
      path.emplace_back(X(point.x), Y(point.interval->low));
      back.emplace_back(X(point.x), Y(point.interval->high));
    }
    path.insert(path.end(), back.rbegin(), back.rend());
    if (path.size() > 2) canvas_.Fill(path, colour, 0.18);
  }

  void PaintLine(std::size_t index) {
    const Line& line = panel_.lines[index];
    const Style style = FindStyle(line.style);
    const double shift = Shift(index);
    if (!Categories()) {
      for (const Canvas::Path& piece : Pieces(line, shift))
        if (piece.size() > 1)
          canvas_.Stroke(piece, style.colour, kLineWidth, FindDashes(static_cast<std::size_t>(style.dash)));
      Canvas::Path published;
      for (const Point& point : line.published)
        if (Shown(point.x)) published.emplace_back(X(point.x), Y(point.y));
      if (published.size() > 1) canvas_.Stroke(published, style.colour, kThin, {1, 2.2});
    }
    if (chart_.marks == Marks::curves)
      MarkCurve(line, style);
    else
      for (const Point& point : line.points)
        if (Shown(point.x))
          canvas_.DrawMarker(style.marker, X(point.x) + shift, Y(point.y), kMarker, style.colour, false);
    for (const Point& point : line.published)
      if (Shown(point.x)) canvas_.DrawMarker(style.marker, X(point.x), Y(point.y), kHollow, style.colour, true);
    for (const double gap : line.gaps)
      if (Shown(gap)) PaintGap(X(gap) + (line.points.empty() ? 0 : shift), style.colour);
  }

  // A few markers along the curve, at other places for each style.
  void MarkCurve(const Line& line, const Style& style) {
    constexpr double kEvery = 60;  // points
    double next = frame_.x + 8 + 11.0 * static_cast<double>(line.style % 5);
    for (const Point& point : line.points) {
      if (!Shown(point.x) || X(point.x) < next) continue;
      canvas_.DrawMarker(style.marker, X(point.x), Y(point.y), 2.3, style.colour, false);
      next = X(point.x) + kEvery;
    }
  }

  void PaintBars() {
    const auto count = static_cast<double>(std::max<std::size_t>(1, panel_.lines.size()));
    const double slot = frame_.width / static_cast<double>(std::max<std::size_t>(1, chart_.x.categories.size()));
    const double width = std::min(0.78 * slot / count, 46.0);
    for (std::size_t i = 0; i < panel_.lines.size(); ++i)
      PaintLineBars(panel_.lines[i], (static_cast<double>(i) - (count - 1) / 2) * width, width);
  }

  void PaintLineBars(const Line& line, double offset, double width) {
    const Style style = FindStyle(line.style);
    const double base = Y(std::max(0.0, layout_.y.range.low)), gap = std::min(1.5, 0.08 * width);
    for (const Point& point : line.points) {
      const double x = X(point.x) + offset, y = Y(point.y);
      canvas_.FillRectangle(x - width / 2 + gap, std::min(y, base), width - 2 * gap, std::abs(base - y), style.colour);
      if (point.interval) PaintInterval(x, *point.interval, kInk);
      PaintSingles(x, point, kInk);
    }
    for (const Point& point : line.published) {
      const double x = X(point.x) + offset, y = Y(point.y);
      const bool beside = std::any_of(line.points.begin(), line.points.end(),
                                      [&point](const Point& measured) { return measured.x == point.x; });
      if (!beside)
        canvas_.StrokeRectangle(x - width / 2 + gap, std::min(y, base), width - 2 * gap, std::abs(base - y),
                                style.colour, 1, {2.5, 1.5});
      canvas_.DrawMarker(style.marker, x, y, kHollow, style.colour, true);
    }
    for (const double at : line.gaps) PaintGap(X(at) + offset, style.colour);
    if (chart_.x.categories.size() * panel_.lines.size() <= kMaxValuesOnBars) PaintValues(line, offset, width);
  }

  // Above the bars, where they fit.
  void PaintValues(const Line& line, double offset, double width) {
    for (const Point& point : line.points) {
      const std::string text =
          std::abs(point.y) < 1000 ? fmt::format("{:.3g}", point.y) : CountText(std::llround(point.y));
      const double wide = canvas_.Width(text, kValueFont);
      double top = point.interval ? std::max(point.y, point.interval->high) : point.y;
      for (const Point& published : line.published)
        if (published.x == point.x) top = std::max(top, published.y);
      const double y = Y(std::min(top, layout_.y.range.high)) - 5;
      if (wide > width + 4 || y - 6 < frame_.y) continue;
      canvas_.Text(text, X(point.x) + offset - wide / 2, y, kValueFont, kInk);
    }
  }

  const Chart& chart_;
  const Layout& layout_;
  const Panel& panel_;
  const PlacedPanel& placed_;
  const Box frame_;
  Canvas& canvas_;
};

// Axes and data of one panel; its texts are the layout's.
void PaintPanel(const Chart& chart, const Layout& layout, std::size_t panel, Canvas& canvas) {
  PanelPainter(chart, layout, panel, canvas).Paint();
}

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

std::string AddAlternativeText(std::string svg, const std::string& name, const std::string& description) {
  svg = Renumbered(Renumbered(svg, "surface"), "image");
  const std::size_t root = svg.find("<svg ");
  const std::size_t end = root == std::string::npos ? root : svg.find('>', root);
  if (end == std::string::npos) return svg;
  svg.insert(end + 1, "\n<title>" + Escaped(name) + "</title>\n<desc>" + Escaped(description) + "</desc>");
  svg.insert(root + 5, "role=\"img\" ");
  return svg;
}

Result<std::string> Render(const Chart& chart, Format format) {
  const Canvas measure(Format::png, 1, 1);
  const Layout layout = Arrange(chart, measure);
  Canvas canvas(format, layout.width, layout.height);
  canvas.SetTitle(chart.name);
  for (std::size_t i = 0; i < layout.panels.size(); ++i) PaintPanel(chart, layout, i, canvas);
  for (std::size_t i = 0; i < layout.sheets.size(); ++i)
    PaintSheet(chart.sheets[i], layout.sheets[i], chart.badge, canvas);
  PaintLegend(layout, chart.marks, canvas);
  PaintTexts(layout, canvas);
  RETORT_ASSIGN_OR_RETURN(std::string bytes, canvas.Finish());
  return format == Format::svg ? AddAlternativeText(std::move(bytes), chart.name, chart.description) : bytes;
}

}  // namespace retort::orchestrator::plot
