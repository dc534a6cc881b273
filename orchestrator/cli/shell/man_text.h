// Makes manual pages of the commands as the parser knows them, their examples, the exit codes and the list of
// environment variables. What is written is ASCII: other letters go out as \[uXXXX], with a fallback for devices that
// lack them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/cli/shell/command_tree.h"

namespace retort::orchestrator::cli {

// Running text: lines that may be filled, none of which is taken for a request. `code` in backticks is bold.
[[nodiscard]] std::string EscapeRoff(std::string_view text);

// What is typed or stands in a file, letter by letter: hyphens stay what they are when copied.
[[nodiscard]] std::string FormatRoffCode(std::string_view text);
[[nodiscard]] std::string FormatRoffBold(std::string_view code);
[[nodiscard]] std::string FormatRoffItalic(std::string_view code);

// Requests that define a fallback for every \[uXXXX] of `page`; they stand before its first line of text.
[[nodiscard]] std::string FormatRoffFallbacks(std::string_view page);

// The environment variables that Retort's programs read, as cluster/ENVIRONMENT.md lists them.

// The bytes of cluster/ENVIRONMENT.md; defined in a file that the build generates.
[[nodiscard]] std::string_view GetEnvironmentDocument();

struct VariableRow {
  std::vector<std::string> names;    // "XDG_CACHE_HOME", "HOME"
  std::vector<std::string> readers;  // "retort run", "plan", "until-complete.sh"; "plan" is short for "retort plan"
  std::string meaning;               // markdown: code in backticks
};

// The rows of the table below the heading `section` ("Running a sweep"); none where there is no such heading.
[[nodiscard]] std::vector<VariableRow> FindVariables(std::string_view document, std::string_view section);

// Does the command `path` ("run", "data") or one below it read it? Of an empty path: does any program of Retort?
[[nodiscard]] bool ReadBy(const VariableRow& row, const std::string& path);

// Manual pages, made of the commands as the parser knows them, their examples, the exit codes and the list of
// environment variables.

struct ManPage {
  std::string name;  // "retort", "retort-run": the file is <name>.1
  std::string text;  // roff, for the man macros
};

// Of the program where `command` is `root`; else of a command directly below it, with the commands below that.
// `version`: as shown in the foot of the page.
[[nodiscard]] ManPage MakeManPage(const CommandNode& root, const CommandNode& command, const std::string& version);

// The program's page first.
[[nodiscard]] std::vector<ManPage> MakeManPages(const CommandNode& root, const std::string& version);

}  // namespace retort::orchestrator::cli
