// Colours and markers that tell lines apart, also without colour.
#pragma once

#include <array>
#include <cstdint>

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
inline constexpr std::array kMarkers = {Marker::circle,   Marker::square, Marker::triangle, Marker::diamond,
                                        Marker::inverted, Marker::pentagon, Marker::cross,  Marker::star};

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
[[nodiscard]] constexpr Style StyleOf(std::size_t number) {
  return {kColours[number % kColours.size()], kMarkers[number % kMarkers.size()],
          static_cast<int>(number / kColours.size() % 4)};
}

}  // namespace retort::orchestrator::plot
