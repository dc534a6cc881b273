#include "orchestrator/plot/painters.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace retort::orchestrator::plot {
namespace {

// Shades of grey of one image and of several side by side, white lines between them.
std::vector<std::uint8_t> SheetPixels(const Sheet& sheet, const PlacedSheet& placed, int& width, int& height) {
  width = static_cast<int>(placed.across * (sheet.width + 1) - 1);
  height = static_cast<int>(placed.down * (sheet.height + 1) - 1);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3, 255);
  const std::int64_t plane = sheet.height * sheet.width;
  for (std::int64_t image = 0; image < sheet.count; ++image) {
    const std::int64_t left = image % placed.across * (sheet.width + 1), top = image / placed.across * (sheet.height + 1);
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
  const Style style = StyleOf(placed.entry.style);
  const Canvas::Path across = {{box.x, y}, {box.right(), y}};
  switch (placed.entry.kind) {
    case LegendEntry::Kind::line:
      if (marks == Marks::bars) {
        canvas.FillRectangle(centre - 6, y - 3.5, 12, 7, style.colour);
        return;
      }
      if (marks != Marks::map)
        canvas.Stroke(across, style.colour, 1.3, DashesOf(static_cast<std::size_t>(style.dash)));
      canvas.Mark(style.marker, centre, y, 2.7, style.colour, false);
      return;
    case LegendEntry::Kind::quoted:
      if (marks == Marks::bars) {
        canvas.StrokeRectangle(centre - 6, y - 3.5, 12, 7, style.colour, 1, {2.5, 1.5});
        return;
      }
      canvas.Stroke(across, style.colour, 0.8, {1, 2.2});
      canvas.Mark(style.marker, centre, y, 3.1, style.colour, true);
      return;
    case LegendEntry::Kind::published:
      canvas.Mark(Marker::circle, centre, y, 3.1, kFaint, true);
      return;
    case LegendEntry::Kind::rule:
      canvas.Stroke(across, kFaint, 1, DashesOf(placed.entry.style + 1));
      return;
    case LegendEntry::Kind::gap:
      canvas.Stroke({{centre - 2.3, y - 2.3}, {centre + 2.3, y + 2.3}}, kFaint, 1.2);
      canvas.Stroke({{centre - 2.3, y + 2.3}, {centre + 2.3, y - 2.3}}, kFaint, 1.2);
      return;
  }
}

Colour InkOf(TextRole role) { return role == TextRole::caption || role == TextRole::note ? kFaint : kInk; }

}  // namespace

Dashes DashesOf(std::size_t number) {
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

void PaintBadge(const std::string& badge, const Box& box, Canvas& canvas) {
  if (badge.empty()) return;
  constexpr double kAngle = std::numbers::pi / 9;
  Font font{10, true};
  font.size *= 0.6 * std::min(box.width, 1.6 * box.height) / std::max(1.0, canvas.Width(badge, font));
  const double half = canvas.Width(badge, font) / 2;
  canvas.Text(badge, box.x + box.width / 2 - half * std::cos(kAngle),
              box.y + box.height / 2 + half * std::sin(kAngle) + 0.3 * font.size, font, kBadge, kAngle);
}

void PaintMissing(const Box& box, Canvas& canvas) {
  canvas.StrokeRectangle(box.x, box.y, box.width, box.height, kFaint, 0.6, {2, 2});
  const Font font{8, false};
  canvas.Text("missing", box.x + (box.width - canvas.Width("missing", font)) / 2, box.y + box.height / 2, font,
              kFaint);
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
    const double above = Ascent(placed.font) + (LineHeight(placed.font) - placed.font.size) / 2;
    const Colour ink = InkOf(placed.role);
    if (placed.turn == Turn::none) {
      canvas.Text(placed.text, box.x, box.y + above, placed.font, ink);
    } else if (placed.turn == Turn::upwards) {
      canvas.Text(placed.text, box.x + above, box.bottom(), placed.font, ink, std::numbers::pi / 2);
    } else {
      constexpr double kSlant = std::numbers::pi / 6;
      const double width = canvas.Width(placed.text, placed.font);
      canvas.Text(placed.text, box.right() - width * std::cos(kSlant),
                  box.y + above + width * std::sin(kSlant), placed.font, ink, kSlant);
    }
  }
}

}  // namespace retort::orchestrator::plot
