// Private selection in the calculator: what the best of K candidates costs.
#pragma once

#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/accountants/selection_draws.h"
#include "experiments/privacy/calculator.h"

namespace retort::privacy {

// The distribution of K that `distribution`, draws, eta and gamma say. Error: usage, naming the flag.
[[nodiscard]] Result<DrawLaw> ReadDrawLaw(const Question& question);

// The answers of mechanism "select"; the question passed FindCheckedRule.
[[nodiscard]] Result<std::vector<Answer>> AnswerSelectionQuestion(const Question& question);

}  // namespace retort::privacy
