#include "orchestrator/cli/shell/completion.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator::cli {

ValueSource FindValueSource(const Parameter& parameter) {
  using enum ValueSource;
  constexpr std::array<std::pair<std::string_view, ValueSource>, 8> kByName = {{{"--results", results},
                                                                                {"--profile", profiles},
                                                                                {"SWEEP", sweeps},
                                                                                {"TRIAL", trials},
                                                                                {"TRIAL|SWEEP", audited},
                                                                                {"TABLE", tables},
                                                                                {"FIGURE", figures},
                                                                                {"PATH", files}}};
  if (!parameter.choices.empty()) return words;
  for (const auto& [name, source] : kByName)
    if (parameter.names.back() == name) return source;
  if (parameter.value == "DIR" || parameter.value == "FOLDER") return folders;
  return parameter.value.starts_with("FILE") || parameter.value == "PATH" ? files : text;
}

std::string GetSourceName(ValueSource source) {
  constexpr std::array<std::string_view, 11> kNames = {"text",   "words",   "files",    "folders", "results", "sweeps",
                                                       "trials", "audited", "profiles", "tables",  "figures"};
  return std::string(kNames.at(static_cast<std::size_t>(source)));
}

std::vector<const Parameter*> ListOptions(const CommandNode& root, const CommandNode& command) {
  std::vector<const Parameter*> options;
  for (const Parameter& parameter : command.parameters)
    if (!parameter.positional) options.push_back(&parameter);
  if (command.path.empty()) return options;
  for (const Parameter& parameter : root.parameters)
    if (!parameter.positional && FindParameter(command, parameter.names.back()) == nullptr)
      options.push_back(&parameter);
  return options;
}

std::string FormatSource(const Parameter& parameter) {
  std::string text = GetSourceName(FindValueSource(parameter));
  for (const std::string& choice : parameter.choices) text += " " + choice;
  return text;
}

namespace {

// One branch of a shell's `case`.
using CaseFormat = std::string (*)(const std::string& pattern, const std::string& text);

// Where the values of each option of `command` come from, by "COMMAND|OPTION"; of the program's own by "*|OPTION".
std::string FormatOptionValues(const CommandNode& command, CaseFormat format) {
  std::string body;
  for (const Parameter& option : command.parameters) {
    if (option.positional || option.value.empty()) continue;
    for (const std::string& name : option.names)
      body += format((command.path.empty() ? "*" : QuoteForShell(command.path)) + QuoteForShell("|" + name),
                     FormatSource(option));
  }
  return body;
}

// Of all commands but the program itself.
std::string FormatCommandValues(const CommandNode& root, CaseFormat format) {
  std::string body;
  for (const CommandNode* command : ListAllCommands(root))
    if (command != &root) body += FormatOptionValues(*command, format);
  return body;
}

}  // namespace

namespace bash {
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
  return fmt::format("    {}) echo {} ;;\n", pattern, QuoteForShell(text));
}

std::string Commands(const CommandNode& root) {
  std::string body;
  for (const CommandNode* command : ListAllCommands(root)) {
    std::string names;
    for (const CommandNode& below : command->commands) names += (names.empty() ? "" : " ") + below.name;
    if (!names.empty()) body += Case(QuoteForShell(command->path), names);
  }
  return Cases("_retort_commands", "$1", body);
}

std::string Options(const CommandNode& root) {
  std::string body;
  for (const CommandNode* command : ListAllCommands(root)) {
    std::string names;
    for (const Parameter* option : ListOptions(root, *command))
      names += (names.empty() ? "" : " ") + option->names.back();
    body += Case(QuoteForShell(command->path), names);
  }
  return Cases("_retort_options", "$1", body);
}

// Those of the program come last: a command may have one of the same name.
std::string Values(const CommandNode& root) {
  return Cases("_retort_value", "\"$1|$2\"", FormatCommandValues(root, Case) + FormatOptionValues(root, Case));
}

std::string Arguments(const CommandNode& root) {
  std::string body;
  for (const CommandNode* command : ListAllCommands(root)) {
    const std::vector<const Parameter*> arguments = ListPositionals(*command);
    for (std::size_t i = 0; i < arguments.size(); ++i)
      body += Case(QuoteForShell(command->path + "|") + (arguments[i]->repeats ? "*" : std::to_string(i)),
                   FormatSource(*arguments[i]));
  }
  return Cases("_retort_argument", "\"$1|$2\"", body);
}

std::string Script(const CommandNode& root) {
  return "# Completion of retort in bash, written by `retort completion bash`.\n" + Commands(root) + Options(root) +
         Values(root) + Arguments(root) + kBody;
}

}  // namespace
}  // namespace bash

std::string FormatBashCompletion(const CommandNode& root) { return bash::Script(root); }

namespace zsh {
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
  return QuoteForShell(text + ":" + help);
}

std::string Cases(const std::string& function, const std::string& body, const std::string& otherwise) {
  return fmt::format("{}() {{\n  case $1 in\n{}{}  esac\n}}\n", function, body, otherwise);
}

// Each fills the array `found` of its caller.
std::string Commands(const CommandNode& root) {
  std::string body;
  for (const CommandNode* command : ListAllCommands(root)) {
    if (command->commands.empty()) continue;
    body += fmt::format("    {}) found=(\n", QuoteForShell(command->path));
    for (const CommandNode& below : command->commands) body += "      " + Described(below.name, below.help) + "\n";
    body += "    ) ;;\n";
  }
  return Cases("_retort_commands", body, "    *) found=(); return 1 ;;\n");
}

std::string Options(const CommandNode& root) {
  std::string body;
  for (const CommandNode* command : ListAllCommands(root)) {
    body += fmt::format("    {}) found=(\n", QuoteForShell(command->path));
    for (const Parameter* option : ListOptions(root, *command))
      body += "      " + Described(option->names.back(), option->help) + "\n";
    body += "    ) ;;\n";
  }
  return Cases("_retort_options", body, "");
}

std::string Case(const std::string& pattern, const std::string& text) {
  return fmt::format("    {}) print -r -- {} ;;\n", pattern, QuoteForShell(text));
}

std::string Values(const CommandNode& root) {
  return Cases("_retort_value", FormatCommandValues(root, Case), FormatOptionValues(root, Case));
}

std::string Arguments(const CommandNode& root) {
  std::string body;
  for (const CommandNode* command : ListAllCommands(root)) {
    const std::vector<const Parameter*> arguments = ListPositionals(*command);
    for (std::size_t i = 0; i < arguments.size(); ++i)
      body += Case(QuoteForShell(command->path + "|") + (arguments[i]->repeats ? "*" : std::to_string(i)),
                   FormatSource(*arguments[i]));
  }
  return Cases("_retort_argument", body, "");
}

std::string Script(const CommandNode& root) {
  return "#compdef retort\n# Completion of retort in zsh, written by `retort completion zsh`.\n" + Commands(root) +
         Options(root) + Values(root) + Arguments(root) + kBody;
}

}  // namespace
}  // namespace zsh

std::string FormatZshCompletion(const CommandNode& root) { return zsh::Script(root); }

namespace fish {
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
  switch (FindValueSource(parameter)) {
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

std::string MakeLines(const CommandNode& command) {
  std::string text;
  for (const CommandNode& below : command.commands)
    text += At(command.path) + " -a " + below.name + " -d " + Quoted(below.help) + "\n";
  const std::vector<const Parameter*> arguments = ListPositionals(command);
  for (std::size_t i = 0; i < arguments.size(); ++i) text += ArgumentLine(command, *arguments[i], i);
  for (const Parameter& parameter : command.parameters)
    if (!parameter.positional) text += OptionLine(command, parameter);
  return text;
}

// Lists that __retort_read asks: every command, and every option that takes a value.
std::string Lists(const CommandNode& root) {
  std::string commands = "set -g __retort_commands", valued = "set -g __retort_valued";
  for (const CommandNode* command : ListAllCommands(root)) {
    if (!command->path.empty()) commands += " " + Quoted(command->path);
    for (const Parameter& option : command->parameters)
      if (!option.positional && !option.value.empty())
        for (const std::string& name : option.names) valued += " " + Quoted(command->path + "|" + name);
  }
  return commands + "\n" + valued + "\n";
}

std::string Script(const CommandNode& root) {
  std::string text = "# Completion of retort in fish, written by `retort completion fish`.\n" + Lists(root) + kHead;
  for (const CommandNode* command : ListAllCommands(root)) text += MakeLines(*command);
  return text;
}

}  // namespace
}  // namespace fish

std::string FishCompletion(const CommandNode& root) { return fish::Script(root); }

}  // namespace retort::orchestrator::cli
