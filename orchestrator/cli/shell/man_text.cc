#include "orchestrator/cli/shell/man_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <string_view>
#include <utility>

#include "experiments/base/printable.h"
#include "orchestrator/cli/shell/help_text.h"

namespace retort::orchestrator::cli {
namespace {

struct Fallback {
  std::uint32_t letter;
  std::string_view ascii;
};

// Letters that help and documents use and that some device of groff lacks.
constexpr std::array kFallbacks = {Fallback{0xb1, "+/-"},        Fallback{0xb2, "^2"},    Fallback{0xd7, "x"},
                                   Fallback{0x3b1, "alpha"},     Fallback{0x3b2, "beta"}, Fallback{0x3b4, "delta"},
                                   Fallback{0x3b5, "epsilon"},   Fallback{0x2013, "-"},   Fallback{0x2019, "'"},
                                   Fallback{0x2026, "..."},      Fallback{0x2020, "+"},   Fallback{0x2080, "0"},
                                   Fallback{0x221e, "infinity"}, Fallback{0x2264, "<="},  Fallback{0x2265, ">="}};

// The letter that `text` begins with, and its bytes; a byte that begins none is taken for itself.
std::pair<std::uint32_t, std::size_t> LetterAt(std::string_view text) {
  const std::size_t size = MeasureCodePoint(text, 0);
  if (size == 0) return {static_cast<unsigned char>(text[0]), 1};
  return {DecodeCodePoint(text.substr(0, size)), size};
}

// `hyphen`: how "-" is written.
std::string Escaped(std::string_view text, std::string_view hyphen) {
  std::string out;
  while (!text.empty()) {
    const auto [letter, size] = LetterAt(text);
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += hyphen;
    } else if (letter == '~') {
      out += "\\(ti";
    } else if (letter == '^') {
      out += "\\(ha";
    } else if (letter == '`') {
      out += "\\(ga";
    } else if (letter == '\'') {
      out += "\\(aq";
    } else if (letter >= 0x80) {
      out += fmt::format("\\[u{:04X}]", letter);
    } else {
      out += static_cast<char>(letter);
    }
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace

std::string FormatRoffCode(std::string_view text) {
  const std::string out = Escaped(text, "\\-");
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string FormatRoffBold(std::string_view code) { return "\\fB" + FormatRoffCode(code) + "\\fR"; }

std::string FormatRoffItalic(std::string_view code) { return "\\fI" + FormatRoffCode(code) + "\\fR"; }

std::string EscapeRoff(std::string_view text) {
  std::string out;
  bool code = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('`'), text.size());
    const std::string_view part = text.substr(0, end);
    if (!part.empty()) out += code ? FormatRoffBold(part) : Escaped(part, "-");
    if (end < text.size()) code = !code;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string FormatRoffFallbacks(std::string_view page) {
  std::string requests;
  for (const Fallback& fallback : kFallbacks) {
    const std::string name = fmt::format("\\[u{:04X}]", fallback.letter);
    if (page.find(name) == std::string_view::npos) continue;
    requests += ".fchar " + name + " " + Escaped(fallback.ascii, "-") + "\n";
  }
  return requests;
}

namespace {

std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// The text between pairs of backticks.
std::vector<std::string> CodeIn(std::string_view text) {
  std::vector<std::string> code;
  for (std::size_t at = text.find('`'); at != std::string_view::npos; at = text.find('`', at)) {
    const std::size_t end = text.find('`', at + 1);
    if (end == std::string_view::npos) break;
    code.emplace_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return code;
}

std::string Trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

// "| names | readers | meaning |"
VariableRow ParseVariableRow(std::string_view line) {
  const std::size_t second = line.find('|', 1);
  const std::size_t third = line.find('|', second + 1);
  const std::size_t last = line.rfind('|');
  return {CodeIn(line.substr(0, second)), CodeIn(line.substr(second, third - second)),
          Trimmed(line.substr(third + 1, last - third - 1))};
}

}  // namespace

std::vector<VariableRow> FindVariables(std::string_view document, std::string_view section) {
  std::vector<VariableRow> rows;
  bool inside = false;
  while (!document.empty()) {
    const std::string_view line = TakeLine(document);
    if (line.starts_with("## ")) inside = line.substr(3).starts_with(section);
    if (inside && line.starts_with("| `") && std::count(line.begin(), line.end(), '|') >= 4)
      rows.push_back(ParseVariableRow(line));
  }
  return rows;
}

bool ReadBy(const VariableRow& row, const std::string& path) {
  return std::any_of(row.readers.begin(), row.readers.end(), [&path](const std::string& reader) {
    if (path.empty()) return reader.starts_with("retort");
    const std::string of = reader.starts_with("retort ") ? reader.substr(7) : reader;
    return reader == "retort" || of == path || of.starts_with(path + " ");
  });
}

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
  return ".TP\n" + head + "\n" + EscapeRoff(text) + "\n";
}

std::string MakeHead(const Parameter& parameter) {
  std::string head;
  if (parameter.positional) {
    head = FormatRoffItalic(parameter.names.front());
  } else {
    for (const std::string& name : parameter.names) head += (head.empty() ? "" : ", ") + FormatRoffBold(name);
    if (!parameter.value.empty()) head += " " + FormatRoffItalic(ValueWord(parameter.value));
  }
  return head + (parameter.repeats ? " ..." : "");
}

std::string FormatItems(const CommandNode& command, bool positional) {
  std::string text;
  for (const Parameter& parameter : command.parameters)
    if (parameter.positional == positional && parameter.names.back() != "--help")
      text += Item(MakeHead(parameter), Sentence(parameter));
  return text;
}

std::string Synopsis(const CommandNode& command) {
  std::string text = FormatRoffBold(command.path.empty() ? "retort" : "retort " + command.path) + " [" +
                     FormatRoffItalic("options") + "]";
  for (const Parameter* one : ListPositionals(command)) {
    const std::string word = FormatRoffItalic(one->names.front()) + (one->repeats ? "..." : "");
    text += one->required ? " " + word : " [" + word + "]";
  }
  for (const Parameter& one : command.parameters)
    if (one.required && !one.positional)
      text += " " + FormatRoffBold(one.names.back()) + " " + FormatRoffItalic(ValueWord(one.value));
  if (!command.commands.empty())
    text += command.needs_command ? " " + FormatRoffItalic("command") : " [" + FormatRoffItalic("command") + "]";
  return text + "\n";
}

std::string Examples(const CommandNode& command) {
  std::string text;
  for (const Example& example : FindExamples(command.path))
    text += ".PP\n" + EscapeRoff(example.what) + ":\n.PP\n.RS 4\n.nf\n" + FormatRoffCode(example.line) + "\n.fi\n.RE\n";
  return text;
}

// What the help says below, a paragraph a line.
std::string Note(const CommandNode& command) {
  std::string text;
  for (std::string_view rest = command.note; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) text += ".PP\n" + EscapeRoff(rest.substr(0, end)) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return text;
}

// A command that stands in the page of the one above it.
std::string Below(const CommandNode& command) {
  std::string text = ".SS " + FormatRoffCode("retort " + command.path) + "\n" + EscapeRoff(Stopped(command.help)) +
                     "\n.PP\n" + Synopsis(command) + FormatItems(command, true) + FormatItems(command, false) +
                     Note(command);
  const std::string examples = Examples(command);
  if (!examples.empty()) text += examples;
  for (const CommandNode& one : command.commands) text += Below(one);
  return text;
}

std::string ExitStatus() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitCodeMeaning& one : ListExitCodes())
    text += Item(FormatRoffBold(std::to_string(one.code)), Stopped(std::string(one.meaning)));
  return text;
}

std::string Environment(const CommandNode& command) {
  std::string text;
  for (const VariableRow& row : FindVariables(GetEnvironmentDocument(), kVariables)) {
    if (!ReadBy(row, command.path)) continue;
    std::string head;
    for (const std::string& name : row.names) head += (head.empty() ? "" : ", ") + FormatRoffBold(name);
    text += Item(head, Stopped(row.meaning));
  }
  return text.empty() ? "" : ".SH ENVIRONMENT\n" + text;
}

std::string Reference(const std::string& page) { return FormatRoffBold(page) + "(1)"; }

std::string SeeAlso(const CommandNode& root, const CommandNode& command) {
  std::string text;
  if (!command.path.empty()) return ".SH SEE ALSO\n" + Reference("retort") + "\n";
  for (const CommandNode& one : root.commands) text += (text.empty() ? "" : ",\n") + Reference(PageName(one));
  return ".SH SEE ALSO\n" + text + "\n";
}

std::string CommandList(const CommandNode& command) {
  std::string text;
  if (command.path.empty()) {
    for (const CommandNode& one : command.commands) text += Item(Reference(PageName(one)), Stopped(one.help));
  } else {
    for (const CommandNode& one : command.commands) text += Below(one);
  }
  return text.empty() ? "" : ".SH COMMANDS\n" + text;
}

std::string Body(const CommandNode& root, const CommandNode& command) {
  std::string what =
      command.path.empty() ? "sweeps of private model distillation, and tables whose epsilons hold" : command.help;
  std::string text = ".SH NAME\n" + FormatRoffCode(PageName(command)) + " \\- " + EscapeRoff(what) +
                     "\n.SH SYNOPSIS\n" + Synopsis(command) + ".SH DESCRIPTION\n" + EscapeRoff(Stopped(command.help)) +
                     "\n";
  text += FormatItems(command, true);
  if (!command.path.empty()) text += Note(command);
  text += CommandList(command) + ".SH OPTIONS\n" + FormatItems(command, false) +
          Item(FormatRoffBold("-h") + ", " + FormatRoffBold("--help"), "Print a summary of this page, and end.");
  if (!command.path.empty()) text += ".SS With every command\n" + FormatItems(root, false);
  const std::string examples = Examples(command);
  if (!examples.empty()) text += ".SH EXAMPLES\n" + examples;
  return text + ExitStatus() + Environment(command) + SeeAlso(root, command);
}

}  // namespace

ManPage MakeManPage(const CommandNode& root, const CommandNode& command, const std::string& version) {
  const std::string name = PageName(command);
  const std::string body = Body(root, command);
  return {name, ".TH " + FormatRoffCode(Upper(name)) + " 1 \"\" \"retort " + FormatRoffCode(version) +
                    "\" \"Retort\"\n" + FormatRoffFallbacks(body) + ".nh\n.ad l\n" + body};
}

std::vector<ManPage> MakeManPages(const CommandNode& root, const std::string& version) {
  std::vector<ManPage> pages = {MakeManPage(root, root, version)};
  for (const CommandNode& command : root.commands) pages.push_back(MakeManPage(root, command, version));
  return pages;
}

}  // namespace retort::orchestrator::cli
