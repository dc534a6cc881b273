// The options of `retort epsilon` and `retort calibrate`, made from the rules of the calculator.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "experiments/spec/diagnostic.h"
#include "orchestrator/cli/command_examples.h"
#include "orchestrator/cli/command_line.h"

namespace CLI {
class App;
}

namespace retort::orchestrator::cli {

// Parameters as they were typed, by name; kept until parsing is over.
struct CalculatorWords {
  std::map<std::string, std::string> numbers;
};

// Adds one subcommand for each mechanism, with its options; `line` and `words` outlive parsing.
void AddCalculator(CLI::App& command, CommandLine& line, CalculatorWords& words);

// Numbers into `line`, or an error for each that is none.
void ReadCalculator(const CalculatorWords& words, CommandLine& line, std::vector<Diagnostic>& errors);

// Of a mechanism below one of the two commands, as "epsilon votes"; else none.
[[nodiscard]] std::vector<Example> CalculatorExamples(const std::string& path);

}  // namespace retort::orchestrator::cli
