// The papers' mechanisms in the calculator: the printed epsilon beside what each reading really costs.
#pragma once

#include <string>
#include <vector>

#include "experiments/privacy/calculator.h"

namespace retort::privacy {

// The answers of mechanism "paper"; the question passed CheckedRule. Error: usage, from the formula.
[[nodiscard]] Result<std::vector<Answer>> PaperAnswers(const Question& question);

}  // namespace retort::privacy
