#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "experiments/base/digests.h"
#include "orchestrator/cli/commands/bundle_members.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/text_table.h"
#include "orchestrator/results/bundle.h"
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
  return FormatDocument(document);
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

// What a bundle's own members say of each other. Error: damage, naming the member.
Status CompareMembers(const Bundle& bundle, const DerivedMembers& derived, const std::string& name) {
  for (const BundleMember& member : derived.members) {
    const BundleMember* found = FindMember(bundle, member.name);
    if (found == nullptr) return DamageError(name + ": " + member.name + ": is not among its members.");
    if (found->contents != member.contents)
      return DamageError(name + ": " + member.name + ": is not what follows from " + std::string(kBundledRows) +
                         ": one of them was edited (or another version of retort wrote it: `" +
                         std::string(kBundledEnvironment) + "` names the one that did).");
  }
  for (const BundleMember& member : bundle.members) {
    const bool known = member.name == kBundledEnvironment || derived.students.contains(member.name) ||
                       std::ranges::find(derived.members, member.name, &BundleMember::name) != derived.members.end();
    if (!known) return DamageError(name + ": " + member.name + ": belongs to no row of this bundle.");
  }
  return {};
}

Result<DerivedMembers> CheckBundle(storage::Env& env, const std::string& path, const std::string& bytes,
                                   Bundle& bundle) {
  RETORT_ASSIGN_OR_RETURN(bundle, DecodeBundle(bytes, path));
  const BundleMember* rows = FindMember(bundle, kBundledRows);
  if (rows == nullptr) return DamageError(path + ": " + std::string(kBundledRows) + ": is not among its members.");
  RETORT_ASSIGN_OR_RETURN(DerivedMembers derived, DeriveMembers(env, rows->contents, path + ": " + rows->name));
  RETORT_RETURN_IF_ERROR(CompareMembers(bundle, derived, path));
  if (derived.report.damage.empty()) return derived;
  const Damage& first = derived.report.damage.front();
  return DamageError(path + ": " + rows->name + ": " + first.where + ": " + first.what);
}

int VerifyBundle(const Invocation& call) {
  const std::string& path = call.line.bundle;
  if (!call.line.global.results.empty())
    return call.console.Fail(UsageError("a bundle and --results are both given: leave one of them out."));
  const Result<std::string> bytes = call.env.ReadFile(path);
  if (!bytes.ok()) return call.console.Fail(bytes.status());
  Bundle bundle;
  const Result<DerivedMembers> checked = CheckBundle(call.env, path, *bytes, bundle);
  if (!checked.ok()) return call.console.Fail(checked.status());
  const std::string digest = ComputeSha256Hex(*bytes);
  const VerifyReport& report = checked->report;
  if (!call.line.global.json) {
    call.console.Text(fmt::format(
        "{}: checked the digests of {} members, {} rows and {} claims against {} ledger entries, and that sweep file, "
        "claims and ledger are those of the rows: all as written (by retort {}; SHA-256 {})\n",
        path, bundle.members.size() + 1, checked->rows, checked->claims, report.ledger_entries, bundle.program,
        digest));
    return 0;
  }
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["bundle"] = path;
  document["ok"] = true;
  document["written_by"] = bundle.program;
  document["sha256"] = digest;
  document["checked"] = {{"members", bundle.members.size() + 1},
                         {"rows", checked->rows},
                         {"claims", checked->claims},
                         {"ledger_entries", report.ledger_entries}};
  call.console.Data(FormatDocument(document));
  return 0;
}

}  // namespace

void AddVerify(CLI::App& app, CommandLine& line) {
  AddCommand(app, "verify", "Check digests, manifests, logs, and the ledger against the rows")
      ->add_option("BUNDLE", line.bundle, "A file that `retort bundle` wrote, in place of a results folder");
}

int ExecuteVerify(const Invocation& call) {
  if (!call.line.bundle.empty()) return VerifyBundle(call);
  const Result<FoundResults> found = FindResults(call.env, call.line.global.results);
  if (!found.ok()) return call.console.Fail(found.status());
  if (found->chosen) call.console.Message("results: " + found->directory);
  const VerifyReport report = Verify(call.env, found->directory);
  if (!report.other_version.ok()) return call.console.Fail(report.other_version);
  call.console.Text(call.line.global.json ? ReportJson(report, found->directory)
                                          : ReportText(report, found->directory, call.console.options().width));
  if (report.damage.empty()) return 0;
  return GetExitCode(std::all_of(report.damage.begin(), report.damage.end(), IsUnread) ? StatusCode::environment
                                                                                       : StatusCode::damage);
}

}  // namespace retort::orchestrator::cli
