#include "experiments/privacy/noise_reach.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace retort::privacy {
namespace {

double Tail(double deviations) { return std::erfc(deviations / std::numbers::sqrt2) / 2; }

}  // namespace

double MissingMass(double draws, double coordinates, double shift, double reach) {
  // Of shifts of one length, that of one coordinate alone leaves out most: Tail(reach - sqrt(u)) is convex
  // where sqrt(u) (reach - sqrt(u)) > 1. Below that, sqrt(u) < 0.1.
  if (!(shift <= reach - 1)) return 1;
  const double moved = Tail(reach - shift), still = 2 * coordinates * Tail(reach - 0.1);
  return std::min(1.0, draws * (moved + still) * (1 + 1e-9));
}

}  // namespace retort::privacy
