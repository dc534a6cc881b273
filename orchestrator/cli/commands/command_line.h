// Parses the command line into a value. Touches nothing outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/base/diagnostic.h"
#include "experiments/privacy/calculator_rules.h"

namespace CLI {
class App;
}

namespace retort::orchestrator::cli {

struct CommandNode;

struct GlobalOptions {
  std::string results;  // --results; empty = the default of the command
  std::string profile;  // --profile; empty = none
  bool json = false, quiet = false, no_color = false;
};

// Options of one command, or of a few that are alike.
struct RunArguments {
  std::string metrics_listen;     // ADDR:PORT; empty = 127.0.0.1 and the next free port from 9477
  std::string metrics_auth;       // file with user:password; empty = everyone may read
  std::string metrics_tls;        // PEM file; empty = plain HTTP
  bool share = false;             // others may read the results as the umask says
  std::string on_end;             // run: for /bin/sh, once the sweep has ended; empty = nothing
  std::string on_stall;           // run: the same, while it runs and nothing goes on
  double stall_seconds = 0;       // until then; 0 = the default
  double grace_seconds = 0;       // from the first signal until workers are killed; 0 = the default
  double time_limit_seconds = 0;  // then it saves and stops; 0 = none
};

struct TableArguments {
  std::string name;             // in [table]; empty = every table
  std::string format = "text";  // text | markdown | csv | latex | json
  bool statements = false;      // below the table, the privacy of each row in a paragraph
  bool complete = false;        // run what is missing first, with RunArguments
};

struct PlotArguments {
  std::string figure;           // name in [figure]; empty = every figure
  std::string format = "both";  // svg | png | both
};

struct ServeArguments {
  std::string results;  // results folder; empty = GlobalOptions::results
  std::string address = "127.0.0.1";
  int port = -1;              // -1 = the next free one
  bool allow_remote = false;  // the address may be one that others reach
  std::string tls;            // PEM file; empty = plain HTTP
};

struct ListArguments {
  std::vector<std::string> where;  // KEY=VALUE, all must hold
  bool names = false;              // names alone
};

struct AmendArguments {             // of retry and cancel
  std::vector<std::string> trials;  // each as CommandLine::trial
  bool failed = false;              // retry: every failed trial
};

struct ChaosArguments {
  int kills = 0;
  std::uint64_t seed = 0;   // of the plan of disturbances
  double pace_seconds = 0;  // between two disturbances in the mean; 0 = from the sweep
  std::string launcher;     // words before `retort run`
};

struct AuditArguments {
  std::string target;              // as CommandLine::trial, or path of a sweep file
  std::vector<std::string> kinds;  // names of audits, or "all"; empty = release-step, membership, transcript
  double confidence = 0.95;        // of the bounds that are printed
  bool plan = false;               // say what it would take, and attack nothing
  std::int64_t samples = 0, canaries = 0, shadows = 0;  // 0 = the default; shadows also of plan
  std::vector<std::string> attacks;                     // of an inversion; empty = fredrikson
  std::int64_t gan_steps = 0, latent_steps = 0;         // 0 = the default
};

struct ExportArguments {
  std::string what, format;
};

struct SampleArguments {
  std::string format, labels = "student";
  std::int64_t count = 0;
  std::uint64_t seed = 0;
  bool evaluate = false;
};

struct DataArguments {  // of data check and data clients
  std::string reader, path;
  std::string part;          // clients: empty = the whole set
  std::int64_t clients = 0;  // clients
  double concentration = 0;  // clients: 0 = equal shares
  double held_out = 0;       // clients: fraction that no client gets
  std::uint64_t seed = 0;    // clients: of the division
};

struct CalculatorArguments {   // of epsilon and calibrate
  privacy::Question question;  // no mechanism = none was named
  double epsilon = 0;          // calibrate: what is to be met
  bool papers = false, explain = false;
};

struct ModelArguments {
  std::string network, weights, input, logits_out;
  std::string sweep;         // that describes the network; empty: it is one of the zoo
  std::string image;         // "CxHxW", or a size
  std::int64_t classes = 0;  // 0 = as the weights have it
  bool torchscript = false, non_finite = false;
};

struct DocumentArguments {
  std::string shell;  // completion: bash | zsh | fish
  std::string page;   // man: a command, empty = the program
  std::string pages;  // man: the folder for every page
};

// Fields that the command does not take keep their defaults.
struct CommandLine {
  std::string command;  // "plan", ..., with the words below it: "data check", "epsilon votes"
  GlobalOptions global;
  std::string sweep;                   // path of the sweep file
  std::vector<std::string> overrides;  // KEY=VALUE
  std::string trial;                   // explain, show, export, sample: id, unique prefix of an id, or shown name
  int slots = 0;                       // plan, run, table, chaos, doctor: workers at once on this rank; 0 = the default
  int oversubscribe_gpu = 1;           // plan, run, table, chaos: workers on each GPU of this rank
  std::string out;                     // export: the file; report: the page; plot, data clients, sample: the folder
  std::string from;                    // table, compare, plot, report, import: an archive of rows; empty = none
  std::string bundle;                  // verify: a bundle; empty = a results folder
  bool students = false;               // bundle: networks of students too
  bool force = false;                  // also over a file that is there
  bool all = false;                    // compare: every sweep file of a folder
  bool diff = false;                   // plan: compared with what the results folder holds
  bool watch = false;                  // status
  bool apply = false;                  // repair: do it
  bool verbose = false;                // version
  bool list_metrics = false;           // metrics
  RunArguments run;
  TableArguments table;
  PlotArguments plot;
  ServeArguments serve;
  ListArguments list;
  AmendArguments amend;
  ChaosArguments chaos;
  AuditArguments audit;
  ExportArguments exported;
  SampleArguments sample;
  DataArguments data;
  CalculatorArguments calculator;
  ModelArguments model;
  DocumentArguments document;
};

// Words that are read once the whole line is known: what they mean depends on the command.
struct RawWords {
  std::string sweep, trial;
  std::vector<std::string> rest;               // overrides, and the name of a table or a figure
  std::string grace, time_limit, pace, stall;  // durations
  std::map<std::string, std::string> numbers;  // of a calculator, by the name of the parameter
  std::vector<std::string> candidates;         // of a selection in a calculator
};

// One of: a command to run, text to print and end with 0, or errors (exit 2).
struct ParsedCommandLine {
  std::optional<CommandLine> command;
  std::string text;
  std::vector<Diagnostic> errors;
  bool json = false;  // --json was given, whatever else is wrong
};

// Of a help that goes to no terminal.
inline constexpr std::size_t kHelpColumns = 110;

// `words`: without the program's name. `help_columns`: that the paragraphs of a help have.
[[nodiscard]] ParsedCommandLine ParseCommandLine(const std::vector<std::string>& words,
                                                 std::size_t help_columns = kHelpColumns);

// Names of all commands, in the order of the help.
[[nodiscard]] const std::vector<std::string>& ListCommandNames();

// For the commands that add themselves to the parser.
inline constexpr const char* kOverridesHelp =
    "Overrides: trial.steps=10 sets a key, trial.steps=10,20 makes an axis, ~trial.steps removes it";
CLI::App* AddCommand(CLI::App& app, const char* name, const char* help);
// The sweep file, and what may stand behind it.
void AddSweep(CLI::App& command, RawWords& words, const char* rest_name, const char* rest_help);

// What ParseCommandLine understands, as data.
[[nodiscard]] CommandNode MakeProgramTree();
// `command` ("table") of the sweep file on the line, with the overrides, the profile and the results folder that stand
// there.
[[nodiscard]] std::string FormatSweepCommand(const std::string& command, const CommandLine& line);

}  // namespace retort::orchestrator::cli
