#include "orchestrator/cli/calculator_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <system_error>

#include "experiments/privacy/calculator_rules.h"

namespace retort::orchestrator::cli {
namespace {

bool Takes(const CLI::App& command, const std::string& flag) {
  return command.get_option_no_throw(flag) != nullptr;
}

// The rule's example for one of the two commands.
std::string ExampleOf(const privacy::MechanismRule& rule, const std::string& command) {
  std::string example = "retort " + command + " " + std::string(rule.name) + " " + std::string(rule.example);
  if (command == "epsilon") return example;
  const std::string gone = " --" + std::string(rule.solvable.front()) + " ";
  const std::size_t at = example.find(gone);
  return example.replace(at, example.find(' ', at + gone.size()) - at, " --epsilon 1");
}

CLI::App* AddMechanism(CLI::App& command, const privacy::MechanismRule& rule, CommandLine& line,
                       CalculatorWords& words) {
  const std::string name(rule.name);
  const std::string meaning(rule.method.empty() ? rule.meaning
                                                : "What a paper's theorem prints, and what really holds");
  CLI::App* mechanism = command.add_subcommand(name, meaning)->fallthrough();
  mechanism->callback([&line, name] { line.question.mechanism = name; });
  mechanism->footer("\nExample:");
  if (command.get_name() == "calibrate")
    mechanism->add_option("--epsilon", words.numbers["epsilon"], "ε to be met")
        ->required()
        ->type_name("NUMBER");
  if (!rule.method.empty())
    mechanism->add_option("--method", line.question.method, "Whose formula")->required();
  if (name == "subsampled-gaussian")
    mechanism->add_option("--accountant", line.question.accountant,
                          "rdp or pld (default: both, and pld to calibrate)");
  return mechanism;
}

}  // namespace

void AddCalculator(CLI::App& command, CommandLine& line, CalculatorWords& words) {
  command.require_subcommand(0, 1);
  command.add_flag("--explain", line.explain, "Theorem, inputs, and order or bracket of each claim");
  if (command.get_name() == "epsilon")
    command.add_flag("--papers", line.papers, "Every published setting: formula, claimed, honest");
  for (const privacy::MechanismRule& rule : privacy::MechanismRules()) {
    const auto known =
        command.get_subcommands([&](const CLI::App* one) { return one->get_name() == rule.name; });
    CLI::App* mechanism = known.empty() ? AddMechanism(command, rule, line, words) : known.front();
    mechanism->footer(mechanism->get_footer() + "\n  " + ExampleOf(rule, command.get_name()));
    for (const privacy::ParameterRule& parameter : rule.parameters) {
      const std::string flag = "--" + std::string(parameter.name);
      if (Takes(*mechanism, flag)) continue;  // shared by several methods
      mechanism->add_option(flag, words.numbers[std::string(parameter.name)], std::string(parameter.meaning))
          ->type_name("NUMBER");
    }
  }
}

void ReadCalculator(const CalculatorWords& words, CommandLine& line, std::vector<Diagnostic>& errors) {
  for (const auto& [name, text] : words.numbers) {
    if (text.empty()) continue;
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, value);
    if (failure != std::errc() || stop != end) {
      Diagnostic error;
      error.key = "--" + name;
      error.message = error.key + " " + text + " is no number; write it as in 0.5, 100 or 1e-5.";
      errors.push_back(error);
    } else if (name == "epsilon") {
      line.epsilon = value;
    } else {
      line.question.values[name] = value;
    }
  }
}

std::optional<Diagnostic> UnknownMechanism(const std::vector<std::string>& arguments) {
  auto command = arguments.begin();
  while (command != arguments.end() && command->starts_with('-')) {
    const bool valued = *command == "--results" || *command == "--profile";
    command += valued && command + 1 != arguments.end() ? 2 : 1;
  }
  if (command == arguments.end() || command + 1 == arguments.end()) return std::nullopt;
  if (*command != "epsilon" && *command != "calibrate") return std::nullopt;
  const std::string& word = *(command + 1);
  const std::vector<std::string> names = privacy::MechanismNames();
  if (word.starts_with('-') || std::find(names.begin(), names.end(), word) != names.end())
    return std::nullopt;
  Diagnostic error;
  error.key = word;
  error.message = "there is no mechanism `" + word + "`.";
  error.choices = NearestFirst(word, names);
  return error;
}

}  // namespace retort::orchestrator::cli
