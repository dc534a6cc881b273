// Accountants as a calculator: claims from a mechanism's parameters alone.
#pragma once

#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/calculator_rules.h"
#include "experiments/privacy/claim.h"

namespace retort::privacy {

struct Answer {
  Claim claim;           // epsilon rounded up to thousandths, lower down
  std::string variant;   // which form of the mechanism it is about; empty = there is one
  std::string theorem;   // with its source
  std::string inputs;    // what went into it
  std::string detail;    // the order, the bracket, or why there is no bound
  double unrounded = 0;  // the bound before it is rounded to thousandths
};

// Every claim that the parameters allow. Error: usage, as FindCheckedRule.
[[nodiscard]] Result<std::vector<Answer>> ComputeEpsilon(const Question& question);

struct Solution {
  std::string parameter;        // what was solved for
  double value = 0;             // noise up to nine digits, counts down
  bool more = false;            // of counts: the value is the largest that is tried, and more would do
  std::vector<Answer> answers;  // claims there; the first meets epsilon
};

// The one parameter of the rule's `solvable` that the question leaves out, so that the first claim of
// ComputeEpsilon is at most epsilon: the least noise, or the most releases. Error: usage, naming what to leave
// out, or why no value meets it.
[[nodiscard]] Result<Solution> SolveQuestion(const Question& question, double epsilon);

}  // namespace retort::privacy
