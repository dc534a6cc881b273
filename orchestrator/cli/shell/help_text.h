// Holds the exit codes and the examples of every command: `--help` and the manual pages show them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace retort::orchestrator::cli {

struct ExitCodeMeaning {
  int code;
  std::string_view meaning;
};

// Every code that a command ends with, ascending.
[[nodiscard]] const std::vector<ExitCodeMeaning>& ListExitCodes();

// "Exit codes: 0 done, 1 ...", in lines of at most `width` columns.
[[nodiscard]] std::string FormatExitCodes(std::size_t width);

// Examples of every command: `--help` and the man pages show them.

struct Example {
  std::string line;  // as typed in a shell: "retort status --watch"
  std::string what;  // what it does, in a few words
};

// Of the command `path` ("data check"); of the program itself for an empty path.
[[nodiscard]] std::vector<Example> FindExamples(const std::string& path);

// Puts the examples below the help of `app` and of every command below it, above what its help says already, and,
// for commands, which options all of them take.
void ShowExamples(CLI::App& app);

}  // namespace retort::orchestrator::cli
