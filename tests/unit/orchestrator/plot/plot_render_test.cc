#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "orchestrator/plot/canvas.h"
#include "orchestrator/plot/layout.h"
#include "orchestrator/plot/render.h"
#include "storage/images/image_decoder.h"

namespace retort::orchestrator::plot {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Chart Sample() {
  Chart chart;
  chart.x = {"noise scale σ", true, {}, {}, {}};
  chart.y = {"test accuracy (%)", false, {}, 0, 100};
  chart.name = "a figure";
  chart.description = "90 < 91 & \"more\"";
  Line line{"dpdfd", 0, {}, {}, {}};
  for (const double x : {20.0, 50.0, 100.0})
    line.points.push_back({x, 80 + x / 20, Interval{78 + x / 20, 82 + x / 20}, {}});
  line.published = {{50, 95}};
  chart.panels = {{"", {line}, {}}};
  return chart;
}

storage::DecodedImage Decoded(const Chart& chart) {
  const Result<std::string> png = Render(chart, Format::png);
  EXPECT_TRUE(png.ok()) << png.status().message();
  Result<storage::DecodedImage> decoded = storage::DecodeImage("figure", png.ok() ? *png : "");
  EXPECT_TRUE(decoded.ok()) << decoded.status().message();
  return decoded.ok() ? *decoded : storage::DecodedImage{};
}

// How many pixels have this colour, within a step of 256.
std::size_t Count(const storage::DecodedImage& chart, Colour colour) {
  const auto close = [](std::uint8_t byte, double value) { return std::abs(byte - 255 * value) < 1.5; };
  std::size_t count = 0;
  for (std::int64_t i = 0; i < chart.region.height * chart.region.width; ++i) {
    const std::uint8_t* pixel = chart.rgb.data() + 3 * i;
    if (close(pixel[0], colour.red) && close(pixel[1], colour.green) && close(pixel[2], colour.blue)) ++count;
  }
  return count;
}

TEST(PlotRender, APngDecodesToThePageAtItsResolution) {
  const Chart chart = Sample();
  const Canvas measure(Format::png, 1, 1);
  const Layout layout = Arrange(chart, measure);
  const storage::DecodedImage decoded = Decoded(chart);
  EXPECT_EQ(decoded.whole.width, std::ceil(layout.width * kPixelsPerPoint));
  EXPECT_EQ(decoded.whole.height, std::ceil(layout.height * kPixelsPerPoint));
}

TEST(PlotRender, SameFigureGivesTheSameBytes) {
  for (const Format format : {Format::svg, Format::png, Format::pdf}) {
    const Result<std::string> first = Render(Sample(), format);
    Chart other = Sample();
    other.title = "another";
    ASSERT_TRUE(Render(other, format).ok());
    const Result<std::string> again = Render(Sample(), format);
    ASSERT_TRUE(first.ok() && again.ok());
    EXPECT_EQ(*first, *again);
  }
}

TEST(PlotRender, AnSvgCarriesItsTextForThoseWhoCannotSeeIt) {
  const Result<std::string> svg = Render(Sample(), Format::svg);
  ASSERT_TRUE(svg.ok());
  EXPECT_THAT(*svg, HasSubstr("<title>a figure</title>"));
  EXPECT_THAT(*svg, HasSubstr("<desc>90 &lt; 91 &amp; &quot;more&quot;</desc>"));
  EXPECT_THAT(*svg, HasSubstr("<svg role=\"img\" "));
  EXPECT_LT(svg->find("<svg "), svg->find("<title>"));
  EXPECT_THAT(*svg, Not(HasSubstr("<date")));
}

TEST(PlotRender, APdfIsMarkedAsOursAndHasNoDate) {
  const Result<std::string> pdf = Render(Sample(), Format::pdf);
  ASSERT_TRUE(pdf.ok()) << pdf.status().message();
  EXPECT_TRUE(pdf->starts_with(kPdfMark));
  EXPECT_THAT(*pdf, HasSubstr("%%EOF"));
  EXPECT_THAT(*pdf, HasSubstr("a figure"));
  EXPECT_THAT(*pdf, Not(HasSubstr("CreationDate")));
  // Where the table of objects begins, by the file's last lines: nothing was moved.
  const std::size_t said = pdf->rfind("startxref\n");
  ASSERT_NE(said, std::string::npos);
  const std::size_t at = std::stoul(pdf->substr(said + 10));
  ASSERT_LT(at, pdf->size());
  EXPECT_TRUE(pdf->substr(at).starts_with("xref") || pdf->substr(at, 40).find(" obj") != std::string::npos);
}

TEST(PlotRender, MeasuredPointsAreFilledAndPublishedOnesHollow) {
  Chart chart = Sample();
  chart.panels[0].lines[0].published.clear();
  for (Point& point : chart.panels[0].lines[0].points) point.interval.reset();
  const Colour blue = FindStyle(0).colour;
  const std::size_t filled = Count(Decoded(chart), blue);
  chart.panels[0].lines[0].published = chart.panels[0].lines[0].points;
  chart.panels[0].lines[0].points.clear();
  const std::size_t hollow = Count(Decoded(chart), blue);
  EXPECT_GT(hollow, 0U);
  EXPECT_GT(filled, 2 * hollow);
}

TEST(PlotRender, ALineIsBrokenAtAMissingPoint) {
  Chart chart = Sample();
  Line& line = chart.panels[0].lines[0];
  line.published.clear();
  for (Point& point : line.points) point.interval.reset();
  line.points = {{20, 80, {}, {}}, {500, 80, {}, {}}};
  const std::size_t whole = Count(Decoded(chart), FindStyle(0).colour);
  line.gaps = {100};
  const std::size_t broken = Count(Decoded(chart), FindStyle(0).colour);
  EXPECT_LT(broken, whole / 2) << "of two markers with a line between them the line is most";
}

TEST(PlotRender, NoLineOfAMapLiesAboveAllOthers) {
  Chart chart;
  chart.marks = Marks::map;
  Line first{"a", 0, {}, {}, {}}, second{"b", 1, {}, {}, {}};
  for (int i = 0; i < 10; ++i) {
    first.points.push_back({0.2 * i - 0.9, 0, {}, {}});
    second.points.push_back({0.9 - 0.2 * i, 0, {}, {}});
  }
  chart.panels = {{"", {first, second}, {}}};
  const storage::DecodedImage decoded = Decoded(chart);
  const auto blue = static_cast<double>(Count(decoded, FindStyle(0).colour));
  const auto vermilion = static_cast<double>(Count(decoded, FindStyle(1).colour));
  EXPECT_GT(blue, 0.5 * vermilion);
  EXPECT_GT(vermilion, 0.5 * blue);
}

TEST(PlotRender, SmokeIsWrittenAcrossThePanel) {
  Chart chart = Sample();
  const std::size_t without = Count(Decoded(chart), kBadge);
  chart.badge = "smoke";
  EXPECT_GT(Count(Decoded(chart), kBadge), without + 5000);
}

TEST(PlotRender, PixelsOfSamplesAreThePicturesOwn) {
  Chart chart;
  chart.marks = Marks::sheets;
  Sheet sheet{"ε = 1", {}, 1, 3, 1, 2, {255, 0, 0, 255, 0, 0}};  // red, then green
  chart.sheets = {sheet};
  const storage::DecodedImage decoded = Decoded(chart);
  const std::size_t red = Count(decoded, {1, 0, 0}), green = Count(decoded, {0, 1, 0});
  EXPECT_GT(red, 10000U);
  EXPECT_EQ(red, green);
}

TEST(PlotRender, EveryKindOfPictureIsDrawn) {
  for (const Marks marks : {Marks::points, Marks::bars, Marks::curves, Marks::map}) {
    Chart chart = Sample();
    chart.marks = marks;
    if (marks == Marks::bars) {
      chart.x.categories = {"a", "b", "c"};
      for (std::size_t i = 0; i < 3; ++i) chart.panels[0].lines[0].points[i].x = static_cast<double>(i);
      chart.panels[0].lines[0].published.clear();
    }
    EXPECT_GT(Count(Decoded(chart), FindStyle(0).colour), 300U);
  }
}

TEST(PlotPalette, NoTwoOfFiftySixStylesAreAlike) {
  std::set<std::tuple<double, double, int>> seen;
  for (std::size_t i = 0; i < 56; ++i) {
    const Style style = FindStyle(i);
    EXPECT_TRUE(
        seen.emplace(style.colour.red * 10 + style.colour.green, style.colour.blue, static_cast<int>(style.marker))
            .second)
        << i;
  }
}

}  // namespace
}  // namespace retort::orchestrator::plot
