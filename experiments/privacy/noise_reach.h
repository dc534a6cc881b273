// What noise gives away because what is drawn has an end.
#pragma once

#include <cstdint>

namespace retort::privacy {

// In deviations: beyond them a draw of a lattice's Gaussian (2^-128 of its radius, lattice_pair.h) and of
// votes' noise (2^-320 of its mass, lattice_gaussian.h) ends the trial instead.
inline constexpr double kGaussianReach = 13.3, kVoteReach = 20;

// The probability that one of `draws` of `coordinates` Gaussians each, whose centre a neighbour moves by
// `shift` deviations in all, lies where the neighbour's cannot: what delta has to have room for. 1 where that
// is not small.
[[nodiscard]] double MissingMass(double draws, double coordinates, double shift, double reach);

}  // namespace retort::privacy
