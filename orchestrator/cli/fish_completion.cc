#include <fmt/format.h>

#include "orchestrator/cli/completion.h"
#include "orchestrator/cli/completion_words.h"

namespace retort::orchestrator::cli {
namespace {

// The functions that the lines below them ask.
constexpr const char* kHead = R"fish(
# Sets, for its caller: at (the command), seen (arguments after it), results, sweep.
function __retort_read --no-scope-shadowing
    set at ""
    set seen 0
    set results ""
    set sweep ""
    set -l option ""
    for word in (string replace -r -- '^~(?=/|$)' "$HOME" (commandline -opc)[2..-1])
        if test -n "$option"
            test "$option" = --results; and set results $word
            set option ""
        else if string match -q -- '--*=*' $word
            string match -q -- '--results=*' $word; and set results (string replace -- '--results=' '' $word)
        else if string match -q -- '-*' $word
            contains -- "$at|$word" $__retort_valued; or contains -- "|$word" $__retort_valued; and set option $word
        else if contains -- (string trim "$at $word") $__retort_commands
            set at (string trim "$at $word")
        else
            string match -q -- '*.toml' $word; and set sweep $word
            set seen (math $seen + 1)
        end
    end
end

# Is the command that is typed the one named; with a number, is its argument of that number next ("+": or a later one)?
function __retort_at
    set -l at; set -l seen; set -l results; set -l sweep
    __retort_read
    test "$at" = "$argv[1]"; or return 1
    test (count $argv) -lt 2; and return 0
    test (count $argv) -gt 2; and return (test $seen -ge $argv[2])
    test $seen -eq $argv[2]
end

function __retort_trials
    set -l at; set -l seen; set -l results; set -l sweep
    __retort_read
    set -l program (commandline -opc)[1]
    if test -n "$results"
        $program list --names --results $results 2>/dev/null
    else
        $program list --names 2>/dev/null
    end
end

# The names of [$argv[1].NAME] in the sweep file that is typed.
function __retort_names
    set -l at; set -l seen; set -l results; set -l sweep
    __retort_read
    test -r "$sweep"; and sed -n "s/^\[$argv[1]\.\([A-Za-z0-9_-]*\).*/\1/p" $sweep | sort -u
end

complete -c retort -f
)fish";

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + "'";
}

// The arguments of `complete` that say where values come from.
std::string Filled(const Parameter& parameter) {
  using enum ValueSource;
  std::string choices;
  for (const std::string& choice : parameter.choices) choices += (choices.empty() ? "" : " ") + choice;
  switch (SourceOf(parameter)) {
    case words:
      return " -a " + Quoted(choices);
    case files:
      return " -F";
    case folders:
    case results:
      return " -a '(__fish_complete_directories (commandline -ct))'";
    case sweeps:
      return " -k -a '(__fish_complete_suffix .toml)'";
    case trials:
      return " -a '(__retort_trials)'";
    case audited:
      return " -a '(__retort_trials) (__fish_complete_suffix .toml)'";
    case profiles:
      return " -a '(__retort_names profile)'";
    case tables:
      return " -a '(__retort_names table)'";
    case figures:
      return " -a '(__retort_names figure)'";
    case text:
      break;
  }
  return "";
}

std::string At(const std::string& path, const std::string& place = "") {
  return "complete -c retort -n \"__retort_at '" + path + "'" + place + "\"";
}

std::string OptionLine(const CommandNode& command, const Parameter& option) {
  // The program's own are those of every command.
  std::string line = command.path.empty() ? "complete -c retort" : At(command.path);
  for (const std::string& name : option.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  const std::string filled = Filled(option);
  if (!option.value.empty()) line += (filled == " -F" ? " -r" : " -x") + filled;
  return line + " -d " + Quoted(option.help) + "\n";
}

std::string ArgumentLine(const CommandNode& command, const Parameter& argument, std::size_t place) {
  const std::string filled = Filled(argument);
  if (filled.empty()) return "";
  return At(command.path, " " + std::to_string(place) + (argument.repeats ? " +" : "")) + filled + "\n";
}

std::string LinesOf(const CommandNode& command) {
  std::string text;
  for (const CommandNode& below : command.commands)
    text += At(command.path) + " -a " + below.name + " -d " + Quoted(below.help) + "\n";
  const std::vector<const Parameter*> arguments = ArgumentsOf(command);
  for (std::size_t i = 0; i < arguments.size(); ++i) text += ArgumentLine(command, *arguments[i], i);
  for (const Parameter& parameter : command.parameters)
    if (!parameter.positional) text += OptionLine(command, parameter);
  return text;
}

// Lists that __retort_read asks: every command, and every option that takes a value.
std::string Lists(const CommandNode& root) {
  std::string commands = "set -g __retort_commands", valued = "set -g __retort_valued";
  for (const CommandNode* command : AllCommands(root)) {
    if (!command->path.empty()) commands += " " + Quoted(command->path);
    for (const Parameter& option : command->parameters)
      if (!option.positional && !option.value.empty())
        for (const std::string& name : option.names) valued += " " + Quoted(command->path + "|" + name);
  }
  return commands + "\n" + valued + "\n";
}

}  // namespace

std::string FishCompletion(const CommandNode& root) {
  std::string text = "# Completion of retort in fish, written by `retort completion fish`.\n" + Lists(root) + kHead;
  for (const CommandNode* command : AllCommands(root)) text += LinesOf(*command);
  return text;
}

}  // namespace retort::orchestrator::cli
