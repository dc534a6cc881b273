#include "orchestrator/cli/shell/command_tree.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

namespace retort::orchestrator::cli {
namespace {

// The words of "{svg,png,both}".
std::vector<std::string> SplitWords(std::string_view set) {
  std::vector<std::string> words;
  set = set.substr(1, set.size() - 2);
  while (!set.empty()) {
    const std::size_t end = std::min(set.find(','), set.size());
    words.emplace_back(set.substr(0, end));
    set.remove_prefix(std::min(end + 1, set.size()));
  }
  return words;
}

// The parser tells checks only by their text: "INT:INT in [1 - 4096]", "TEXT:{svg,png,both}".
void ReadType(const std::string& type, Parameter& parameter) {
  const std::size_t colon = type.find(':');
  parameter.value = type.substr(0, colon);
  if (colon == std::string::npos) return;
  const std::string check = type.substr(colon + 1);
  if (check.starts_with('{') && check.ends_with('}')) parameter.choices = SplitWords(check);
  if (const std::size_t range = check.find('['); range != std::string::npos && check.ends_with(']'))
    parameter.range = check.substr(range);
}

Parameter MakeParameter(const CLI::Option& option) {
  Parameter parameter;
  parameter.positional = !option.nonpositional();
  if (parameter.positional) {
    parameter.names = {ShowPositionalName(option.get_name(true))};
  } else {
    for (const std::string& name : option.get_snames()) parameter.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) parameter.names.push_back("--" + name);
  }
  if (option.get_type_size_max() != 0) ReadType(option.get_type_name(), parameter);
  parameter.help = option.get_description();
  parameter.required = option.get_required();
  parameter.repeats = option.get_expected_max() > 1;
  return parameter;
}

CommandNode MakeNode(const CLI::App& app, const std::string& path, const FindValues& values) {
  CommandNode node;
  node.name = app.get_name();
  node.path = path;
  node.help = app.get_description();
  node.note = app.get_footer();
  node.needs_command = app.get_require_subcommand_min() > 0;
  for (const CLI::Option* option : app.get_options()) {
    node.parameters.push_back(MakeParameter(*option));
    Parameter& parameter = node.parameters.back();
    if (parameter.choices.empty()) parameter.choices = values(path, parameter.names.back());
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    node.commands.push_back(MakeNode(*command, (path.empty() ? "" : path + " ") + command->get_name(), values));
  return node;
}

}  // namespace

std::string ShowPositionalName(const std::string& name) { return name == kOverrideWords ? "KEY=VALUE" : name; }

CommandNode MakeCommandTree(const CLI::App& app, const FindValues& values) { return MakeNode(app, "", values); }

const Parameter* FindParameter(const CommandNode& command, const std::string& name) {
  for (const Parameter& parameter : command.parameters)
    if (std::find(parameter.names.begin(), parameter.names.end(), name) != parameter.names.end()) return &parameter;
  return nullptr;
}

const CommandNode* FindCommand(const CommandNode& command, const std::string& name) {
  const auto found = std::find_if(command.commands.begin(), command.commands.end(),
                                  [&name](const CommandNode& one) { return one.name == name; });
  return found == command.commands.end() ? nullptr : &*found;
}

std::vector<const CommandNode*> ListAllCommands(const CommandNode& command) {
  std::vector<const CommandNode*> all = {&command};
  for (const CommandNode& below : command.commands)
    for (const CommandNode* one : ListAllCommands(below)) all.push_back(one);
  return all;
}

std::vector<const Parameter*> ListPositionals(const CommandNode& command) {
  std::vector<const Parameter*> positionals;
  for (const Parameter& parameter : command.parameters)
    if (parameter.positional) positionals.push_back(&parameter);
  return positionals;
}

}  // namespace retort::orchestrator::cli
