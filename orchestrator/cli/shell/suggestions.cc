#include "orchestrator/cli/shell/suggestions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace retort::orchestrator::cli {
namespace {

// The command that the words so far lead to, below those that it belongs to.
using Chain = std::vector<const CommandNode*>;

std::string Words(const CommandNode& command) { return command.path.empty() ? "retort" : "retort " + command.path; }

std::string Help(const CommandNode& command) { return "`" + Words(command) + " --help`"; }

// A negative number is no option.
bool IsOption(const std::string& word) {
  return word.size() > 1 && word.front() == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0;
}

const Parameter* FindOption(const Chain& chain, const std::string& name) {
  for (auto command = chain.rbegin(); command != chain.rend(); ++command)
    if (const Parameter* found = FindParameter(**command, name)) return found;
  return nullptr;
}

Diagnostic UnknownCommandError(const CommandNode& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CommandNode& one : command.commands) names.push_back(one.name);
  const bool calculator = command.path == "epsilon" || command.path == "calibrate";
  Diagnostic error;
  error.key = word;
  error.message = std::string("there is no ") + (calculator ? "mechanism" : "command") + " `" +
                  (calculator || command.path.empty() ? "" : command.path + " ") + word + "`";
  error.choices = command.path.empty() ? FindNearest(word, names) : SortByNearness(word, names);
  if (word == "help" && command.path.empty()) {
    error.choices = {"man"};
    error.message += "; " + Help(command) + " lists the commands, and `retort man COMMAND` explains one.";
    return error;
  }
  error.message += error.choices.empty() ? "; " + Help(command) + " lists the commands." : ".";
  return error;
}

// ", which belongs to `plan`, `run` and `chaos`"; empty where no command has the option.
std::string Owners(const CommandNode& root, const std::string& option) {
  std::vector<std::string> owners;
  for (const CommandNode* command : ListAllCommands(root))
    if (FindParameter(*command, option) != nullptr) owners.push_back("`" + command->path + "`");
  std::string text;
  for (std::size_t i = 0; i < owners.size(); ++i)
    text += (i == 0 ? ", which belongs to " : i + 1 == owners.size() ? " and " : ", ") + owners[i];
  return text;
}

Diagnostic UnknownOptionError(const Chain& chain, const std::string& option) {
  std::vector<std::string> names;
  for (auto command = chain.rbegin(); command != chain.rend(); ++command)
    for (const Parameter& parameter : (*command)->parameters)
      if (!parameter.positional) names.push_back(parameter.names.back());
  Diagnostic error;
  error.key = option;
  error.choices = FindNearest(option, names);
  error.message = "`" + Words(*chain.back()) + "` has no option " + option;
  if (error.choices.empty()) error.message += Owners(*chain.front(), option);
  if (option == "-V") error.choices = {"version"};
  error.message += "; " + Help(*chain.back()) + " shows what is valid.";
  return error;
}

Diagnostic UnknownValueError(const Parameter& parameter, const std::string& value) {
  Diagnostic error;
  error.key = parameter.names.back();
  error.message = error.key + " " + value + " is unknown.";
  error.choices = SortByNearness(value, parameter.choices);
  return error;
}

Diagnostic MissingCommandError(const CommandNode& command) {
  Diagnostic error;
  for (const CommandNode& one : command.commands) error.choices.push_back(one.name);
  error.message = "`" + Words(command) + "` needs a command; " + Help(command) + " shows what is valid.";
  return error;
}

// Of nothing but white space, as Unicode has it, and marks that nobody sees.
bool IsBlank(std::string_view text) {
  static constexpr std::array<std::string_view, 26> kBlanks = {
      " ",      "\t",     "\r",     "\n",     "\v",     "\f",     "\u0085", "\u00a0", "\u1680",
      "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008",
      "\u2009", "\u200a", "\u200b", "\u2028", "\u2029", "\u202f", "\u3000", "\ufeff"};
  while (!text.empty()) {
    const auto blank =
        std::find_if(kBlanks.begin(), kBlanks.end(), [text](std::string_view one) { return text.starts_with(one); });
    if (blank == kBlanks.end()) return false;
    text.remove_prefix(blank->size());
  }
  return true;
}

Diagnostic EmptyValueError(const std::string& option, bool takes_one) {
  Diagnostic error;
  error.key = option;
  error.message = option + (takes_one ? " has an empty value: give it one, or leave the option out."
                                      : " takes no value: leave out what follows it.");
  return error;
}

Diagnostic EmptyArgumentError() {
  Diagnostic error;
  error.message = "an argument is empty: leave it out, or look whether a variable of your script is not set.";
  return error;
}

// The words one after the other: each option with its value, where it takes one.
class EmptyWords {
 public:
  EmptyWords(const CommandNode& root, const std::vector<std::string>& arguments)
      : arguments_(arguments), chain_{&root} {}

  std::optional<Diagnostic> First() {
    for (bool options = true; at_ < arguments_.size(); ++at_) {
      const std::string& word = arguments_[at_];
      if (options && word == "--") {
        options = false;
      } else if (options && IsOption(word)) {
        if (std::optional<Diagnostic> empty = Option(word)) return empty;
      } else if (IsBlank(word)) {
        return EmptyArgumentError();
      } else if (const CommandNode* below = FindCommand(*chain_.back(), word)) {
        chain_.push_back(below);
      }
    }
    return std::nullopt;
  }

 private:
  std::optional<Diagnostic> Option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const bool joined = equals != std::string::npos;
    const std::string name = word.substr(0, equals);
    const Parameter* option = FindOption(chain_, name);
    const bool takes_one = option == nullptr || !option->value.empty();
    if (joined)
      return IsBlank(word.substr(equals + 1)) ? std::optional(EmptyValueError(name, takes_one)) : std::nullopt;
    if (option == nullptr || !takes_one || at_ + 1 == arguments_.size()) return std::nullopt;
    return IsBlank(arguments_[++at_]) ? std::optional(EmptyValueError(name, true)) : std::nullopt;
  }

  const std::vector<std::string>& arguments_;
  Chain chain_;
  std::size_t at_ = 0;
};

bool Among(const std::vector<std::string>& choices, const std::string& value) {
  return choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end();
}

class Walk {
 public:
  Walk(const CommandNode& root, const std::vector<std::string>& arguments) : arguments_(arguments), chain_{&root} {}

  // About commands alone, or about options and their values too.
  std::optional<Diagnostic> First(bool all) {
    for (; at_ < arguments_.size() && arguments_[at_] != "--"; ++at_) {
      const std::string& word = arguments_[at_];
      if (IsOption(word)) {
        std::optional<Diagnostic> wrong = Option(word);
        if (wrong) return all ? wrong : std::nullopt;
      } else if (const CommandNode* below = FindCommand(*chain_.back(), word)) {
        chain_.push_back(below);
      } else if (!chain_.back()->commands.empty()) {
        return UnknownCommandError(*chain_.back(), word);
      } else if (std::optional<Diagnostic> wrong = Word(word)) {
        if (all) return wrong;
      }
    }
    if (all && chain_.back()->needs_command) return MissingCommandError(*chain_.back());
    return std::nullopt;
  }

 private:
  std::optional<Diagnostic> Option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const Parameter* option = FindOption(chain_, name);
    if (option == nullptr) return UnknownOptionError(chain_, name);
    if (option->value.empty()) return std::nullopt;
    if (equals == std::string::npos && ++at_ == arguments_.size()) return std::nullopt;
    const std::string value = equals == std::string::npos ? arguments_[at_] : word.substr(equals + 1);
    return Among(option->choices, value) ? std::nullopt : std::optional(UnknownValueError(*option, value));
  }

  std::optional<Diagnostic> Word(const std::string& word) {
    const std::vector<const Parameter*> positionals = ListPositionals(*chain_.back());
    if (seen_ >= positionals.size()) return std::nullopt;
    const Parameter& parameter = *positionals[seen_++];
    return Among(parameter.choices, word) ? std::nullopt : std::optional(UnknownValueError(parameter, word));
  }

  const std::vector<std::string>& arguments_;
  Chain chain_;
  std::size_t at_ = 0, seen_ = 0;
};

}  // namespace

std::optional<Diagnostic> FindUnknownCommand(const CommandNode& root, const std::vector<std::string>& arguments) {
  return Walk(root, arguments).First(false);
}

std::optional<Diagnostic> FindEmptyValue(const CommandNode& root, const std::vector<std::string>& arguments) {
  return EmptyWords(root, arguments).First();
}

std::optional<Diagnostic> FindMisuse(const CommandNode& root, const std::vector<std::string>& arguments) {
  return Walk(root, arguments).First(true);
}

}  // namespace retort::orchestrator::cli
