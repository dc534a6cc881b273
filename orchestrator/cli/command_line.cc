#include "orchestrator/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <utility>

#include "experiments/privacy/audit_report.h"
#include "experiments/spec/value_reader.h"
#include "orchestrator/cli/calculator_options.h"
#include "orchestrator/cli/command_examples.h"
#include "orchestrator/cli/command_tree.h"
#include "orchestrator/cli/data_options.h"
#include "orchestrator/cli/doctor_options.h"
#include "orchestrator/cli/document_options.h"
#include "orchestrator/cli/exit_codes.h"
#include "orchestrator/cli/report_options.h"
#include "orchestrator/cli/suggestions.h"
#include "orchestrator/cli/text_table.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::string_view kSummary =
    "Retort turns a TOML sweep into trials of private model distillation, runs them on worker processes, and prints "
    "tables in which every epsilon is labelled and true.";

// What the positional arguments of one invocation were, before they are sorted out.
struct Positionals {
  std::string sweep, trial;
  std::vector<std::string> rest;
  std::string grace, time_limit, pace;  // durations
  CalculatorWords calculator;
};

void AddSweep(CLI::App& app, Positionals& positionals, const char* rest_name, const char* rest_help) {
  app.add_option("SWEEP", positionals.sweep, "The sweep file (TOML)")->required();
  app.add_option(rest_name, positionals.rest, rest_help);
}

CLI::App* AddCommand(CLI::App& app, const char* name, const char* help) {
  return app.add_subcommand(name, help)->fallthrough();
}

void AddRunOptions(CLI::App& command, CommandLine& line, Positionals& positionals) {
  command.add_option("--slots", line.slots, "Workers at once on this rank's CPUs (default 1)")
      ->check(CLI::Range(1, 4096));
  command.add_option("--metrics-listen", line.metrics_listen,
                     "ADDR:PORT of the metrics endpoint ([ADDR]:PORT of IPv6), or none (default 127.0.0.1 and the next free port from 9477)");
  command.add_option("--metrics-auth", line.metrics_auth,
                     "File whose first line is user:password, asked for by the metrics endpoint (HTTP basic)")
      ->type_name("FILE");
  command.add_option("--metrics-tls", line.metrics_tls,
                     "PEM file with certificate chain and private key: the metrics endpoint speaks HTTPS")
      ->type_name("FILE");
  command.add_flag("--share", line.share,
                   "Let others read the results folder as your umask says (default: files 600, folders 700)");
  command.add_option("--time-limit", positionals.time_limit,
                     "Save and stop after this time, e.g. 90m; exit code 75, run again to go on")
      ->type_name("DURATION");
  command.add_option("--grace", positionals.grace,
                     "Time to save from the first signal until workers are killed (default 25s)")
      ->type_name("DURATION");
}

void AddSweepCommands(CLI::App& app, CommandLine& line, Positionals& positionals) {
  constexpr const char* kOverrides = "KEY=VALUE overrides, e.g. trial.steps=10 sweep.seeds=[0]";
  CLI::App* plan = AddCommand(app, "plan", "Show what would run: trials, devices, cost, epsilon, data");
  AddSweep(*plan, positionals, "KEY=VALUE", kOverrides);
  plan->add_flag("--diff", line.diff, "Compare with what the results folder already holds");
  plan->add_option("--slots", line.slots,
                   "Workers at once that the time is for (default: as the last run, else 1)")
      ->check(CLI::Range(1, 4096));

  CLI::App* run = AddCommand(app, "run", "Run the sweep, or resume it; running a finished sweep does nothing");
  AddSweep(*run, positionals, "KEY=VALUE", kOverrides);
  AddRunOptions(*run, line, positionals);

  CLI::App* table = AddCommand(app, "table", "Print the tables: published beside measured beside proven");
  AddSweep(*table, positionals, "TABLE", "Name of one table, and KEY=VALUE overrides as given to `run`");
  table->add_option("--format", line.format, "How it is printed (default text)")
      ->check(CLI::IsMember({"text", "markdown", "csv", "latex", "json"}));
  table->add_flag("--statements", line.statements,
                  "Below the table, the privacy of each row in a paragraph (text, markdown, latex; json: in notes)");
  table->add_flag("--complete", line.complete,
                  "First run the cells that are missing and the teachers that they need, as `run` would");
  AddRunOptions(*table, line, positionals);
}

void AddPlot(CLI::App& app, CommandLine& line, Positionals& positionals) {
  CLI::App* plot = AddCommand(app, "plot", "Draw the figures: published points beside measured ones");
  AddSweep(*plot, positionals, "FIGURE", "Name of one figure, and KEY=VALUE overrides as given to `run`");
  plot->add_option("--format", line.plot_format, "svg, png or both (default)")->check(CLI::IsMember({"svg", "png", "both"}));
  plot->add_option("--out", line.out, "Folder for the files (default figures/ in the results folder)")->type_name("DIR");
  plot->add_flag("--force", line.force, "Also over files that are no figures of retort's");
}

void AddChaos(CLI::App& app, CommandLine& line, Positionals& positionals) {
  CLI::App* chaos =
      AddCommand(app, "chaos", "Run the sweep while killing, stopping and starving its processes, then compare");
  AddSweep(*chaos, positionals, "KEY=VALUE", "KEY=VALUE overrides, as of `run`");
  chaos->add_option("--kills", line.kills, "How many times something is killed (default 20)")
      ->check(CLI::Range(1, 1'000'000))
      ->default_val(20);
  chaos->add_option("--seed", line.seed, "Number of the plan of disturbances (default 0)");
  chaos
      ->add_option("--every", positionals.pace, "Mean time between two disturbances (default from the sweep)")
      ->type_name("DURATION");
  chaos->add_option("--slots", line.slots, "As of `run` (default: as the largest gang needs)")->check(CLI::Range(1, 4096));
  chaos->add_option("--launcher", line.launcher,
                    "Words before `retort run`, e.g. \"cluster/launch/mpirun.sh -np 3\"");
}

void AddResultCommands(CLI::App& app, CommandLine& line, Positionals& positionals) {
  CLI::App* status = AddCommand(app, "status", "Worst problem first, counts, time left, next command");
  status->add_flag("--watch", line.watch, "Refresh every two seconds until the sweep ends");

  CLI::App* explain = AddCommand(app, "explain", "Why a trial waits, failed, or costs what it costs");
  explain->add_option("TRIAL", positionals.trial, "Id, unique prefix of an id, or shown name")->required();

  CLI::App* list = AddCommand(app, "list", "All trials of a results folder");
  list->add_option("--where", line.where, "KEY=VALUE that must hold; may be repeated")->take_all();
  list->add_flag("--names", line.names, "Their names alone, a line each");

  CLI::App* show = AddCommand(app, "show", "One trial: row, claims, ledger, files");
  show->add_option("TRIAL", positionals.trial, "Id, unique prefix of an id, or shown name")->required();

  CLI::App* retry = AddCommand(app, "retry", "Queue failed or cancelled trials again, with their students");
  retry->add_option("TRIAL", line.trials, "Ids, unique prefixes of ids, or shown names");
  retry->add_flag("--failed", line.failed, "Every trial that failed");

  CLI::App* cancel = AddCommand(app, "cancel", "Leave trials out that have not ended yet; what runs is saved first");
  cancel->add_option("TRIAL", line.trials, "Ids, unique prefixes of ids, or shown names")->required();

  AddCommand(app, "verify", "Check digests, manifests, logs, and the ledger against the rows");

  CLI::App* repair = AddCommand(app, "repair", "Say what is torn, missing or left over, and put it right");
  repair->add_flag("--apply", line.apply, "Do it; what is taken out of the way is kept in quarantine-<n>/");
}

void AddAudit(CLI::App& app, CommandLine& line, Positionals& positionals) {
  CLI::App* audit = AddCommand(app, "audit", "Attack finished trials, and hold what leaks against what is proven");
  audit->add_option("TRIAL|SWEEP", line.audited, "Id, unique prefix of an id, or shown name; or a sweep file")
      ->required();
  audit->add_option("KEY=VALUE", positionals.rest, "Overrides, as the sweep was run with");
  std::vector<std::string> kinds = privacy::AuditKindNames();
  kinds.emplace_back("all");
  audit
      ->add_option("--kind", line.kinds,
                   "release-step, transcript, canary, membership, inversion or all; may be repeated (default "
                   "release-step, transcript and membership, which train nothing)")
      ->take_all()
      ->check(CLI::IsMember(kinds));
  audit->add_option("--confidence", line.confidence, "Of the lower bounds that are printed (default 0.95)")
      ->check(CLI::Range(0.5, 0.999999));
  audit->add_option("--samples", line.samples, "Releases under each neighbour (default by the mechanism)")
      ->check(CLI::Range(100, 100'000'000));
  audit->add_option("--canaries", line.canaries, "Canaries of the one-run audit (default an eighth of the examples)")
      ->check(CLI::Range(10, 1'000'000));
  audit->add_option("--shadows", line.shadows, "Networks to train for LiRA (default none)")->check(CLI::Range(2, 4096));
}

void AddExport(CLI::App& app, CommandLine& line, Positionals& positionals) {
  CLI::App* command =
      AddCommand(app, "export", "Write a trial's network, samples, curves or ledger as a file for other tools");
  command->add_option("TRIAL", positionals.trial, "Id, unique prefix of an id, or shown name")->required();
  command
      ->add_option("WHAT", line.exported,
                   "student (also a teacher's network): safetensors, torch, npz; samples: png, npz; curves, ledger: csv")
      ->required();
  command->add_option("--format", line.export_format, "safetensors, torch, npz, png or csv")->required();
  command->add_option("--out", line.out, "The file to write")->required()->type_name("PATH");
  command->add_flag("--force", line.force, "Also over a file that is there");
}

void AddModel(CLI::App& app, CommandLine& line) {
  CLI::App* model = AddCommand(app, "model", "Networks and saved weights");
  model->require_subcommand(1);
  CLI::App* check =
      AddCommand(*model, "check", "What of saved weights fits a network, its parameter count, and its logits");
  check->add_option("ARCH", line.network, "A network of the sweep file, as resnet34")->required();
  check->add_option("--weights", line.weights, ".pth (zip, legacy or tar) or safetensors; nothing in it is run")->type_name("FILE");
  check->add_option("--input", line.input, "Images: a .npy of float32 [rows, channels, height, width]")->type_name("FILE.npy");
  check->add_option("--logits-out", line.logits_out, "What the network says of them: a .npy of float32 [rows, classes]")
      ->type_name("FILE.npy");
  check->add_flag("--force", line.force, "Also over a file that is there");
  check->add_option("--classes", line.classes, "Classes (default as the weights have it)")->check(CLI::Range(1, 1 << 20));
  check->add_option("--image", line.image, "CxHxW, or a size for 3 channels (default as the input has it)");
  check->add_flag("--torchscript", line.torchscript,
                  "ARCH is `torchscript`: FILE is a module, and the code in it is run. Only for files that you trust");
  check->add_flag("--allow-non-finite", line.non_finite, "Let NaN and infinity in the weights through");
}

void AddPlainCommands(CLI::App& app, CommandLine& line) {
  CLI::App* metrics = AddCommand(app, "metrics", "What a running sweep tells Prometheus: names, units, labels, meaning");
  metrics->add_flag("--list", line.list_metrics, "Every metric, with or without a running sweep (the default)");
  AddCommand(app, "schema", "JSON Schema of the sweep file");
  CLI::App* version = AddCommand(app, "version", "Version; with --verbose, how it was built");
  version->add_flag("--verbose", line.verbose, "Compiler, build type, libraries, file format versions");
}

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

void ReadDuration(const char* flag, const std::string& text, double& seconds,
                  std::vector<Diagnostic>& errors) {
  if (text.empty()) return;
  seconds = ParseDuration(text).value_or(0);
  if (seconds > 0) return;
  Diagnostic error;
  error.message = std::string(flag) + " " + text +
                  " is no duration above zero; write a number and a unit, as in 90s, 30m or 2h.";
  error.key = flag;
  errors.push_back(error);
}

// Sorts what followed SWEEP into overrides and the table's name.
void SortPositionals(const CLI::App& command, const Positionals& positionals, CommandLine& line,
                     std::vector<Diagnostic>& errors) {
  line.sweep = positionals.sweep;
  line.trial = positionals.trial;
  ReadDuration("--grace", positionals.grace, line.grace_seconds, errors);
  ReadDuration("--every", positionals.pace, line.pace_seconds, errors);
  ReadDuration("--time-limit", positionals.time_limit, line.time_limit_seconds, errors);
  ReadCalculator(positionals.calculator, line, errors);
  for (const std::string& word : positionals.rest) {
    if (word.find('=') != std::string::npos) {
      line.overrides.push_back(word);
    } else if (Takes(command, "TABLE") && line.table.empty()) {
      line.table = word;
    } else if (Takes(command, "FIGURE") && line.figure.empty()) {
      line.figure = word;
    } else {
      Diagnostic error;
      error.message = "`" + word + "` is not of the form KEY=VALUE; an override looks like trial.steps=10.";
      error.key = word;
      errors.push_back(error);
    }
  }
}

// CLI11 reports misuse by exceptions; this is where they end.
ParsedCommandLine ParseOrExplain(CLI::App& app, const CommandNode& root,
                                 const std::vector<std::string>& arguments, ParsedCommandLine parsed) {
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
    if (std::optional<Diagnostic> meant = Misuse(root, arguments)) {
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

// Paragraphs of the help are at most `columns` wide.
void AddCommands(CLI::App& app, CommandLine& line, Positionals& positionals, std::size_t columns) {
  app.description(Wrap(std::string(kSummary), columns, 0));
  app.require_subcommand(0, 1);
  AddGlobals(app, line.global);
  AddSweepCommands(app, line, positionals);
  AddPlot(app, line, positionals);
  CLI::App* report =
      AddCommand(app, "report", "One HTML page of a results folder that needs no network: tables, figures, trials, privacy");
  AddReport(*report, line);
  AddChaos(app, line, positionals);
  AddResultCommands(app, line, positionals);
  AddAudit(app, line, positionals);
  AddExport(app, line, positionals);
  AddModel(app, line);
  CLI::App* data = AddCommand(app, "data", "Data sets on disk: data check NAME PATH, data clients NAME PATH");
  AddData(*data, line, positionals.rest);
  CLI::App* epsilon = AddCommand(app, "epsilon", "Accountants as a calculator: every claim of a mechanism");
  AddCalculator(*epsilon, line, positionals.calculator);
  CLI::App* calibrate = AddCommand(app, "calibrate", "The least noise or the most releases that meet an epsilon");
  AddCalculator(*calibrate, line, positionals.calculator);
  CLI::App* doctor = AddCommand(app, "doctor", "What is wrong with this machine, and the command that mends it");
  AddDoctor(*doctor, line, positionals.sweep, positionals.rest);
  AddPlainCommands(app, line);
  AddDocuments(app, line);
  // Last: what is added to the parser takes over the text that is below its help by then.
  app.footer("\n" + ExitCodesText(columns) + "\nData go to stdout, messages to stderr.");
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
  error.message = "--watch shows the status again and again, and --json prints exactly one document: leave one of them out.";
  error.key = "--watch";
  errors.push_back(error);
}

}  // namespace

CommandNode CommandTree() {
  CommandLine line;
  Positionals positionals;
  CLI::App app{"", "retort"};
  AddCommands(app, line, positionals, kHelpColumns);
  return TreeOf(app);
}

const std::vector<std::string>& CommandNames() {
  static const std::vector<std::string> names = {
      "plan",   "run",    "table",  "plot", "report", "status", "explain", "list",      "show",   "retry",
      "cancel", "verify", "repair", "chaos",  "audit",  "data",   "export", "model",
      "epsilon", "calibrate", "doctor", "metrics", "schema", "completion", "man", "version"};
  return names;
}

ParsedCommandLine ParseCommandLine(const std::vector<std::string>& words, std::size_t help_columns) {
  const std::vector<std::string> arguments = WithVersionCommand(words);
  ParsedCommandLine parsed;
  parsed.json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  CommandLine line;
  Positionals positionals;
  CLI::App app{"", "retort"};
  AddCommands(app, line, positionals, help_columns);
  const CommandNode root = TreeOf(app);
  if (std::optional<Diagnostic> empty = EmptyValue(root, arguments)) {
    parsed.errors.push_back(*std::move(empty));
    return parsed;
  }
  if (std::optional<Diagnostic> unknown = UnknownCommand(root, arguments)) {
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
  SortPositionals(command, positionals, line, parsed.errors);
  CheckWatch(line, parsed.errors);
  if (line.format == "json") line.global.json = true;
  if (parsed.errors.empty()) parsed.command = line;
  return parsed;
}

}  // namespace retort::orchestrator::cli
