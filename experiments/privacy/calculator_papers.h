// The papers' mechanisms in the calculator: the printed epsilon beside what each reading really costs.
#pragma once

#include <string>
#include <vector>

#include "experiments/privacy/calculator.h"

namespace retort::privacy {

// The answers of mechanism "paper"; the question passed FindCheckedRule. Error: usage, from the formula.
[[nodiscard]] Result<std::vector<Answer>> AnswerPaperQuestion(const Question& question);

}  // namespace retort::privacy
