// Examples of every command: `--help` and the man pages show them.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace retort::orchestrator::cli {

struct Example {
  std::string line;  // as typed in a shell: "retort status --watch"
  std::string what;  // what it does, in a few words
};

// Of the command `path` ("data check"); of the program itself for an empty path.
[[nodiscard]] std::vector<Example> ExamplesOf(const std::string& path);

// Puts the examples below the help of `app` and of every command below it, above what its help says already, and,
// for commands, which options all of them take.
void ShowExamples(CLI::App& app);

}  // namespace retort::orchestrator::cli
