#include "orchestrator/cli/commands/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/methods/data_spec.h"
#include "experiments/methods/networks.h"
#include "experiments/privacy/calculator_rules.h"
#include "experiments/sweep/value_reader.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/render/text_table.h"
#include "orchestrator/cli/shell/command_tree.h"
#include "orchestrator/cli/shell/help_text.h"
#include "orchestrator/cli/shell/suggestions.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::string_view kSummary =
    "Retort turns a TOML sweep into trials of private model distillation, runs them on worker processes, and prints "
    "tables in which every epsilon is labelled and true.";

void AddGlobals(CLI::App& app, GlobalOptions& global) {
  app.add_option("--results", global.results,
                 "Results folder (default results/<sweep name>, else the newest in results/)")
      ->type_name("DIR");
  app.add_option("--profile", global.profile, "Overlay [profile.NAME] of the sweep file")->type_name("NAME");
  app.add_flag("--json", global.json, "Exactly one JSON document on stdout");
  app.add_flag("--quiet", global.quiet, "No messages but errors");
  app.add_flag("--no-color", global.no_color, "No colours (also: NO_COLOR)");
}

bool Takes(const CLI::App& command, std::string_view option) {
  return command.get_option_no_throw(std::string(option)) != nullptr;
}

void ReadDuration(const char* flag, const std::string& text, double& seconds, std::vector<Diagnostic>& errors) {
  if (text.empty()) return;
  seconds = ParseDuration(text).value_or(0);
  if (seconds > 0) return;
  Diagnostic error;
  error.message =
      std::string(flag) + " " + text + " is no duration above zero; write a number and a unit, as in 90s, 30m or 2h.";
  error.key = flag;
  errors.push_back(error);
}

// Sorts what followed SWEEP into overrides and the table's name.
void SortWords(const CLI::App& command, const RawWords& words, CommandLine& line, std::vector<Diagnostic>& errors) {
  line.sweep = words.sweep;
  line.trial = words.trial;
  ReadDuration("--grace", words.grace, line.run.grace_seconds, errors);
  ReadDuration("--every", words.pace, line.chaos.pace_seconds, errors);
  ReadDuration("--stall-after", words.stall, line.run.stall_seconds, errors);
  ReadDuration("--time-limit", words.time_limit, line.run.time_limit_seconds, errors);
  ReadCalculator(words, line, errors);
  for (const std::string& word : words.rest) {
    if (word.starts_with('~') || word.find('=') != std::string::npos) {
      line.overrides.push_back(word);
    } else if (Takes(command, "TABLE") && line.table.name.empty()) {
      line.table.name = word;
    } else if (Takes(command, "FIGURE") && line.plot.figure.empty()) {
      line.plot.figure = word;
    } else {
      Diagnostic error;
      error.message = "`" + word + "` is not of the form KEY=VALUE; an override looks like trial.steps=10.";
      error.key = word;
      errors.push_back(error);
    }
  }
}

// CLI11 reports misuse by exceptions; this is where they end.
ParsedCommandLine ParseOrExplain(CLI::App& app, const CommandNode& root, const std::vector<std::string>& arguments,
                                 ParsedCommandLine parsed) {
  // The innermost command, and the words that lead to it.
  std::string words;
  const auto active = [&app, &words]() -> CLI::App* {
    CLI::App* command = &app;
    words = "retort";
    while (!command->get_subcommands().empty()) {
      if (command != &app) words += " " + command->get_name();
      command = command->get_subcommands().front();
    }
    return command;
  };
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    const CLI::App* command = active();
    parsed.text = command == &app ? app.help() : command->help(words);
  } catch (const CLI::ParseError& misuse) {
    if (std::optional<Diagnostic> meant = FindMisuse(root, arguments)) {
      parsed.errors.push_back(*std::move(meant));
      return parsed;
    }
    const CLI::App* command = active();
    Diagnostic error;
    error.message = std::string(misuse.what()) + " (`" + words + " " +
                    (command == &app ? "" : command->get_name() + " ") + "--help` shows what is valid.)";
    parsed.errors.push_back(error);
  }
  return parsed;
}

class HelpFormatter : public CLI::Formatter {
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return ShowPositionalName(CLI::Formatter::make_option_name(option, is_positional));
  }
};

// Paragraphs of the help are at most `columns` wide.
void AddCommands(CLI::App& app, CommandLine& line, RawWords& words, std::size_t columns) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.description(Wrap(std::string(kSummary), columns, 0));
  app.require_subcommand(0, 1);
  AddGlobals(app, line.global);
  AddPlan(app, line, words);
  AddRun(app, line, words);
  AddTable(app, line, words);
  AddCompare(app, line, words);
  AddPlot(app, line, words);
  AddReport(app, line);
  AddServe(app, line);
  AddChaos(app, line, words);
  AddStatus(app, line);
  AddExplain(app, words);
  AddList(app, line);
  AddShow(app, words);
  AddAmend(app, line);
  AddArchive(app, line);
  AddBundle(app, line, words);
  AddVerify(app, line);
  AddRepair(app, line);
  AddAudit(app, line, words);
  AddExport(app, line, words);
  AddSample(app, line, words);
  AddModel(app, line);
  AddData(app, line, words);
  AddCalculators(app, line, words);
  AddDoctor(app, line, words);
  AddMetrics(app, line);
  AddDocuments(app, line);
  // Last: what is added to the parser takes over the text that is below its help by then.
  app.footer("\n" + FormatExitCodes(columns) + "\nData go to stdout, messages to stderr.");
}

// `--version` where a command belongs is the command.
std::vector<std::string> WithVersionCommand(std::vector<std::string> arguments) {
  for (std::string& word : arguments) {
    if (word == "--version") word = "version";
    if (!word.starts_with('-')) break;
  }
  return arguments;
}

void CheckWatch(const CommandLine& line, std::vector<Diagnostic>& errors) {
  if (!line.watch || !line.global.json) return;
  Diagnostic error;
  error.message =
      "--watch shows the status again and again, and --json prints exactly one document: leave one of them out.";
  error.key = "--watch";
  errors.push_back(error);
}

// Every valid value of the parameter `name` ("--method", "ARCH") of the command `path` ("model check"), in the order of
// the help, where the command checks it for itself; else empty.
std::vector<std::string> KnownValues(const std::string& path, const std::string& name) {
  if (path == "data check" || path == "data clients")
    return name == "NAME" ? ListDataReaderNames() : std::vector<std::string>();
  if (path == "model check" && name == "ARCH") {
    std::vector<std::string> networks;
    for (const NamedNetwork& network : kNamedNetworks) networks.emplace_back(network.name);
    networks.emplace_back("torchscript");
    return networks;
  }
  if (path == "export" && name == "WHAT") return ListExportedParts();
  if (path == "export" && name == "--format") return ExportFormats();
  if (path == "man" && name == "COMMAND") return ListCommandNames();
  if (name == "--method") return privacy::ListPaperMethodNames();
  if (name == "--base") return privacy::ListSelectionBaseNames();
  if (name == "--distribution") return privacy::ListDistributionNames();
  if (name == "--accountant") return {"rdp", "pld"};
  return {};
}

}  // namespace

CLI::App* AddCommand(CLI::App& app, const char* name, const char* help) {
  return app.add_subcommand(name, help)->fallthrough();
}

void AddSweep(CLI::App& app, RawWords& words, const char* rest_name, const char* rest_help) {
  app.add_option("SWEEP", words.sweep,
                 "The sweep file (TOML), or the name of a shipped one, as quickstart or dpsd/fig9")
      ->required();
  app.add_option(rest_name, words.rest, rest_help);
}

CommandNode MakeProgramTree() {
  CommandLine line;
  RawWords words;
  CLI::App app{"", "retort"};
  AddCommands(app, line, words, kHelpColumns);
  return MakeCommandTree(app, KnownValues);
}

const std::vector<std::string>& ListCommandNames() {
  static const std::vector<std::string> names = {
      "plan",    "run",       "table",  "compare", "plot",   "report",     "serve",  "status",
      "explain", "list",      "show",   "retry",   "cancel", "archive",    "import", "bundle",
      "verify",  "repair",    "chaos",  "audit",   "data",   "export",     "sample", "model",
      "epsilon", "calibrate", "doctor", "metrics", "schema", "completion", "man",    "version"};
  return names;
}

ParsedCommandLine ParseCommandLine(const std::vector<std::string>& words, std::size_t help_columns) {
  const std::vector<std::string> arguments = WithVersionCommand(words);
  ParsedCommandLine parsed;
  parsed.json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  CommandLine line;
  RawWords raw;
  CLI::App app{"", "retort"};
  AddCommands(app, line, raw, help_columns);
  const CommandNode root = MakeCommandTree(app, KnownValues);
  if (std::optional<Diagnostic> empty = FindEmptyValue(root, arguments)) {
    parsed.errors.push_back(*std::move(empty));
    return parsed;
  }
  if (std::optional<Diagnostic> unknown = FindUnknownCommand(root, arguments)) {
    parsed.errors.push_back(*std::move(unknown));
    return parsed;
  }
  ShowExamples(app);
  parsed = ParseOrExplain(app, root, arguments, std::move(parsed));
  if (!parsed.text.empty() || !parsed.errors.empty()) return parsed;
  if (app.get_subcommands().empty()) {
    parsed.text = app.help();
    return parsed;
  }
  const CLI::App& command = *app.get_subcommands().front();
  line.command = command.get_name();
  for (const CLI::App* part : command.get_subcommands()) line.command += " " + part->get_name();
  SortWords(command, raw, line, parsed.errors);
  CheckWatch(line, parsed.errors);
  if (line.table.format == "json") line.global.json = true;
  if (parsed.errors.empty()) parsed.command = line;
  return parsed;
}
std::string FormatSweepCommand(const std::string& command, const CommandLine& line) {
  std::string words = "retort " + command + " " + QuoteForShell(line.sweep);
  for (const std::string& word : line.overrides) words += " " + QuoteForShell(word);
  if (!line.global.profile.empty()) words += " --profile " + QuoteForShell(line.global.profile);
  // Where an archive stands for the results, their folder is a temporary one.
  const bool named = !line.global.results.empty() && line.from.empty();
  return named ? AddResultsOption(words, line.global.results) : words;
}

}  // namespace retort::orchestrator::cli
