// The command line as a value. Parsing touches nothing outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/privacy/calculator_rules.h"
#include "experiments/spec/diagnostic.h"

namespace retort::orchestrator::cli {

struct CommandNode;

struct GlobalOptions {
  std::string results;  // --results; empty = the default of the command
  std::string profile;  // --profile; empty = none
  bool json = false, quiet = false, no_color = false;
};

// Fields that the command does not take keep their defaults.
struct CommandLine {
  std::string command;  // "plan", ..., with the words below it: "data check", "epsilon votes"
  GlobalOptions global;
  std::string sweep;                   // path of the sweep file
  std::vector<std::string> overrides;  // KEY=VALUE
  std::string table;                   // name in [table]; empty = every table
  std::string format = "text";         // text | markdown | csv | latex | json
  std::string figure;                  // name in [figure]; empty = every figure
  std::string plot_format = "both";    // svg | png | both
  bool statements = false;             // below the table, the privacy of each row in a paragraph
  bool complete = false;               // table: run what is missing first, with the options of `run`
  std::string trial;                   // id, unique prefix of an id, or shown name
  std::vector<std::string> trials;     // of retry and cancel, each as `trial`
  bool failed = false;                 // retry: every failed trial
  std::vector<std::string> where;      // KEY=VALUE, all must hold
  std::string metrics_listen;          // ADDR:PORT; empty = 127.0.0.1 and the next free port from 9477
  std::string metrics_auth;            // file with user:password; empty = everyone may read
  std::string metrics_tls;             // PEM file; empty = plain HTTP
  bool share = false;                  // run: others may read the results as the umask says
  double grace_seconds = 0;            // run: from the first signal until workers are killed; 0 = the default
  double time_limit_seconds = 0;       // run: then it saves and stops; 0 = none
  int kills = 0;                       // chaos
  std::uint64_t seed = 0;              // chaos: of the plan of disturbances
  double pace_seconds = 0;             // chaos: between two disturbances in the mean; 0 = from the sweep
  std::string launcher;                // chaos: words before `retort run`
  int slots = 0;                       // workers at once on this rank; 0 = the default
  bool apply = false;                  // repair: do it
  std::string audited;                 // audit: as `trial`, or path of a sweep file
  std::vector<std::string> kinds;      // audit: names of audits, or "all"; empty = release-step, membership, transcript
  double confidence = 0.95;            // audit: of the bounds that are printed
  std::int64_t samples = 0, canaries = 0, shadows = 0;  // audit: 0 = the default
  std::string reader, data_path;       // data check, data clients
  std::string part;                    // data clients: empty = the whole set
  std::int64_t clients = 0;            // data clients
  double concentration = 0, held_out = 0;  // data clients: 0 = equal shares; 0 = nothing
  privacy::Question question;          // epsilon and calibrate; no mechanism = none was named
  double epsilon = 0;                  // calibrate: what is to be met
  bool papers = false, explain = false;
  std::string exported, export_format, out;  // export: what, how, and the file to write; report: the page; plot, data clients: the folder
  bool force = false;                        // export: also over a file that is there
  std::string network, weights, input, logits_out, image;  // model check
  std::int64_t classes = 0;                  // model check: 0 = as the weights have it
  bool torchscript = false, non_finite = false;
  std::string shell;                         // completion: bash | zsh | fish
  std::string page, pages;                   // man: a command, empty = the program; the folder for every page
  bool names = false;                        // list: names alone
  bool diff = false, watch = false, verbose = false, list_metrics = false;
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
[[nodiscard]] const std::vector<std::string>& CommandNames();

// What ParseCommandLine understands, as data.
[[nodiscard]] CommandNode CommandTree();

}  // namespace retort::orchestrator::cli
