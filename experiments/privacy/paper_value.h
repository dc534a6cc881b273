// The paper's formula at the parameters of a trial.
#pragma once

#include <limits>
#include <string>

#include "experiments/spec/trial_spec.h"

namespace retort::privacy {

struct PaperValue {
  std::string accountant;  // "paper:dpdfd-thm3", ...
  double epsilon = std::numeric_limits<double>::infinity();  // infinity where the formula is undefined
  bool given = false;      // epsilon is a parameter of the trial, not computed
  std::string terms;       // what was put in, in words
};

// DPDFD theorem 3 and DPSD theorem 1 for gradients and their sound forms, epsilon of one label for responses,
// RONA's for queries.
[[nodiscard]] PaperValue PaperFormulaOf(const TrialSpec& spec);

}  // namespace retort::privacy
