#include "orchestrator/cli/calculator_options.h"

#include <CLI/CLI.hpp>
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

std::vector<Example> CalculatorExamples(const std::string& path) {
  std::vector<Example> examples;
  for (const std::string command : {"epsilon", "calibrate"})
    for (const privacy::MechanismRule& rule : privacy::MechanismRules())
      if (path == command + " " + std::string(rule.name))
        examples.push_back({ExampleOf(rule, command), std::string(rule.meaning)});
  return examples;
}

}  // namespace retort::orchestrator::cli
