#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "experiments/base/number_text.h"
#include "experiments/privacy/calculator.h"
#include "experiments/privacy/calculator_rules.h"
#include "experiments/privacy/published_settings.h"
#include "experiments/privacy/statement.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/render/calculator_text.h"
#include "orchestrator/cli/render/json_documents.h"

namespace retort::orchestrator::cli {
namespace {

bool TakesFlag(const CLI::App& command, const std::string& flag) {
  return command.get_option_no_throw(flag) != nullptr;
}

// What the rules of one name are together.
std::string DescribeMechanism(const privacy::MechanismRule& rule) {
  if (rule.name == "paper") return "What a paper's theorem prints, and what really holds";
  if (rule.name == "select") return "The best of K candidates, K drawn at random: tuning that is paid for";
  return std::string(rule.meaning);
}

void AddSelection(CLI::App& mechanism, CommandLine& line, RawWords& words) {
  privacy::Question& question = line.calculator.question;
  mechanism.add_option("--base", question.method, "What one candidate is")->required();
  mechanism.add_option("--distribution", question.distribution,
                       "Of K: poisson, geometric (default), logarithmic, or negative-binomial with --eta");
  mechanism
      .add_option("--candidate", words.candidates,
                  "One candidate by what it has of its own, as noise=30,count=200; once for each. The worst counts")
      ->type_name("NAME=NUMBER,...")
      ->allow_extra_args(false);
}

CLI::App* AddMechanism(CLI::App& command, const privacy::MechanismRule& rule, CommandLine& line, RawWords& words) {
  const std::string name(rule.name);
  CLI::App* mechanism = command.add_subcommand(name, DescribeMechanism(rule))->fallthrough();
  mechanism->callback([&line, name] { line.calculator.question.mechanism = name; });
  if (command.get_name() == "calibrate")
    mechanism->add_option("--epsilon", words.numbers["epsilon"], "ε to be met")->required()->type_name("NUMBER");
  if (name == "select") AddSelection(*mechanism, line, words);
  if (name == "paper") mechanism->add_option("--method", line.calculator.question.method, "Whose formula")->required();
  if (name == "subsampled-gaussian")
    mechanism->add_option("--accountant", line.calculator.question.accountant,
                          "rdp or pld (default: both, and pld to calibrate)");
  return mechanism;
}

// Adds one subcommand for each mechanism, with its options.
void AddMechanisms(CLI::App& command, CommandLine& line, RawWords& words) {
  command.require_subcommand(0, 1);
  command.add_flag("--explain", line.calculator.explain, "Theorem, inputs, and order or bracket of each claim");
  if (command.get_name() == "epsilon")
    command.add_flag("--papers", line.calculator.papers, "Every published setting: formula, claimed, honest");
  for (const privacy::MechanismRule& rule : privacy::ListMechanismRules()) {
    const auto known = command.get_subcommands([&](const CLI::App* one) { return one->get_name() == rule.name; });
    CLI::App* mechanism = known.empty() ? AddMechanism(command, rule, line, words) : known.front();
    for (const privacy::ParameterRule& parameter : rule.parameters) {
      const std::string flag = "--" + std::string(parameter.name);
      if (TakesFlag(*mechanism, flag)) continue;  // shared by several methods
      mechanism->add_option(flag, words.numbers[std::string(parameter.name)], std::string(parameter.meaning))
          ->type_name("NUMBER");
    }
  }
}

}  // namespace

void AddCalculators(CLI::App& app, CommandLine& line, RawWords& words) {
  AddMechanisms(*AddCommand(app, "epsilon", "Accountants as a calculator: every claim of a mechanism"), line, words);
  AddMechanisms(*AddCommand(app, "calibrate", "The least noise or the most releases that meet an epsilon"), line,
                words);
}

namespace {

// The number that `text` is, all of it.
std::optional<double> ParseFiniteNumber(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return value;
}

Diagnostic NoNumber(const std::string& key, const std::string& text) {
  Diagnostic error;
  error.key = key;
  error.message = key + " " + text + " is no number; write it as in 0.5, 100 or 1e-5.";
  return error;
}

// "noise=30,count=200".
void ReadCandidate(const std::string& text, CommandLine& line, std::vector<Diagnostic>& errors) {
  std::map<std::string, double> candidate;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    const std::optional<double> value = equals == std::string::npos || equals == 0
                                            ? std::nullopt
                                            : ParseFiniteNumber(std::string_view(part).substr(equals + 1));
    if (value && candidate.emplace(part.substr(0, equals), *value).second) continue;
    Diagnostic error;
    error.key = "--candidate";
    error.message = "--candidate " + text + ": \"" + part + "\" is not NAME=NUMBER with a name of its own, as in " +
                    "noise=30,count=200.";
    errors.push_back(error);
    return;
  }
  line.calculator.question.candidates.push_back(std::move(candidate));
}

}  // namespace

void ReadCalculator(const RawWords& words, CommandLine& line, std::vector<Diagnostic>& errors) {
  for (const auto& [name, text] : words.numbers) {
    if (text.empty()) continue;
    const std::optional<double> value = ParseFiniteNumber(text);
    if (!value)
      errors.push_back(NoNumber("--" + name, text));
    else if (name == "epsilon")
      line.calculator.epsilon = *value;
    else
      line.calculator.question.values[name] = *value;
  }
  for (const std::string& text : words.candidates) ReadCandidate(text, line, errors);
}

namespace {

using nlohmann::ordered_json;

Status NoMechanism() {
  std::string names;
  for (const std::string& name : privacy::ListMechanismNames()) names += (names.empty() ? "" : ", ") + name;
  return UsageError("Name a mechanism: " + names + ".");
}

// A delta above 1/N would let a mechanism publish some examples whole.
void WarnOfDelta(const Invocation& call, const std::vector<privacy::Answer>& answers) {
  const auto examples = call.line.calculator.question.values.find("examples");
  if (examples == call.line.calculator.question.values.end()) return;
  const std::string warning =
      privacy::FormatDeltaWarning(answers.front().claim, static_cast<std::int64_t>(examples->second));
  if (!warning.empty()) call.console.Message("warning: " + warning);
}

int PapersCommand(const Invocation& call) {
  if (!call.line.calculator.question.mechanism.empty())
    return call.console.Fail(
        UsageError("--papers stands alone; leave out " + call.line.calculator.question.mechanism + "."));
  const std::vector<privacy::PublishedSetting> settings = privacy::ComputePublishedSettings();
  if (call.line.global.json) {
    ordered_json document;
    document["schema_version"] = kSchemaVersion;
    document["settings"] = MakeSettingsJson(settings);
    call.console.Data(FormatDocument(document));
  } else {
    call.console.Text(FormatSettings(settings, call.console.options().width));
  }
  return 0;
}

}  // namespace

int ExecuteEpsilon(const Invocation& call) {
  if (call.line.calculator.papers) return PapersCommand(call);
  if (call.line.calculator.question.mechanism.empty()) return call.console.Fail(NoMechanism());
  const Result<std::vector<privacy::Answer>> answers = privacy::ComputeEpsilon(call.line.calculator.question);
  if (!answers.ok()) return call.console.Fail(answers.status());
  WarnOfDelta(call, *answers);
  if (call.line.global.json) {
    ordered_json document;
    document["schema_version"] = kSchemaVersion;
    AddAnswers(*answers, document);
    call.console.Data(FormatDocument(document));
    return 0;
  }
  call.console.Text(FormatAnswers(*answers, call.line.calculator.explain, call.console.options().width));
  return 0;
}

int ExecuteCalibrate(const Invocation& call) {
  if (call.line.calculator.question.mechanism.empty()) return call.console.Fail(NoMechanism());
  const Result<privacy::Solution> solution =
      privacy::SolveQuestion(call.line.calculator.question, call.line.calculator.epsilon);
  if (!solution.ok()) return call.console.Fail(solution.status());
  WarnOfDelta(call, solution->answers);
  if (call.line.global.json) {
    ordered_json document;
    document["schema_version"] = kSchemaVersion;
    document["parameter"] = solution->parameter;
    document["value"] = solution->value;
    document["more"] = solution->more;
    AddAnswers(solution->answers, document);
    call.console.Data(FormatDocument(document));
    return 0;
  }
  call.console.Text(fmt::format("{} {} {}{}\n\n", solution->parameter, solution->more ? "more than" : "=",
                                FormatExactNumber(solution->value),
                                solution->more ? "; the claims are those of so many" : ""));
  call.console.Text(FormatAnswers(solution->answers, call.line.calculator.explain, call.console.options().width));
  return 0;
}

}  // namespace retort::orchestrator::cli
