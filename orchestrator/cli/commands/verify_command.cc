#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/text_table.h"
#include "orchestrator/results/verify.h"

namespace retort::orchestrator::cli {
namespace {

using nlohmann::ordered_json;

bool IsUnread(const Damage& damage) { return damage.code == StatusCode::environment; }

std::string ReportJson(const VerifyReport& report, const std::string& directory) {
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["results"] = directory;
  document["ok"] = report.damage.empty();
  document["checked"] = {{"logs", report.logs},
                         {"rows", report.rows},
                         {"attempts", report.attempts},
                         {"checkpoints", report.checkpoints},
                         {"ledger_entries", report.ledger_entries}};
  document["damage"] = ordered_json::array();
  for (const Damage& damage : report.damage)
    document["damage"].push_back({{"where", damage.where}, {"what", damage.what}});
  document["remarks"] = report.remarks;
  return DocumentText(document);
}

std::string ReportText(const VerifyReport& report, const std::string& directory, std::size_t width) {
  std::string out;
  for (const Damage& damage : report.damage)
    out += Wrap((IsUnread(damage) ? "not read: " : "damage: ") + damage.where + ": " + damage.what, width, 2) + "\n";
  for (const std::string& remark : report.remarks) out += Wrap("note: " + remark, width, 2) + "\n";
  out += fmt::format("{}: checked {} logs, {} rows, {} attempt files, {} checkpoints, {} ledger entries: ", directory,
                     report.logs, report.rows, report.attempts, report.checkpoints, report.ledger_entries);
  if (report.damage.empty()) return out + "all as written\n";
  const auto unread = std::count_if(report.damage.begin(), report.damage.end(), IsUnread);
  return out + fmt::format("{} damaged{}\n", static_cast<std::ptrdiff_t>(report.damage.size()) - unread,
                           unread > 0 ? fmt::format(", {} not read", unread) : "");
}

}  // namespace

void AddVerify(CLI::App& app) {
  AddCommand(app, "verify", "Check digests, manifests, logs, and the ledger against the rows");
}

int VerifyCommand(const Invocation& call) {
  const Result<FoundResults> found = FindResults(call.env, call.line.global.results);
  if (!found.ok()) return call.console.Fail(found.status());
  if (found->chosen) call.console.Message("results: " + found->directory);
  const VerifyReport report = Verify(call.env, found->directory);
  if (!report.other_version.ok()) return call.console.Fail(report.other_version);
  call.console.Text(call.line.global.json ? ReportJson(report, found->directory)
                                          : ReportText(report, found->directory, call.console.options().width));
  if (report.damage.empty()) return 0;
  return ExitCode(std::all_of(report.damage.begin(), report.damage.end(), IsUnread) ? StatusCode::environment
                                                                                    : StatusCode::damage);
}

}  // namespace retort::orchestrator::cli
