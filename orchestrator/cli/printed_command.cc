#include "orchestrator/cli/printed_command.h"

#include "orchestrator/cli/shell_text.h"
#include "orchestrator/cli/trial_names.h"

namespace retort::orchestrator::cli {

std::string AtResults(const std::string& words, const std::string& directory) {
  return words + " --results " + ShellText(directory);
}

std::string TrialCommand(const std::string& command, const TrialSpec& spec) {
  return "retort " + command + " " + ShellText(ShownName(spec));
}

std::string RunAgain(const std::string& directory) {
  return AtResults("retort run " + ShellText(directory + "/sweep.toml"), directory);
}

std::string SweepCommand(const std::string& command, const CommandLine& line) {
  std::string words = "retort " + command + " " + ShellText(line.sweep);
  for (const std::string& word : line.overrides) words += " " + ShellText(word);
  if (!line.global.profile.empty()) words += " --profile " + ShellText(line.global.profile);
  return line.global.results.empty() ? words : AtResults(words, line.global.results);
}

}  // namespace retort::orchestrator::cli
