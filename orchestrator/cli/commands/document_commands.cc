#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "experiments/base/json.h"
#include "experiments/sweep/key_docs.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/cli/commands/command_line.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/output_file.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/version.h"
#include "orchestrator/cli/shell/completion.h"
#include "orchestrator/cli/shell/man_text.h"
#include "storage/files/file_modes.h"

namespace retort::orchestrator::cli {

void AddDocuments(CLI::App& app, CommandLine& line) {
  AddCommand(app, "schema", "JSON Schema of the sweep file");
  CLI::App* version = AddCommand(app, "version", "Version; with --verbose, how it was built");
  version->add_flag("--verbose", line.verbose, "Compiler, build type, libraries, file format versions");

  CLI::App* completion = app.add_subcommand("completion", "Completion of commands, options and values for a shell");
  completion->fallthrough();
  completion->add_option("SHELL", line.document.shell, "The shell that is to read it")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->footer(
      "\nFor the running shell alone: source <(retort completion bash), likewise zsh; in fish: retort completion fish "
      "| "
      "source");
  CLI::App* man = app.add_subcommand("man", "The manual page of a command, or of the program");
  man->fallthrough();
  CLI::Option* page = man->add_option("COMMAND", line.document.page, "A command, as run (default: the program)");
  man->add_option("--all", line.document.pages, "Write every page into this folder instead")
      ->type_name("DIR")
      ->excludes(page);
  man->add_flag("--force", line.force, "With --all: also over files that are no pages of retort's");
}

// retort completion, retort man
namespace {

std::string CompletionFor(const std::string& shell, const CommandNode& root) {
  if (shell == "bash") return FormatBashCompletion(root);
  return shell == "zsh" ? FormatZshCompletion(root) : FishCompletion(root);
}

// With --json the document holds the text.
void Print(const Invocation& call, const std::string& key, const std::string& text) {
  if (!call.line.global.json) return call.console.Data(text);
  nlohmann::ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document[key] = text;
  call.console.Data(FormatDocument(document));
}

int WritePages(const Invocation& call, const CommandNode& root) {
  const std::string& folder = call.line.document.pages;
  const storage::UmaskScope users(call.umask);
  if (const Status made = call.env.CreateDirectories(folder); !made.ok()) return call.console.Fail(made);
  const std::vector<ManPage> pages = MakeManPages(root, FormatVersion());
  const OutputRule rule{.force = call.line.force, .mark = kManMark, .kind = "page"};
  for (const ManPage& page : pages) {
    const Status written = WriteOutput(call.env, folder + "/" + page.name + ".1", page.text, rule);
    if (!written.ok()) return call.console.Fail(written);
  }
  call.console.Message(fmt::format("{} pages in {}", pages.size(), folder));
  return 0;
}

}  // namespace

int ExecuteCompletion(const Invocation& call) {
  Print(call, "script", CompletionFor(call.line.document.shell, MakeProgramTree()));
  return 0;
}

int ExecuteMan(const Invocation& call) {
  const CommandNode root = MakeProgramTree();
  if (!call.line.document.pages.empty()) return WritePages(call, root);
  const CommandNode* command = call.line.document.page.empty() ? &root : FindCommand(root, call.line.document.page);
  if (command != nullptr) {
    Print(call, "page", MakeManPage(root, *command, FormatVersion()).text);
    return 0;
  }
  Diagnostic error;
  error.key = call.line.document.page;
  error.message = "there is no command `" + call.line.document.page + "`.";
  error.choices = SortByNearness(call.line.document.page, ListCommandNames());
  return call.console.Fail({error});
}

int ExecuteSchema(const Invocation& call) {
  std::string schema = FormatSweepJsonSchema();
  if (call.line.global.json) {
    nlohmann::ordered_json document;
    document["schema_version"] = kSchemaVersion;
    document["schema"] = TryParseOrderedJson(schema);
    schema = FormatDocument(document);
  }
  if (!schema.ends_with('\n')) schema += '\n';
  call.console.Data(schema);
  return 0;
}

int ExecuteVersion(const Invocation& call) {
  if (call.line.global.json) {
    nlohmann::ordered_json document;
    document["schema_version"] = kSchemaVersion;
    for (const auto& [name, value] : BuildFacts()) document[name] = value;
    call.console.Data(FormatDocument(document));
    return 0;
  }
  call.console.Text("retort " + FormatVersion() + "\n");
  if (!call.line.verbose) return 0;
  for (const auto& [name, value] : BuildFacts()) call.console.Text("  " + name + ": " + value + "\n");
  return 0;
}

}  // namespace retort::orchestrator::cli
