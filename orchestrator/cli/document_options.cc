#include "orchestrator/cli/document_options.h"

#include <CLI/CLI.hpp>

namespace retort::orchestrator::cli {

void AddDocuments(CLI::App& app, CommandLine& line) {
  CLI::App* completion = app.add_subcommand("completion", "Completion of commands, options and values for a shell");
  completion->fallthrough();
  completion->add_option("SHELL", line.shell, "The shell that is to read it")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->footer(
      "\nFor the running shell alone: source <(retort completion bash), likewise zsh; in fish: retort completion fish | "
      "source");
  CLI::App* man = app.add_subcommand("man", "The manual page of a command, or of the program");
  man->fallthrough();
  CLI::Option* page = man->add_option("COMMAND", line.page, "A command, as run (default: the program)");
  man->add_option("--all", line.pages, "Write every page into this folder instead")->type_name("DIR")->excludes(page);
  man->add_flag("--force", line.force, "With --all: also over files that are no pages of retort's");
}

}  // namespace retort::orchestrator::cli
