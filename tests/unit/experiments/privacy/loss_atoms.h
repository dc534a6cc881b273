// What a loss on a grid says, for tests of the grids.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "experiments/privacy/accountants/loss_grid.h"

namespace retort::privacy {

// delta of the atoms at epsilon, each loss moved by `shift`.
inline double ComputeAtomsDelta(const std::vector<LossAtom>& atoms, double spacing, double shift, double epsilon) {
  double delta = 0;
  for (const LossAtom& atom : atoms) {
    const double loss = static_cast<double>(atom.index) * spacing + shift;
    if (loss > epsilon) delta -= atom.mass * std::expm1(epsilon - loss);
  }
  return delta;
}

}  // namespace retort::privacy
