// A foreign program that is run for what it prints.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace retort::orchestrator::doctor {

struct ProgramRun {
  bool found = false;      // an executable file of that name was there
  bool timed_out = false;  // it was ended
  int code = -1;           // exit code; 128 + signal of one that was killed
  std::string text;        // stdout and stderr together, at most 16 KiB

  [[nodiscard]] bool succeeded() const { return found && !timed_out && code == 0; }
};

// `words`: the program, by path or as PATH in `environment` ("NAME=value", complete) finds it, and its
// arguments. Without input; in a process group of its own, which is killed when `limit` has passed.
[[nodiscard]] ProgramRun RunProgram(const std::vector<std::string>& words,
                                    const std::vector<std::string>& environment,
                                    std::chrono::milliseconds limit);

// The file that `program` names: itself when it has a slash, else the first executable in PATH of
// `environment`; empty when there is none.
[[nodiscard]] std::string FindProgram(const std::string& program,
                                      const std::vector<std::string>& environment);

// The first line of `text` that is not empty, cut to what fits a line.
[[nodiscard]] std::string FirstLine(const std::string& text);

}  // namespace retort::orchestrator::doctor
