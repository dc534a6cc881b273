#include "orchestrator/cli/man_text.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "orchestrator/cli/command_examples.h"
#include "orchestrator/cli/environment_document.h"
#include "orchestrator/cli/exit_codes.h"
#include "orchestrator/cli/roff_text.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::string_view kVariables = "Running a sweep";

std::string PageName(const CommandNode& command) {
  return command.path.empty() ? command.name : "retort-" + command.path;
}

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text;
}

// The parser's names of types, in the words of a manual.
std::string ValueWord(const std::string& value) {
  if (value == "INT" || value == "UINT") return "N";
  return value == "FLOAT" ? "NUMBER" : value;
}

std::string Listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

// "[1 - 4096]"
std::string RangeText(const std::string& range) {
  const std::size_t dash = range.find(" - ");
  return range.substr(1, dash - 1) + " to " + range.substr(dash + 3, range.size() - dash - 4);
}

std::string Stopped(const std::string& text) { return text + (text.ends_with('.') || text.ends_with('?') ? "" : "."); }

std::string Sentence(const Parameter& parameter) {
  std::string text = parameter.help;
  const bool named = !parameter.choices.empty() && parameter.help.find(parameter.choices.back()) != std::string::npos;
  if (!parameter.choices.empty() && !named) text += ": " + Listed(parameter.choices);
  if (!parameter.range.empty()) text += "; " + RangeText(parameter.range);
  if (parameter.required && !parameter.positional) text += "; required";
  return Stopped(text);
}

std::string Item(const std::string& head, const std::string& text) {
  return ".TP\n" + head + "\n" + RoffText(text) + "\n";
}

std::string HeadOf(const Parameter& parameter) {
  std::string head;
  if (parameter.positional) {
    head = RoffItalic(parameter.names.front());
  } else {
    for (const std::string& name : parameter.names) head += (head.empty() ? "" : ", ") + RoffBold(name);
    if (!parameter.value.empty()) head += " " + RoffItalic(ValueWord(parameter.value));
  }
  return head + (parameter.repeats ? " ..." : "");
}

std::string ItemsOf(const CommandNode& command, bool positional) {
  std::string text;
  for (const Parameter& parameter : command.parameters)
    if (parameter.positional == positional && parameter.names.back() != "--help") text += Item(HeadOf(parameter), Sentence(parameter));
  return text;
}

std::string Synopsis(const CommandNode& command) {
  std::string text = RoffBold(command.path.empty() ? "retort" : "retort " + command.path) + " [" +
                     RoffItalic("options") + "]";
  for (const Parameter* one : ArgumentsOf(command)) {
    const std::string word = RoffItalic(one->names.front()) + (one->repeats ? "..." : "");
    text += one->required ? " " + word : " [" + word + "]";
  }
  for (const Parameter& one : command.parameters)
    if (one.required && !one.positional) text += " " + RoffBold(one.names.back()) + " " + RoffItalic(ValueWord(one.value));
  if (!command.commands.empty())
    text += command.needs_command ? " " + RoffItalic("command") : " [" + RoffItalic("command") + "]";
  return text + "\n";
}

std::string Examples(const CommandNode& command) {
  std::string text;
  for (const Example& example : ExamplesOf(command.path))
    text += ".PP\n" + RoffText(example.what) + ":\n.PP\n.RS 4\n.nf\n" + RoffCode(example.line) + "\n.fi\n.RE\n";
  return text;
}

// What the help says below, a paragraph a line.
std::string Note(const CommandNode& command) {
  std::string text;
  for (std::string_view rest = command.note; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) text += ".PP\n" + RoffText(rest.substr(0, end)) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return text;
}

// A command that stands in the page of the one above it.
std::string Below(const CommandNode& command) {
  std::string text = ".SS " + RoffCode("retort " + command.path) + "\n" + RoffText(Stopped(command.help)) + "\n.PP\n" +
                     Synopsis(command) + ItemsOf(command, true) + ItemsOf(command, false) + Note(command);
  const std::string examples = Examples(command);
  if (!examples.empty()) text += examples;
  for (const CommandNode& one : command.commands) text += Below(one);
  return text;
}

std::string ExitStatus() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitCodeMeaning& one : ExitCodes())
    text += Item(RoffBold(std::to_string(one.code)), Stopped(std::string(one.meaning)));
  return text;
}

std::string Environment(const CommandNode& command) {
  std::string text;
  for (const VariableRow& row : VariablesOf(EnvironmentDocument(), kVariables)) {
    if (!ReadBy(row, command.path)) continue;
    std::string head;
    for (const std::string& name : row.names) head += (head.empty() ? "" : ", ") + RoffBold(name);
    text += Item(head, Stopped(row.meaning));
  }
  return text.empty() ? "" : ".SH ENVIRONMENT\n" + text;
}

std::string Reference(const std::string& page) { return RoffBold(page) + "(1)"; }

std::string SeeAlso(const CommandNode& root, const CommandNode& command) {
  std::string text;
  if (!command.path.empty()) return ".SH SEE ALSO\n" + Reference("retort") + "\n";
  for (const CommandNode& one : root.commands) text += (text.empty() ? "" : ",\n") + Reference(PageName(one));
  return ".SH SEE ALSO\n" + text + "\n";
}

std::string Commands(const CommandNode& command) {
  std::string text;
  if (command.path.empty()) {
    for (const CommandNode& one : command.commands) text += Item(Reference(PageName(one)), Stopped(one.help));
  } else {
    for (const CommandNode& one : command.commands) text += Below(one);
  }
  return text.empty() ? "" : ".SH COMMANDS\n" + text;
}

std::string Body(const CommandNode& root, const CommandNode& command) {
  std::string what = command.path.empty() ? "sweeps of private model distillation, and tables whose epsilons hold"
                                          : command.help;
  std::string text = ".SH NAME\n" + RoffCode(PageName(command)) + " \\- " + RoffText(what) + "\n.SH SYNOPSIS\n" +
                     Synopsis(command) + ".SH DESCRIPTION\n" + RoffText(Stopped(command.help)) + "\n";
  text += ItemsOf(command, true);
  if (!command.path.empty()) text += Note(command);
  text += Commands(command) + ".SH OPTIONS\n" + ItemsOf(command, false) +
          Item(RoffBold("-h") + ", " + RoffBold("--help"), "Print a summary of this page, and end.");
  if (!command.path.empty()) text += ".SS With every command\n" + ItemsOf(root, false);
  const std::string examples = Examples(command);
  if (!examples.empty()) text += ".SH EXAMPLES\n" + examples;
  return text + ExitStatus() + Environment(command) + SeeAlso(root, command);
}

}  // namespace

ManPage ManPageOf(const CommandNode& root, const CommandNode& command, const std::string& version) {
  const std::string name = PageName(command);
  const std::string body = Body(root, command);
  return {name, ".TH " + RoffCode(Upper(name)) + " 1 \"\" \"retort " + RoffCode(version) + "\" \"Retort\"\n" +
                    RoffFallbacks(body) + ".nh\n.ad l\n" + body};
}

std::vector<ManPage> ManPages(const CommandNode& root, const std::string& version) {
  std::vector<ManPage> pages = {ManPageOf(root, root, version)};
  for (const CommandNode& command : root.commands) pages.push_back(ManPageOf(root, command, version));
  return pages;
}

}  // namespace retort::orchestrator::cli
