#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/plot/layout.h"

namespace retort::orchestrator::plot {
namespace {

using ::testing::ElementsAre;

// Every character as wide as half its height.
class EvenMeasure final : public TextMeasure {
 public:
  [[nodiscard]] double Width(const std::string& text, Font font) const override {
    double characters = 0;
    for (const char c : text)
      if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) ++characters;
    return 0.5 * font.size * characters;
  }
};

Line LineAt(const std::string& label, std::size_t style, double y) {
  Line line{label, style, {}, {}, {}};
  for (const double x : {20.0, 50.0, 100.0, 200.0, 500.0}) {
    Point point{x, y + x / 50};
    point.interval = Interval{point.y - 2, point.y + 2};
    line.points.push_back(point);
  }
  return line;
}

Chart PointChart(std::size_t panels, std::size_t lines) {
  Chart chart;
  chart.title = "Accuracy against the noise scale";
  chart.x.label = "noise scale σ";
  chart.y.label = "test accuracy (%)";
  for (std::size_t p = 0; p < panels; ++p) {
    chart.panels.push_back({panels > 1 ? "panel " + std::to_string(p) : "", {}, {{99, "teacher single"}}});
    for (std::size_t i = 0; i < lines; ++i)
      chart.panels.back().lines.push_back(
          LineAt("method number " + std::to_string(i), i, 60 + 4 * static_cast<double>(i)));
  }
  chart.panels.front().lines.front().gaps = {70};
  chart.panels.front().lines.front().published = {{50, 90}};
  chart.caption = {"Means of three seeds; bars: 95 % interval of the mean (Student t).",
                   "A second paragraph that is long enough to be broken into two lines, because it says what every "
                   "series claims and with which adjacency, neighbours, delta and status it does."};
  return chart;
}

std::string Name(const PlacedText& text) { return "\"" + text.text + "\""; }

// Nothing of the layout overlaps anything else, or leaves the page.
void ExpectTidy(const Layout& layout) {
  struct Item {
    std::string name;
    Box box;
  };
  std::vector<Item> items;
  for (const PlacedText& text : layout.texts)
    if (text.turn != Turn::slanted) items.push_back({Name(text), text.box});
  for (const PlacedEntry& entry : layout.legend) items.push_back({"swatch of " + entry.entry.label, entry.swatch});
  for (const PlacedPanel& panel : layout.panels) items.push_back({"panel", panel.frame});
  for (const PlacedSheet& sheet : layout.sheets) items.push_back({"sheet", sheet.images});
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_GE(items[i].box.x, 0) << items[i].name;
    EXPECT_GE(items[i].box.y, 0) << items[i].name;
    EXPECT_LE(items[i].box.right(), layout.width) << items[i].name;
    EXPECT_LE(items[i].box.bottom(), layout.height) << items[i].name;
    for (std::size_t k = i + 1; k < items.size(); ++k)
      EXPECT_FALSE(items[i].box.Overlaps(items[k].box)) << items[i].name << " and " << items[k].name;
  }
}

TEST(PlotLayout, NothingOverlapsWhateverTheNumberOfPanelsAndLines) {
  for (const std::size_t panels : {1U, 2U, 3U, 4U, 5U, 7U})
    for (const std::size_t lines : {1U, 3U, 9U}) {
      SCOPED_TRACE(std::to_string(panels) + " panels, " + std::to_string(lines) + " lines");
      ExpectTidy(Arrange(PointChart(panels, lines), EvenMeasure()));
    }
}

TEST(PlotLayout, LegendStandsAboveThePanels) {
  const Layout layout = Arrange(PointChart(2, 6), EvenMeasure());
  ASSERT_EQ(layout.legend.size(), 9U) << "six lines, a rule, published, missing";
  for (const PlacedEntry& entry : layout.legend)
    for (const PlacedPanel& panel : layout.panels) EXPECT_LE(entry.swatch.bottom(), panel.frame.y);
}

TEST(PlotLayout, LegendExplainsOnlyMarkersThatOccur) {
  Chart chart = PointChart(1, 2);
  const auto kinds = [](const Chart& of) {
    std::vector<LegendEntry::Kind> all;
    for (const LegendEntry& entry : MakeLegend(of)) all.push_back(entry.kind);
    return all;
  };
  using enum LegendEntry::Kind;
  EXPECT_THAT(kinds(chart), ElementsAre(line, line, rule, published, gap));
  chart.panels[0].lines[0].gaps.clear();
  chart.panels[0].lines[0].published.clear();
  chart.panels[0].lines[1].published = chart.panels[0].lines[1].points;
  chart.panels[0].lines[1].points.clear();
  EXPECT_THAT(kinds(chart), ElementsAre(line, quoted, rule, published));
}

TEST(PlotLayout, LongCategoriesAreBrokenOrSlanted) {
  Chart chart = PointChart(1, 2);
  chart.marks = Marks::bars;
  chart.x.categories = {"k-centre", "random of the public part", "margin", "diverse", "averyveryverylongwordindeed"};
  for (Line& line : chart.panels[0].lines) {
    double at = 0;
    for (Point& point : line.points) point.x = at++;
    line.published.clear();
    line.gaps.clear();
  }
  const Layout layout = Arrange(chart, EvenMeasure());
  ExpectTidy(layout);
  bool slanted = false;
  for (const PlacedText& text : layout.texts) slanted = slanted || text.turn == Turn::slanted;
  EXPECT_TRUE(slanted);
  chart.x.categories.back() = "several short words";
  for (const PlacedText& text : Arrange(chart, EvenMeasure()).texts) EXPECT_NE(text.turn, Turn::slanted);
}

TEST(PlotLayout, SheetsStandInTheirColumns) {
  Chart chart;
  chart.marks = Marks::sheets;
  chart.columns = 3;
  for (int i = 0; i < 6; ++i) {
    Sheet sheet{"ε = " + std::to_string(i) + " (the paper's formula †, no guarantee)",
                {"a note that is long enough to wrap"},
                36,
                1,
                28,
                28,
                {}};
    chart.sheets.push_back(sheet);
  }
  const Layout layout = Arrange(chart, EvenMeasure());
  ExpectTidy(layout);
  ASSERT_EQ(layout.sheets.size(), 6U);
  EXPECT_EQ(layout.sheets[0].across, 6);
  EXPECT_EQ(layout.sheets[0].images.x, layout.sheets[3].images.x);
  EXPECT_EQ(layout.sheets[0].images.y, layout.sheets[2].images.y);
  EXPECT_GT(layout.sheets[3].images.y, layout.sheets[0].images.bottom());
}

TEST(PlotLayout, PanelsOfAMapAreSquaresThatShowBothAxesAlike) {
  for (const std::size_t panels : {1U, 2U, 3U, 4U, 7U}) {
    Chart chart = PointChart(panels, 3);
    chart.marks = Marks::map;
    chart.x.label.clear();
    chart.y.label.clear();
    for (Panel& panel : chart.panels) panel.rules.clear();
    const Layout layout = Arrange(chart, EvenMeasure());
    SCOPED_TRACE(std::to_string(panels) + " panels");
    ExpectTidy(layout);
    ASSERT_EQ(layout.panels.size(), panels);
    for (const PlacedPanel& panel : layout.panels) EXPECT_EQ(panel.frame.width, panel.frame.height);
    EXPECT_EQ(layout.x.range.span(), layout.y.range.span());
    EXPECT_TRUE(layout.x.ticks.empty() && layout.y.ticks.empty());
  }
}

TEST(PlotScales, AMapHasZeroInTheMiddleAndEveryPointInside) {
  Chart chart = PointChart(1, 1);
  chart.marks = Marks::map;
  chart.panels[0].lines[0].points = {{-3, 0.5, {}, {}}, {1, 2, {}, {}}};
  const Scale scale = MapScale(chart);
  EXPECT_NEAR(scale.At(0), 0.5, 1e-12);
  EXPECT_GT(scale.At(-3), 0);
  EXPECT_LT(scale.At(3), 1);
  chart.panels[0].lines[0].points = {{0, 0, {}, {}}};
  EXPECT_NEAR(MapScale(chart).At(0), 0.5, 1e-12);
}

TEST(PlotScales, TicksStandAtTheSweptValues) {
  const Chart chart = PointChart(1, 1);
  const Scale scale = MakeHorizontalScale(chart, 380, {7.5, false}, EvenMeasure());
  std::vector<std::string> labels;
  for (const Tick& tick : scale.ticks) labels.push_back(tick.label);
  EXPECT_THAT(labels, ElementsAre("20", "50", "70", "100", "200", "500"));
}

TEST(PlotScales, LabelsThatWouldTouchGiveWay) {
  Chart chart = PointChart(1, 1);
  chart.x.logarithmic = false;
  const Scale scale = MakeHorizontalScale(chart, 90, {7.5, false}, EvenMeasure());
  EXPECT_LT(scale.ticks.size(), 5U);
  EXPECT_GE(scale.ticks.size(), 2U);
}

TEST(PlotScales, PercentNeverLeavesItsBounds) {
  Chart chart = PointChart(1, 1);
  chart.y.least = 0;
  chart.y.most = 100;
  chart.panels[0].lines[0].points[0].interval = Interval{-500, 600};
  const Scale scale = MakeVerticalScale(chart, 200, {7.5, false});
  EXPECT_GE(scale.range.low, 0);
  EXPECT_LE(scale.range.high, 100);
}

TEST(PlotScales, OneLongIntervalDoesNotFlattenTheRest) {
  Chart chart = PointChart(1, 1);
  chart.panels[0].rules.clear();
  for (Point& point : chart.panels[0].lines[0].points) point.interval.reset();
  const double span = MakeVerticalScale(chart, 200, {7.5, false}).range.span();
  chart.panels[0].lines[0].points[0].interval = Interval{-1e6, 1e6};
  EXPECT_LT(MakeVerticalScale(chart, 200, {7.5, false}).range.span(), 3.5 * span);
}

TEST(PlotScales, BarsBeginAtZero) {
  Chart chart = PointChart(1, 1);
  chart.marks = Marks::bars;
  EXPECT_EQ(MakeVerticalScale(chart, 200, {7.5, false}).range.low, 0);
}

TEST(PlotScales, ALogarithmicAxisPlacesDecadesEvenly) {
  Scale scale;
  scale.logarithmic = true;
  scale.range = {1, 1000};
  EXPECT_NEAR(scale.At(1), 0, 1e-12);
  EXPECT_NEAR(scale.At(10), 1.0 / 3, 1e-12);
  EXPECT_NEAR(scale.At(1000), 1, 1e-12);
  EXPECT_LT(scale.At(0), 0);
}

}  // namespace
}  // namespace retort::orchestrator::plot
