// retort completion, retort man
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "orchestrator/cli/claim_json.h"
#include "orchestrator/cli/command_line.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/completion.h"
#include "orchestrator/cli/man_text.h"
#include "orchestrator/cli/output_file.h"
#include "orchestrator/cli/version.h"
#include "storage/file_modes.h"

namespace retort::orchestrator::cli {
namespace {

std::string CompletionFor(const std::string& shell, const CommandNode& root) {
  if (shell == "bash") return BashCompletion(root);
  return shell == "zsh" ? ZshCompletion(root) : FishCompletion(root);
}

// With --json the document holds the text.
void Print(const Invocation& call, const std::string& key, const std::string& text) {
  if (!call.line.global.json) return call.console.Data(text);
  nlohmann::ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document[key] = text;
  call.console.Data(DocumentText(document));
}

int WritePages(const Invocation& call, const CommandNode& root) {
  const std::string& folder = call.line.pages;
  const storage::UmaskScope users(call.umask);
  if (const Status made = call.env.CreateDirectories(folder); !made.ok()) return call.console.Fail(made);
  const std::vector<ManPage> pages = ManPages(root, VersionText());
  const OutputRule rule{.force = call.line.force, .mark = kManMark, .kind = "page"};
  for (const ManPage& page : pages) {
    const Status written = WriteOutput(call.env, folder + "/" + page.name + ".1", page.text, rule);
    if (!written.ok()) return call.console.Fail(written);
  }
  call.console.Message(fmt::format("{} pages in {}", pages.size(), folder));
  return 0;
}

}  // namespace

int CompletionCommand(const Invocation& call) {
  Print(call, "script", CompletionFor(call.line.shell, CommandTree()));
  return 0;
}

int ManCommand(const Invocation& call) {
  const CommandNode root = CommandTree();
  if (!call.line.pages.empty()) return WritePages(call, root);
  const CommandNode* command = call.line.page.empty() ? &root : FindCommand(root, call.line.page);
  if (command != nullptr) {
    Print(call, "page", ManPageOf(root, *command, VersionText()).text);
    return 0;
  }
  Diagnostic error;
  error.key = call.line.page;
  error.message = "there is no command `" + call.line.page + "`.";
  error.choices = NearestFirst(call.line.page, CommandNames());
  return call.console.Fail({error});
}

}  // namespace retort::orchestrator::cli
