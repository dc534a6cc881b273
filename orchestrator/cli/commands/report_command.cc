#include <CLI/CLI.hpp>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "orchestrator/cli/commands/archive_commands.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/commands/output_file.h"
#include "orchestrator/cli/render/html.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/report_page.h"
#include "orchestrator/cli/render/report_reader.h"
#include "orchestrator/process/system_clock.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/trial_names.h"
#include "storage/files/file_modes.h"

namespace retort::orchestrator::cli {

// retort report
namespace {

constexpr OutputRule kReplaced{.mark = kPageMark, .kind = "page", .can_force = false};

// Reads what the page is made of; the page says what could not be read of it.
ReportPage ReadPage(const Invocation& call, ResultsView& view, const std::string& command,
                    const std::string& shown = "") {
  return ReadReport(call.env, view, {call.line.global.profile, command, ReadClocks().unix_seconds, shown}, MakeReport);
}

void ReplaceAll(const std::string& from, const std::string& to, std::string& text) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// The folder that `retort import` is to make of the rows of `sweep`: a word that stands alike in text and in a command.
std::string NameImported(const std::string& sweep) {
  const std::string folder = "results/" + sweep;
  return QuoteForShell(folder) == folder ? folder : "results/imported";
}

// The same of the archive that --from names. The folder into which it was unpacked is gone when the page is read, so
// the page names the one that `retort import` makes, and begins its commands with that.
ReportPage ReadArchivedPage(const Invocation& call, ResultsView& view, const std::string& out) {
  const std::string from = QuoteForShell(call.line.from), folder = NameImported(view.sweep), gone = view.directory;
  ReportPage page =
      ReadPage(call, view,
               "retort report --from " + from + " --out " + QuoteForShell(out) +
                   "\n# its rows as a results folder, for what follows\nretort import " + from + " --results " + folder,
               folder);
  // Sentences about files that cannot be read name them where they were.
  ReplaceAll(EscapeHtml(gone), folder, page.html);
  for (std::string& trouble : page.troubles) ReplaceAll(gone, folder, trouble);
  return page;
}

// `from`: the archive that was read in place of a results folder; empty: none.
std::string MakeJson(const ResultsView& view, const std::string& from, const ReportPage& page, const std::string& out) {
  nlohmann::ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["results"] = from.empty() ? view.directory : from;
  document["out"] = out;
  document["bytes"] = page.html.size();
  document["trials"] = view.trials.size();
  document["detailed"] = page.detailed;
  document["left_out"] = page.left_out;
  document["unreadable"] = page.troubles;
  return FormatDocument(document);
}

}  // namespace

void AddReport(CLI::App& app, CommandLine& line) {
  CLI::App* report = AddCommand(
      app, "report", "One HTML page of a results folder that needs no network: tables, figures, trials, privacy");
  AddFrom(*report, line);
  report
      ->add_option("--out", line.out,
                   "The page to write, - is stdout; a page that is there is replaced (default report.html in the "
                   "results folder)")
      ->type_name("FILE");
}

int ExecuteReport(const Invocation& call) {
  const Result<FoundResults> found = FindResults(call.env, call.line.global.results);
  if (!found.ok()) return call.console.Fail(found.status());
  if (found->chosen) call.console.Message("results: " + found->directory);
  const std::string out = call.line.out.empty() ? found->directory + "/report.html" : call.line.out;
  const bool to_stdout = out == "-" || out == "/dev/stdout";
  if (to_stdout && call.line.global.json)
    return call.console.Fail(UsageError("--json and the page would both go to stdout; name a file with --out."));
  if (const Status may = to_stdout ? Status() : CheckOutput(call.env, out, kReplaced); !may.ok())
    return call.console.Fail(may);
  Result<ResultsView> view = ReadShownResults(call.env, found->directory, Plans::newest);
  if (!view.ok()) return call.console.Fail(view.status());
  const std::string command =
      "retort report --results " + QuoteForShell(view->directory) + " --out " + QuoteForShell(out);
  const ReportPage page = call.line.from.empty() ? ReadPage(call, *view, command) : ReadArchivedPage(call, *view, out);
  const storage::UmaskScope modes(call.line.out.empty() ? ChooseUmask(call, found->directory) : call.umask);
  if (to_stdout) {
    call.console.Data(page.html);
  } else if (const Status written = WriteOutput(call.env, out, page.html, kReplaced); !written.ok()) {
    return call.console.Fail(written);
  }
  for (const std::string& trouble : page.troubles) call.console.Message("warning: " + trouble);
  if (!to_stdout) call.console.Data(call.line.global.json ? MakeJson(*view, call.line.from, page, out) : out + "\n");
  return page.troubles.empty() ? 0 : 1;
}

}  // namespace retort::orchestrator::cli
