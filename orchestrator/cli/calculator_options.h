// The options of `retort epsilon` and `retort calibrate`, made from the rules of the calculator.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/spec/diagnostic.h"
#include "orchestrator/cli/command_line.h"

namespace CLI {
class App;
}

namespace retort::orchestrator::cli {

// Parameters as they were typed, by name; kept until parsing is over.
struct CalculatorWords {
  std::map<std::string, std::string> numbers;
};

// Adds one subcommand for each mechanism, with its options and an example; `line` and `words` outlive
// parsing.
void AddCalculator(CLI::App& command, CommandLine& line, CalculatorWords& words);

// Numbers into `line`, or an error for each that is none.
void ReadCalculator(const CalculatorWords& words, CommandLine& line, std::vector<Diagnostic>& errors);

// Why the word right after `epsilon` or `calibrate` is no mechanism, when it is a word.
[[nodiscard]] std::optional<Diagnostic> UnknownMechanism(const std::vector<std::string>& arguments);

}  // namespace retort::orchestrator::cli
