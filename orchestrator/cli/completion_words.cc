#include "orchestrator/cli/completion_words.h"

#include "orchestrator/cli/completion.h"

namespace retort::orchestrator::cli {

std::vector<const Parameter*> OptionsOf(const CommandNode& root, const CommandNode& command) {
  std::vector<const Parameter*> options;
  for (const Parameter& parameter : command.parameters)
    if (!parameter.positional) options.push_back(&parameter);
  if (command.path.empty()) return options;
  for (const Parameter& parameter : root.parameters)
    if (!parameter.positional && FindParameter(command, parameter.names.back()) == nullptr)
      options.push_back(&parameter);
  return options;
}

std::string SourceText(const Parameter& parameter) {
  std::string text = SourceName(SourceOf(parameter));
  for (const std::string& choice : parameter.choices) text += " " + choice;
  return text;
}

}  // namespace retort::orchestrator::cli
