// Draws on a page with cairo. Colours and markers tell lines apart, also without colour.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "orchestrator/plot/text_measure.h"

namespace retort::orchestrator::plot {

struct Colour {
  double red = 0, green = 0, blue = 0;
};

enum class Marker : std::uint8_t { circle, square, triangle, diamond, inverted, pentagon, cross, star };

// The palette of Okabe and Ito (2008) for all kinds of colour vision, without its yellow, which is faint on white.
inline constexpr std::array kColours = {
    Colour{0.000, 0.447, 0.698},  // blue
    Colour{0.835, 0.369, 0.000},  // vermilion
    Colour{0.000, 0.620, 0.451},  // bluish green
    Colour{0.800, 0.475, 0.655},  // reddish purple
    Colour{0.902, 0.624, 0.000},  // orange
    Colour{0.337, 0.706, 0.914},  // sky blue
    Colour{0.200, 0.200, 0.200},  // near black
};
inline constexpr std::array kMarkers = {Marker::circle,   Marker::square,   Marker::triangle, Marker::diamond,
                                        Marker::inverted, Marker::pentagon, Marker::cross,    Marker::star};

inline constexpr Colour kInk{0.13, 0.13, 0.13};
inline constexpr Colour kFaint{0.45, 0.45, 0.45};
inline constexpr Colour kGrid{0.90, 0.90, 0.90};
inline constexpr Colour kBadge{0.91, 0.91, 0.91};

struct Style {
  Colour colour;
  Marker marker = Marker::circle;
  int dash = 0;  // 0 = solid; what tells the second round of colours apart
};

// 56 styles (7 colours, 8 markers) before one comes again.
[[nodiscard]] constexpr Style FindStyle(std::size_t number) {
  return {kColours[number % kColours.size()], kMarkers[number % kMarkers.size()],
          static_cast<int>(number / kColours.size() % 4)};
}

// What cairo draws on: an SVG, a PNG or a PDF. The only part that includes cairo's headers.

enum class Format : std::uint8_t { svg, png, pdf };

// How every PDF of ours begins: its version, and the comment of bytes above 127 that tells programs that it is binary.
inline constexpr std::string_view kPdfMark = "%PDF-1.5\n%\xD2\xC5\xD4\xCF";

// Pixels of a PNG for one point: 216 dots an inch.
inline constexpr int kPixelsPerPoint = 3;

using Dashes = std::vector<double>;  // lengths on, off, ...; empty = solid

// Lengths in points, y downwards. An error of cairo's is kept and told at the end. Not for several threads.
class Canvas final : public TextMeasure {
 public:
  // `width` and `height` are those of the page, which is white.
  Canvas(Format format, double width, double height);
  ~Canvas() override;
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  [[nodiscard]] double Width(const std::string& text, Font font) const override;

  using Path = std::vector<std::pair<double, double>>;
  void Stroke(const Path& path, Colour colour, double width, const Dashes& dashes = {});
  // `opacity` from 0 to 1.
  void Fill(const Path& path, Colour colour, double opacity = 1);
  void FillRectangle(double x, double y, double width, double height, Colour colour, double opacity = 1);
  void StrokeRectangle(double x, double y, double width, double height, Colour colour, double stroke,
                       const Dashes& dashes = {});
  // Of the given radius about (x, y). Hollow: white inside.
  void DrawMarker(Marker marker, double x, double y, double radius, Colour colour, bool hollow);
  void Dot(double x, double y, double radius, Colour colour, double opacity);
  // The line of text stands on (x, y) and is turned by `angle` radians against the clock about it.
  void Text(const std::string& text, double x, double y, Font font, Colour colour, double angle = 0);
  // `pixels` [height, width, 3], drawn into the rectangle without smoothing.
  void Image(const std::vector<std::uint8_t>& pixels, int pixel_width, int pixel_height, double x, double y,
             double width, double height);

  // Until Unclip nothing is drawn outside of the rectangle.
  void Clip(double x, double y, double width, double height);
  void Unclip();

  // The title of a PDF; nothing in the other formats.
  void SetTitle(const std::string& title);

  // The file's bytes; nothing may be drawn any more. Error: environment, when no font is installed or cairo failed.
  [[nodiscard]] Result<std::string> Finish();

 private:
  struct Surface;
  std::unique_ptr<Surface> surface_;
};

}  // namespace retort::orchestrator::plot
