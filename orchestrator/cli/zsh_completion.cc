#include <fmt/format.h>

#include "orchestrator/cli/completion.h"
#include "orchestrator/cli/completion_words.h"
#include "orchestrator/cli/shell_text.h"

namespace retort::orchestrator::cli {
namespace {

constexpr const char* kBody = R"zsh(
_retort_fill() { # source, results folder, sweep file
  local name=${1%% *}
  local -a found
  case $name in
    words) found=(${=1#words}); compadd -a found ;;
    trials | audited)
      found=(${(f)"$($words[1] list --names ${2:+--results} ${2:+$2} 2>/dev/null)"})
      compadd -a found
      [[ $name == trials ]] || _files -g '*.toml' ;;
    profiles | tables | figures)
      [[ -r $3 ]] && found=(${(fu)"$(sed -n "s/^\[${name%s}\.\([A-Za-z0-9_-]*\).*/\1/p" $3)"})
      compadd -a found ;;
    sweeps) _files -g '*.toml' ;;
    files) _files ;;
    folders | results) _files -/ ;;
  esac
}

_retort() {
  local current=$words[CURRENT] at="" option="" results="" sweep="" word source
  local -i seen=0 i
  local -a found
  for ((i = 2; i < CURRENT; ++i)); do
    word=${(Q)words[i]}
    [[ $words[i] == (\~|\~/*) ]] && word=$HOME${word#\~}
    if [[ -n $option ]]; then
      [[ $option == --results ]] && results=$word
      option=""
    elif [[ $word == --*=* ]]; then
      [[ $word == --results=* ]] && results=${word#*=}
    elif [[ $word == -* ]]; then
      [[ -n $(_retort_value $at\|$word) ]] && option=$word
    elif _retort_commands $at && (( ${found[(I)$word:*]} )); then
      at=${at:+$at }$word
    else
      [[ $word == *.toml ]] && sweep=$word
      seen+=1
    fi
    found=()
  done
  if [[ -z $option && $current == --*=* ]]; then
    option=${current%%=*}
    compset -P '*='
  fi
  if [[ -n $option ]]; then
    _retort_fill "$(_retort_value $at\|$option)" "$results" "$sweep"
  elif [[ $current == -* ]]; then
    _retort_options $at
    _describe -o option found
  elif _retort_commands $at; then
    _describe command found
  else
    _retort_fill "$(_retort_argument $at\|$seen)" "$results" "$sweep"
  fi
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _retort "$@"
else
  compdef _retort retort
fi
)zsh";

// "name:what it is", as _describe wants it.
std::string Described(const std::string& name, const std::string& help) {
  std::string text;
  for (const char letter : name) text += letter == ':' ? "\\:" : std::string(1, letter);
  return ShellText(text + ":" + help);
}

std::string Cases(const std::string& function, const std::string& body, const std::string& otherwise) {
  return fmt::format("{}() {{\n  case $1 in\n{}{}  esac\n}}\n", function, body, otherwise);
}

// Each fills the array `found` of its caller.
std::string Commands(const CommandNode& root) {
  std::string body;
  for (const CommandNode* command : AllCommands(root)) {
    if (command->commands.empty()) continue;
    body += fmt::format("    {}) found=(\n", ShellText(command->path));
    for (const CommandNode& below : command->commands) body += "      " + Described(below.name, below.help) + "\n";
    body += "    ) ;;\n";
  }
  return Cases("_retort_commands", body, "    *) found=(); return 1 ;;\n");
}

std::string Options(const CommandNode& root) {
  std::string body;
  for (const CommandNode* command : AllCommands(root)) {
    body += fmt::format("    {}) found=(\n", ShellText(command->path));
    for (const Parameter* option : OptionsOf(root, *command))
      body += "      " + Described(option->names.back(), option->help) + "\n";
    body += "    ) ;;\n";
  }
  return Cases("_retort_options", body, "");
}

std::string Case(const std::string& pattern, const std::string& text) {
  return fmt::format("    {}) print -r -- {} ;;\n", pattern, ShellText(text));
}

std::string ValuesOf(const CommandNode& command) {
  std::string body;
  for (const Parameter& option : command.parameters) {
    if (option.positional || option.value.empty()) continue;
    for (const std::string& name : option.names)
      body += Case((command.path.empty() ? "*" : ShellText(command.path)) + ShellText("|" + name), SourceText(option));
  }
  return body;
}

std::string Values(const CommandNode& root) {
  std::string body;
  for (const CommandNode* command : AllCommands(root))
    if (command != &root) body += ValuesOf(*command);
  return Cases("_retort_value", body, ValuesOf(root));
}

std::string Arguments(const CommandNode& root) {
  std::string body;
  for (const CommandNode* command : AllCommands(root)) {
    const std::vector<const Parameter*> arguments = ArgumentsOf(*command);
    for (std::size_t i = 0; i < arguments.size(); ++i)
      body += Case(ShellText(command->path + "|") + (arguments[i]->repeats ? "*" : std::to_string(i)),
                   SourceText(*arguments[i]));
  }
  return Cases("_retort_argument", body, "");
}

}  // namespace

std::string ZshCompletion(const CommandNode& root) {
  return "#compdef retort\n# Completion of retort in zsh, written by `retort completion zsh`.\n" + Commands(root) +
         Options(root) + Values(root) + Arguments(root) + kBody;
}

}  // namespace retort::orchestrator::cli
