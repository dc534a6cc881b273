#include <fmt/format.h>

#include "orchestrator/cli/completion.h"
#include "orchestrator/cli/completion_words.h"
#include "orchestrator/cli/shell_text.h"

namespace retort::orchestrator::cli {
namespace {

// Everything below the tables. A value after "=" is a word of its own to bash; files keep their spaces.
constexpr const char* kBody = R"bash(
_retort_names_in() { # the names of [$1.NAME] in the sweep file $2
  [[ -r $2 ]] && sed -n "s/^\[$1\.\([A-Za-z0-9_-]*\).*/\1/p" "$2" | sort -u
}

_retort_plain() { # a word as the shell would read it: without quotes, and with its home folder
  local word=$1 plain="" quote="" letter
  local -i i
  case $word in
    '~') word=$HOME ;;
    '~/'*) word=$HOME/${word:2} ;;
  esac
  for ((i = 0; i < ${#word}; ++i)); do
    letter=${word:i:1}
    if [[ $quote != \' && $letter == \\ && ( -z $quote || ${word:i+1:1} == [\\\"\$\`] ) ]]; then
      i+=1
      plain+=${word:i:1}
    elif [[ $letter == "$quote" ]]; then
      quote=""
    elif [[ -z $quote && $letter == [\'\"] ]]; then
      quote=$letter
    else
      plain+=$letter
    fi
  done
  printf '%s' "$plain"
}

_retort_fill() { # source, current word, results folder, sweep file
  local name=${1%% *}
  case $name in
    words) mapfile -t COMPREPLY < <(compgen -W "${1#words}" -- "$2") ;;
    trials | audited)
      mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" list --names ${3:+--results "$3"} 2>/dev/null)" -- "$2")
      [[ $name == trials ]] || _retort_files "$2" '!*.toml' ;;
    profiles | tables | figures) mapfile -t COMPREPLY < <(compgen -W "$(_retort_names_in "${name%s}" "$4")" -- "$2") ;;
    sweeps) _retort_files "$2" '!*.toml' ;;
    files) _retort_files "$2" '' ;;
    folders | results)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
  esac
}

_retort_files() { # current word, pattern of those that are left out
  local found
  compopt -o filenames 2>/dev/null
  mapfile -t found < <(compgen -f ${2:+-X "$2"} -- "$1"; [[ -z $2 ]] || compgen -d -- "$1")
  COMPREPLY+=("${found[@]}")
}

_retort() {
  local current=${COMP_WORDS[COMP_CWORD]} path="" option="" results="" sweep="" word source i
  local -i seen=0
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=$(_retort_plain "${COMP_WORDS[i]}")
    if [[ $word == = ]]; then
      continue
    elif [[ -n $option ]]; then
      [[ $option == --results ]] && results=$word
      option=""
    elif [[ $word == -* ]]; then
      [[ -n $(_retort_value "$path" "$word") ]] && option=$word
    elif [[ " $(_retort_commands "$path") " == *" $word "* ]]; then
      path=${path:+$path }$word
    else
      [[ $word == *.toml ]] && sweep=$word
      seen+=1
    fi
  done
  [[ $current == = ]] && current=""
  if [[ -n $option ]]; then
    source=$(_retort_value "$path" "$option")
  elif [[ $current == -* ]]; then
    source="words $(_retort_options "$path")"
  else
    source="words $(_retort_commands "$path")"
    [[ $source == "words " ]] && source=$(_retort_argument "$path" "$seen")
  fi
  _retort_fill "$source" "$current" "$results" "$sweep"
}

complete -F _retort retort
)bash";

std::string Cases(const std::string& function, const std::string& subject, const std::string& body) {
  return fmt::format("{}() {{\n  case {} in\n{}  esac\n}}\n", function, subject, body);
}

std::string Case(const std::string& pattern, const std::string& text) {
  return fmt::format("    {}) echo {} ;;\n", pattern, ShellText(text));
}

std::string Commands(const CommandNode& root) {
  std::string body;
  for (const CommandNode* command : AllCommands(root)) {
    std::string names;
    for (const CommandNode& below : command->commands) names += (names.empty() ? "" : " ") + below.name;
    if (!names.empty()) body += Case(ShellText(command->path), names);
  }
  return Cases("_retort_commands", "$1", body);
}

std::string Options(const CommandNode& root) {
  std::string body;
  for (const CommandNode* command : AllCommands(root)) {
    std::string names;
    for (const Parameter* option : OptionsOf(root, *command)) names += (names.empty() ? "" : " ") + option->names.back();
    body += Case(ShellText(command->path), names);
  }
  return Cases("_retort_options", "$1", body);
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

// Those of the program come last: a command may have one of the same name.
std::string Values(const CommandNode& root) {
  std::string body;
  for (const CommandNode* command : AllCommands(root))
    if (command != &root) body += ValuesOf(*command);
  return Cases("_retort_value", "\"$1|$2\"", body + ValuesOf(root));
}

std::string Arguments(const CommandNode& root) {
  std::string body;
  for (const CommandNode* command : AllCommands(root)) {
    const std::vector<const Parameter*> arguments = ArgumentsOf(*command);
    for (std::size_t i = 0; i < arguments.size(); ++i)
      body += Case(ShellText(command->path + "|") + (arguments[i]->repeats ? "*" : std::to_string(i)),
                   SourceText(*arguments[i]));
  }
  return Cases("_retort_argument", "\"$1|$2\"", body);
}

}  // namespace

std::string BashCompletion(const CommandNode& root) {
  return "# Completion of retort in bash, written by `retort completion bash`.\n" + Commands(root) + Options(root) +
         Values(root) + Arguments(root) + kBody;
}

}  // namespace retort::orchestrator::cli
