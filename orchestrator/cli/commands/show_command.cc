#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "experiments/base/number_text.h"
#include "experiments/privacy/statement.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/render/audit_text.h"
#include "orchestrator/cli/render/claim_text.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/status_text.h"
#include "orchestrator/cli/render/text_table.h"
#include "orchestrator/core/inventory.h"
#include "orchestrator/reactor/result_row.h"
#include "orchestrator/results/audit_store.h"
#include "orchestrator/results/sweep_status.h"
#include "orchestrator/results/trial_names.h"
#include "storage/files/env.h"
#include "storage/files/path_status.h"

namespace retort::orchestrator::cli {
namespace {

using nlohmann::ordered_json;

struct StoredFile {
  std::string path;  // relative to the results folder
  std::uintmax_t bytes = 0;
};

// `trouble` is set where some cannot be listed.
std::vector<StoredFile> ListFiles(const ResultsView& view, const TrialView& trial, std::string& trouble) {
  namespace fs = std::filesystem;
  std::vector<StoredFile> files;
  std::error_code error;
  if (trial.folder.empty()) return files;
  const fs::path folder = fs::path(view.directory) / trial.folder;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unreadable;
    if (!entry->is_regular_file(unreadable)) continue;
    files.push_back({fs::relative(entry->path(), view.directory, unreadable).string(), entry->file_size(unreadable)});
  }
  if (error && error != std::errc::no_such_file_or_directory)
    trouble = storage::FileError(error.value(), "list all that lies in", folder.string()).message();
  std::sort(files.begin(), files.end(), [](const StoredFile& a, const StoredFile& b) { return a.path < b.path; });
  return files;
}

std::vector<storage::LedgerEntry> FindLedger(const ResultsView& view, TrialId trial) {
  std::vector<storage::LedgerEntry> entries;
  for (const storage::LedgerEntry& entry : view.ledger)
    if (entry.attempt.trial == trial) entries.push_back(entry);
  return entries;
}

std::string RowText(const TrialView& trial) {
  std::string out = fmt::format("{}: {}, {} {}\n", FormatTrialName(trial.spec), GetStateName(trial.state),
                                trial.attempts, trial.attempts == 1 ? "attempt" : "attempts");
  out += fmt::format("  id {}\n", trial.spec.id.Hex());
  if (trial.failure != FailureKind::none)
    out += fmt::format("  last failure: {}{}\n", GetFailureName(trial.failure),
                       trial.detail.empty() ? "" : ": " + trial.detail);
  for (const auto& [key, value] : trial.spec.axes) out += fmt::format("  {} = {}\n", key, value);
  if (!trial.row) return out + "  no row yet\n";
  for (const auto& [name, value] : trial.row->metrics) out += fmt::format("  {}: {}\n", name, FormatShortNumber(value));
  for (const auto& [name, value] : trial.row->timings) out += fmt::format("  {}: {:.4g}\n", name, value);
  if (const int workers = ReadRunTerms(trial.row->provenance_json).per_gpu; workers > 1)
    out += fmt::format("  a test: {} workers shared each GPU (--oversubscribe-gpu), so times say nothing\n", workers);
  return out +
         fmt::format("  row digest {}\n  parameters digest {}\n", trial.row->row_digest, trial.row->parameters_digest);
}

// The trial's privacy in a paragraph; empty before there is a row.
std::string MakeStatement(const TrialView& trial, const std::vector<storage::LedgerEntry>& ledger) {
  if (!trial.row) return "";
  std::vector<privacy::PrivacyEvent> events;
  for (const storage::LedgerEntry& entry : ledger) events.push_back(entry.Charged());
  return privacy::WriteTrialStatement(trial.spec, trial.row->claims, events);
}

std::string ClaimsText(const TrialView& trial, const std::vector<storage::LedgerEntry>& ledger, std::size_t width) {
  if (!trial.row) return "";
  std::string out = "\nPrivacy\n  " + Wrap(MakeStatement(trial, ledger), width - 2, 2) + "\n\nClaims\n";
  for (const privacy::Claim& claim : trial.row->claims)
    out += "  " + Wrap(FormatPrivacyParagraph(claim), width - 2, 4) + "\n";
  return out;
}

// What audits said of the present result; empty without one.
std::string AuditText(const std::optional<privacy::AuditReport>& audit, std::size_t width) {
  if (!audit) return "";
  std::string out = "\nAudits\n" + FormatFindings(*audit, width);
  for (const std::string& sentence : ListContradictions(*audit))
    out += "  " + Wrap("AUDIT FAILED: " + sentence, width - 2, 4) + "\n";
  return out;
}

std::string EventText(const storage::LedgerEntry& entry) {
  const privacy::PrivacyEvent& event = entry.event;
  if (event.selection != nullptr)
    return fmt::format("the best of K candidates, K: {}; {}", privacy::DescribeDraws(event.selection->law),
                       event.selection->candidates.size() == 1
                           ? "all charge the same"
                           : fmt::format("they charge in {} ways", event.selection->candidates.size()));
  std::string text =
      fmt::format("sensitivity {}, noise {}", FormatShortNumber(event.sensitivity), FormatShortNumber(event.noise_std));
  if (event.sampling_rate < 1) text += fmt::format(", sampled at {}", FormatShortNumber(event.sampling_rate));
  return text;
}

std::string LedgerText(const std::vector<storage::LedgerEntry>& entries) {
  if (entries.empty()) return "\nLedger: nothing was charged\n";
  TextTable table({"id", "attempt", "state", "reserved", "counts", "event"},
                  {Align::right, Align::right, Align::left, Align::right, Align::right, Align::left});
  constexpr std::size_t kShown = 20;
  for (std::size_t i = 0; i < std::min(entries.size(), kShown); ++i) {
    const storage::LedgerEntry& entry = entries[i];
    table.Add({std::to_string(entry.id), std::to_string(entry.attempt.number),
               entry.state == storage::LedgerState::settled ? "settled" : "reserved", CountText(entry.event.count),
               CountText(entry.Charged().count), EventText(entry)});
  }
  std::string out = "\nLedger\n" + table.Render(2);
  if (entries.size() > kShown) out += fmt::format("  and {} more (--json lists all)\n", entries.size() - kShown);
  return out;
}

// What the trial's data set has cost, this trial included.
std::optional<DataSpending> ComputeTotal(storage::Env& env, const ResultsView& view, const TrialView& trial) {
  if (!trial.spec.data) return std::nullopt;
  const RootCharges root = ReadRoot(env, view);
  for (DataSpending& spent : ComputeStatus(view, {}, 0, &root).spending)
    if (spent.digest == FindUnpackedDigest(view.unpacked, trial.spec.data->digest)) return std::move(spent);
  return std::nullopt;
}

std::string TotalText(const std::optional<DataSpending>& total, std::size_t width) {
  return total ? "\nThe data set in all\n  " + Wrap(FormatSpendingLine(*total), width - 2, 4) + "\n" : "";
}

// The file that the row names, where it is not there; else empty.
std::string LostFile(storage::Env& env, const ResultsView& view, const TrialView& trial) {
  if (!trial.row || trial.row->attempt_file.empty()) return "";
  return storage::MayExist(env, view.directory + "/" + trial.row->attempt_file) ? "" : trial.row->attempt_file;
}

std::string FilesText(const std::vector<StoredFile>& files, const std::string& lost, const std::string& directory) {
  std::string out = "\nFiles in " + directory + "\n";
  for (const StoredFile& file : files)
    out += fmt::format("  {:>12}  {}\n", CountText(static_cast<std::int64_t>(file.bytes)), file.path);
  if (!lost.empty())
    out += fmt::format("  {:>12}  {}: the row names it; `{}` looks at all\n", "missing", lost,
                       AddResultsOption("retort verify", directory));
  return files.empty() && lost.empty() ? "" : out;
}

ordered_json ShowJson(const TrialView& trial, const std::vector<storage::LedgerEntry>& ledger,
                      const std::optional<DataSpending>& total, const std::vector<StoredFile>& files,
                      const std::string& lost, const std::optional<privacy::AuditReport>& audit) {
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document.update(MakeTrialJson(trial));
  document["timings"] = ordered_json::object();
  if (trial.row)
    for (const auto& [name, value] : trial.row->timings) document["timings"][name] = value;
  document["oversubscribe_gpu"] = trial.row ? ReadRunTerms(trial.row->provenance_json).per_gpu : 1;
  document["statement"] = MakeStatement(trial, ledger);
  document["claims"] = trial.row ? MakeClaimsJson(trial.row->claims) : ordered_json::array();
  document["audit"] = audit ? MakeFindingsJson(*audit) : ordered_json();
  document["ledger"] = ordered_json::array();
  for (const storage::LedgerEntry& entry : ledger) document["ledger"].push_back(MakeLedgerEntryJson(entry));
  document["data_total"] = total ? MakeSpendingJson(*total) : ordered_json();
  document["files"] = ordered_json::array();
  for (const StoredFile& file : files) document["files"].push_back({{"path", file.path}, {"bytes", file.bytes}});
  document["missing_file"] = lost;
  return document;
}

}  // namespace

void AddShow(CLI::App& app, RawWords& words) {
  CLI::App* show = AddCommand(app, "show", "One trial: row, claims, ledger, files");
  show->add_option("TRIAL", words.trial, "Id, unique prefix of an id, or shown name")->required();
}

int ExecuteShow(const Invocation& call) {
  const Result<ResultsView> view = OpenShownResults(call);
  if (!view.ok()) return call.console.Fail(view.status());
  const Result<const TrialView*> found = FindTrial(*view, call.line.trial);
  if (!found.ok()) return call.console.Fail(found.status());
  const TrialView& trial = **found;
  const std::vector<storage::LedgerEntry> ledger = FindLedger(*view, trial.spec.id);
  const std::optional<DataSpending> total = ComputeTotal(call.env, *view, trial);
  std::string trouble;
  const std::vector<StoredFile> files = ListFiles(*view, trial, trouble);
  const std::string lost = LostFile(call.env, *view, trial);
  if (!trouble.empty()) call.console.Message("warning: " + trouble);
  const Result<std::optional<privacy::AuditReport>> audit = ReadAudit(call.env, view->directory, trial);
  if (!audit.ok()) return call.console.Fail(audit.status());
  if (call.line.global.json) {
    call.console.Data(FormatDocument(ShowJson(trial, ledger, total, files, lost, *audit)));
    return 0;
  }
  const std::size_t width = call.console.options().width;
  call.console.Text(RowText(trial) + ClaimsText(trial, ledger, width) + AuditText(*audit, width) + LedgerText(ledger) +
                    TotalText(total, width) + FilesText(files, lost, view->directory));
  return 0;
}

}  // namespace retort::orchestrator::cli
