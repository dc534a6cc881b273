// Holds the commands as data: completion, manual pages and suggestions are made of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace retort::orchestrator::cli {

// An option or a positional argument.
struct Parameter {
  std::vector<std::string> names;  // "-h", "--help"; of a positional the one word that stands for it: "SWEEP"
  bool positional = false;
  std::string value;                 // what stands for its value: "DIR", "INT"; empty = it takes none
  std::string range;                 // "[1 - 4096]"; empty = none
  std::vector<std::string> choices;  // every valid value where that set is closed; empty = it is not
  std::string help;
  bool required = false, repeats = false;
};

struct CommandNode {
  std::string name;  // "check"
  std::string path;  // "data check"; of the program empty
  std::string help;
  std::string note;                   // what stands below its help; may be empty
  std::vector<Parameter> parameters;  // in the order of the help
  std::vector<CommandNode> commands;  // in the order of the help
  bool needs_command = false;
};

// The name of positional KEY=VALUE words: CLI11 from 2.4 on takes none with "=".
inline constexpr const char* kOverrideWords = "OVERRIDES";
// "KEY=VALUE" for that name; any other as it is.
[[nodiscard]] std::string ShowPositionalName(const std::string& name);

// Every valid value of a parameter ("--method", "ARCH") of the command `path` ("model check") that the command checks
// for itself, in the order of the help; empty where there is no such set, or the parser knows it.
using FindValues = std::function<std::vector<std::string>(const std::string& path, const std::string& parameter)>;

// The parser `app`, before examples are shown below its help.
[[nodiscard]] CommandNode MakeCommandTree(const CLI::App& app, const FindValues& values);

// By a name of it, as "--slots"; null where the command itself has none.
[[nodiscard]] const Parameter* FindParameter(const CommandNode& command, const std::string& name);
// By its own name, among the commands directly below.
[[nodiscard]] const CommandNode* FindCommand(const CommandNode& command, const std::string& name);
// `command` and all below it, each before what is below it.
[[nodiscard]] std::vector<const CommandNode*> ListAllCommands(const CommandNode& command);
std::vector<const CommandNode*> ListAllCommands(CommandNode&&) = delete;
// The positional parameters, in order.
[[nodiscard]] std::vector<const Parameter*> ListPositionals(const CommandNode& command);

}  // namespace retort::orchestrator::cli
