// The Laplace mechanism of scale b on a value of sensitivity 1, with its ratio r = sensitivity / b.
#pragma once

namespace retort::privacy {

// delta at epsilon of one release: 1 - e^((epsilon - r)/2), and 0 from r on; exact for epsilon >= 0. 1 out
// of range (ratio <= 0, NaN).
[[nodiscard]] double LaplaceDelta(double ratio, double epsilon);

// The least epsilon at delta in (0, 1) of one release, never below it. Infinity out of range.
[[nodiscard]] double LaplaceEpsilon(double ratio, double delta);

// RDP of one release at an order > 1 [Mironov 2017, proposition 6]. Infinity out of range.
[[nodiscard]] double LaplaceRdp(double ratio, double order);

}  // namespace retort::privacy
