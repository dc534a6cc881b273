#include "orchestrator/plot/layout.h"

#include <algorithm>
#include <cmath>

namespace retort::orchestrator::plot {
namespace {

constexpr Font kTitle{10, true}, kPanelTitle{8.5, true}, kAxisLabel{8.5, false}, kTickFont{7.5, false},
    kLegend{8, false}, kNote{6.8, false}, kCaption{6.8, false};
constexpr double kMargin = 10;
constexpr double kTickLength = 3.5, kTickGap = 2.5;
constexpr double kSwatch = 22, kSwatchGap = 4, kEntryGap = 14;
constexpr double kPanelGap = 14;
constexpr double kMapSide = 300;
constexpr double kSlant = 3.14159265358979 / 6;

class Arranger {
 public:
  Arranger(const Chart& chart, const TextMeasure& measure) : chart_(chart), measure_(measure) {}

  Layout Run() {
    layout_.width = PageWidth();
    top_ = kMargin;
    for (const std::string& line : WrapText(chart_.title, kTitle, Inner(), measure_))
      top_ = Put(TextRole::title, line, kTitle, kMargin, top_);
    if (!chart_.title.empty()) top_ += 4;
    PlaceLegend();
    if (chart_.marks == Marks::sheets)
      PlaceSheets();
    else if (chart_.marks == Marks::map)
      PlaceMaps();
    else
      PlacePanels();
    PlaceCaption();
    layout_.height = top_ + kMargin;
    return std::move(layout_);
  }

 private:
  [[nodiscard]] double Inner() const { return layout_.width - 2 * kMargin; }
  [[nodiscard]] double Width(const std::string& text, Font font) const { return measure_.Width(text, font); }

  // A line with its box's corner at (x, y); returns where the next line begins.
  double Put(TextRole role, const std::string& text, Font font, double x, double y) {
    layout_.texts.push_back({role, {x, y, Width(text, font), ComputeLineHeight(font)}, text, font, Turn::none});
    return y + ComputeLineHeight(font);
  }
  double PutCentred(TextRole role, const std::string& text, Font font, double centre, double y) {
    return Put(role, text, font, centre - Width(text, font) / 2, y);
  }

  [[nodiscard]] std::size_t Columns() const {
    const std::size_t panels = std::max<std::size_t>(1, chart_.panels.size());
    return panels == 4 ? 2 : std::min<std::size_t>(panels, 3);
  }

  [[nodiscard]] double PageWidth() const {
    if (chart_.marks == Marks::sheets) return 500;
    std::size_t lines = 1;
    for (const Panel& panel : chart_.panels) lines = std::max(lines, panel.lines.size());
    const double slots = static_cast<double>(chart_.x.categories.size() * Columns());
    const double wanted =
        chart_.marks == Marks::bars ? 70 + slots * (14 + 11 * static_cast<double>(lines)) : 70 + slots * 30;
    return std::clamp(wanted, Columns() == 1 ? 420.0 : 510.0, 860.0);
  }

  void PlaceLegend() {
    const std::vector<LegendEntry> entries = MakeLegend(chart_);
    if (entries.empty()) return;
    double x = kMargin;
    for (const LegendEntry& entry : entries) {
      const std::string label = ShortenText(entry.label, kLegend, Inner() - kSwatch - kSwatchGap, measure_);
      const double width = kSwatch + kSwatchGap + Width(label, kLegend);
      if (x > kMargin && x + width > layout_.width - kMargin) {
        x = kMargin;
        top_ += ComputeLineHeight(kLegend) + 1;
      }
      layout_.legend.push_back({entry, {x, top_, kSwatch, ComputeLineHeight(kLegend)}});
      Put(TextRole::legend, label, kLegend, x + kSwatch + kSwatchGap, top_);
      x += width + kEntryGap;
    }
    top_ += ComputeLineHeight(kLegend) + 6;
  }

  [[nodiscard]] double WidestTick() const {
    double widest = 0;
    for (const Tick& tick : layout_.y.ticks) widest = std::max(widest, Width(tick.label, kTickFont));
    return widest;
  }

  // Squares, in the middle of the page.
  void PlaceMaps() {
    const auto columns = static_cast<double>(Columns());
    const double gaps = kPanelGap * (columns - 1), side = std::min(kMapSide, (Inner() - gaps) / columns);
    layout_.x = layout_.y = MapScale(chart_);
    top_ = PlaceFrames((layout_.width - columns * side - gaps) / 2, side, side) + 2;
  }

  void PlacePanels() {
    const std::size_t columns = Columns();
    const double label = chart_.y.label.empty() ? 0 : ComputeLineHeight(kAxisLabel) + 3;
    // The labels' widths follow from the height of the frame, which follows from its width: one guess is enough.
    const double per_width = columns == 1 ? 0.58 : columns == 2 ? 0.72 : 0.85;
    double frame_width =
        (Inner() - label - 26 - kPanelGap * static_cast<double>(columns - 1)) / static_cast<double>(columns);
    const double frame_height = std::min(260.0, per_width * frame_width);
    layout_.y = MakeVerticalScale(chart_, frame_height, kTickFont);
    const double left = kMargin + label + WidestTick() + kTickLength + kTickGap;
    frame_width =
        (layout_.width - kMargin - left - kPanelGap * static_cast<double>(columns - 1)) / static_cast<double>(columns);
    layout_.x = MakeHorizontalScale(chart_, frame_width, kTickFont, measure_);
    const double first = top_;
    top_ = PlaceFrames(left, frame_width, frame_height) + 2;
    const double centre = left + (layout_.width - kMargin - left) / 2;
    for (const std::string& line : WrapText(chart_.x.label, kAxisLabel, layout_.width - left - kMargin, measure_))
      top_ = PutCentred(TextRole::axis_label, line, kAxisLabel, centre, top_);
    const double bottom = layout_.panels.back().frame.bottom();
    PutYLabel((first + bottom) / 2, bottom - first);
  }

  // Below `top_`, with titles and what stands at the ticks. Returns where they end.
  double PlaceFrames(double left, double frame_width, double frame_height) {
    const std::size_t columns = Columns(), count = chart_.panels.size();
    const bool titled = std::any_of(chart_.panels.begin(), chart_.panels.end(),
                                    [](const Panel& panel) { return !panel.title.empty(); });
    const double first = top_;
    double lowest = top_;
    for (std::size_t i = 0; i < count; ++i) {
      PlacedPanel panel;
      const std::size_t row = i / columns, column = i % columns;
      panel.labelled_y = column == 0;
      panel.labelled_x = i + columns >= count;
      const double title = titled ? ComputeLineHeight(kPanelTitle) + 2 : 0;
      panel.frame = {left + static_cast<double>(column) * (frame_width + kPanelGap),
                     first + title + static_cast<double>(row) * (frame_height + title + kPanelGap), frame_width,
                     frame_height};
      lowest = std::max(lowest, LabelPanel(i, panel));
      layout_.panels.push_back(panel);
    }
    return lowest;
  }

  [[nodiscard]] double HalfTick() const { return ComputeLineHeight(kTickFont) / 2; }

  // Returns where the panel's labels end.
  double LabelPanel(std::size_t index, const PlacedPanel& panel) {
    const Box& frame = panel.frame;
    const std::string& title = chart_.panels[index].title;
    if (!title.empty())
      PutCentred(TextRole::panel_title, ShortenText(title, kPanelTitle, frame.width, measure_), kPanelTitle,
                 frame.x + frame.width / 2, frame.y - ComputeLineHeight(kPanelTitle) - 2);
    if (panel.labelled_y) {
      for (const Tick& tick : layout_.y.ticks) {
        const double width = Width(tick.label, kTickFont);
        Put(TextRole::tick, tick.label, kTickFont, frame.x - kTickLength - kTickGap - width,
            frame.bottom() - layout_.y.At(tick.at) * frame.height - HalfTick());
      }
    }
    if (!panel.labelled_x || layout_.x.ticks.empty()) return frame.bottom();
    const double y = frame.bottom() + kTickLength + kTickGap;
    return chart_.x.categories.empty() ? LabelNumbers(frame, y) : LabelCategories(frame, y);
  }

  double LabelNumbers(const Box& frame, double y) {
    for (const Tick& tick : layout_.x.ticks)
      PutCentred(TextRole::tick, tick.label, kTickFont, frame.x + layout_.x.At(tick.at) * frame.width, y);
    return y + ComputeLineHeight(kTickFont);
  }

  double LabelCategories(const Box& frame, double y) {
    const double slot = frame.width / static_cast<double>(chart_.x.categories.size()) - 4;
    bool fit = true;
    for (const Tick& tick : layout_.x.ticks) {
      const auto lines = WrapText(tick.label, kTickFont, slot, measure_);
      fit = fit && lines.size() <= 3 && std::all_of(lines.begin(), lines.end(), [&](const std::string& line) {
              return Width(line, kTickFont) <= slot;
            });
    }
    double lowest = y;
    for (const Tick& tick : layout_.x.ticks) {
      const double centre = frame.x + layout_.x.At(tick.at) * frame.width;
      if (!fit) {
        lowest = std::max(lowest, PutSlanted(tick.label, centre, y));
        continue;
      }
      double line_y = y;
      for (const std::string& line : WrapText(tick.label, kTickFont, slot, measure_))
        line_y = PutCentred(TextRole::tick, line, kTickFont, centre, line_y);
      lowest = std::max(lowest, line_y);
    }
    return lowest;
  }

  // Ends below `x`; no longer than an inch.
  double PutSlanted(const std::string& label, double x, double y) {
    const std::string text = ShortenText(label, kTickFont, 72, measure_);
    const double width = Width(text, kTickFont), height = ComputeLineHeight(kTickFont);
    const Box box{x + 3 - width * std::cos(kSlant) - height * std::sin(kSlant), y,
                  width * std::cos(kSlant) + height * std::sin(kSlant),
                  width * std::sin(kSlant) + height * std::cos(kSlant)};
    layout_.texts.push_back({TextRole::tick, box, text, kTickFont, Turn::slanted});
    return box.bottom();
  }

  void PutYLabel(double middle, double most) {
    if (chart_.y.label.empty()) return;
    const std::string text = ShortenText(chart_.y.label, kAxisLabel, std::max(most, 60.0), measure_);
    const double width = Width(text, kAxisLabel);
    layout_.texts.push_back({TextRole::axis_label,
                             {kMargin, middle - width / 2, ComputeLineHeight(kAxisLabel), width},
                             text,
                             kAxisLabel,
                             Turn::upwards});
  }

  void PlaceSheets() {
    const std::size_t count = chart_.sheets.size();
    const std::size_t columns =
        std::clamp<std::size_t>(chart_.columns == 0 ? std::min<std::size_t>(count, 4) : chart_.columns, 1, 8);
    const double slot = (Inner() - kPanelGap * static_cast<double>(columns - 1)) / static_cast<double>(columns);
    const double side = std::min(slot, 150.0);
    for (std::size_t i = 0; i < count; i += columns) {
      const std::size_t end = std::min(count, i + columns);
      top_ = PlaceSheetRow(i, end, slot, side) + 8;
    }
  }

  // Titles stand on one line, images below, then notes. Returns where the row ends.
  double PlaceSheetRow(std::size_t begin, std::size_t end, double slot, double side) {
    const double images_y = top_ + TitleLines(begin, end, slot) * ComputeLineHeight(kPanelTitle) + 2;
    double lowest = images_y;
    for (std::size_t i = begin; i < end; ++i) {
      const Sheet& sheet = chart_.sheets[i];
      const double x = kMargin + static_cast<double>(i - begin) * (slot + kPanelGap);
      double y = top_;
      for (const std::string& line : WrapText(sheet.title, kPanelTitle, slot, measure_))
        y = Put(TextRole::panel_title, ShortenText(line, kPanelTitle, slot, measure_), kPanelTitle, x, y);
      PlacedSheet placed;
      while (placed.across * placed.across < sheet.count) ++placed.across;
      placed.down = std::max<std::int64_t>(1, (sheet.count + placed.across - 1) / placed.across);
      const double shape = sheet.width > 0 && sheet.height > 0 ? static_cast<double>(placed.down * sheet.height) /
                                                                     static_cast<double>(placed.across * sheet.width)
                                                               : 1;
      placed.images = {x, images_y, side, side * shape};
      layout_.sheets.push_back(placed);
      y = placed.images.bottom() + 2;
      for (const std::string& note : sheet.notes)
        for (const std::string& line : WrapText(note, kNote, slot, measure_))
          y = Put(TextRole::note, ShortenText(line, kNote, slot, measure_), kNote, x, y);
      lowest = std::max(lowest, y);
    }
    return lowest;
  }

  [[nodiscard]] double TitleLines(std::size_t begin, std::size_t end, double slot) const {
    std::size_t lines = 0;
    for (std::size_t i = begin; i < end; ++i)
      lines = std::max(lines, WrapText(chart_.sheets[i].title, kPanelTitle, slot, measure_).size());
    return static_cast<double>(lines);
  }

  void PlaceCaption() {
    top_ += 6;
    for (const std::string& paragraph : chart_.caption)
      for (const std::string& line : WrapText(paragraph, kCaption, Inner(), measure_))
        top_ = Put(TextRole::caption, ShortenText(line, kCaption, Inner(), measure_), kCaption, kMargin, top_);
  }

  const Chart& chart_;
  const TextMeasure& measure_;
  Layout layout_;
  double top_ = 0;  // what lies above is taken
};

bool Has(const std::vector<LegendEntry>& entries, const LegendEntry& wanted) {
  return std::any_of(entries.begin(), entries.end(), [&wanted](const LegendEntry& entry) {
    return entry.kind == wanted.kind && entry.label == wanted.label;
  });
}

void AddLines(const Chart& chart, std::vector<LegendEntry>& entries) {
  for (const Panel& panel : chart.panels) {
    for (const Line& line : panel.lines) {
      const LegendEntry entry{LegendEntry::Kind::line, line.style, line.label};
      LegendEntry quoted = entry;
      quoted.kind = LegendEntry::Kind::quoted;
      const bool run = !line.points.empty() || !line.gaps.empty();
      const auto earlier = std::find_if(entries.begin(), entries.end(),
                                        [&](const LegendEntry& known) { return known.label == line.label; });
      if (earlier == entries.end())
        entries.push_back(run ? entry : quoted);
      else if (run)
        *earlier = entry;
    }
  }
}

}  // namespace

std::size_t FindRuleNumber(const Chart& chart, const std::string& label) {
  std::vector<std::string> labels;
  for (const Panel& panel : chart.panels)
    for (const Rule& rule : panel.rules)
      if (std::find(labels.begin(), labels.end(), rule.label) == labels.end()) labels.push_back(rule.label);
  return static_cast<std::size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

std::vector<LegendEntry> MakeLegend(const Chart& chart) {
  std::vector<LegendEntry> entries;
  AddLines(chart, entries);
  if (entries.size() == 1 && entries.front().label.empty()) entries.clear();
  bool published = false, gaps = false;
  for (const Panel& panel : chart.panels) {
    for (const Rule& rule : panel.rules) {
      const LegendEntry entry{LegendEntry::Kind::rule, FindRuleNumber(chart, rule.label), rule.label};
      if (!Has(entries, entry)) entries.push_back(entry);
    }
    for (const Line& line : panel.lines) {
      published = published || !line.published.empty();
      gaps = gaps || !line.gaps.empty();
    }
  }
  if (published) entries.push_back({LegendEntry::Kind::published, 0, "published (hollow)"});
  if (gaps) entries.push_back({LegendEntry::Kind::gap, 0, "missing"});
  return entries;
}

Layout Arrange(const Chart& chart, const TextMeasure& measure) { return Arranger(chart, measure).Run(); }

}  // namespace retort::orchestrator::plot
