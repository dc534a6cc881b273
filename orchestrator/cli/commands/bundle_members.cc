#include "orchestrator/cli/commands/bundle_members.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "orchestrator/cli/commands/archive_commands.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/row_archive.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator::cli {
namespace {

using nlohmann::ordered_json;

// Every trial that has ended, with its claims as audits left them.
std::string MakeClaims(const ResultsView& view, DerivedMembers& derived) {
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["sweep"] = view.sweep;
  document["trials"] = ordered_json::array();
  for (const std::vector<TrialView>* some : {&view.trials, &view.unplanned}) {
    for (const TrialView& trial : *some) {
      if (!trial.row) continue;
      ++derived.rows;
      derived.claims += trial.row->claims.size();
      ordered_json one = MakeTrialJson(trial);
      one["claims"] = MakeClaimsJson(trial.row->claims);
      document["trials"].push_back(std::move(one));
      if (trial.spec.role == Role::student) derived.students.insert(FormatStudentMember(FormatTrialName(trial.spec)));
    }
  }
  return FormatDocument(document);
}

std::string MakeLedger(const ResultsView& view) {
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["entries"] = ordered_json::array();
  for (const storage::LedgerEntry& entry : view.ledger) document["entries"].push_back(MakeLedgerEntryJson(entry));
  return FormatDocument(document);
}

}  // namespace

std::string FormatStudentMember(const std::string& trial_name) {
  constexpr std::string_view kSuffix = ".safetensors";
  constexpr std::size_t kRoom = kMaxMemberName - kBundledStudents.size() - kSuffix.size();
  constexpr std::size_t kIdEnd = 9;  // "-0123abcd", by which names that begin alike differ
  std::string name = trial_name;
  if (name.size() > kRoom) {
    std::size_t cut = kRoom - kIdEnd;
    while (cut > 0 && (static_cast<unsigned char>(name[cut]) & 0xC0U) == 0x80U) --cut;  // inside a code point
    name = name.substr(0, cut) + name.substr(name.size() - kIdEnd);
  }
  return std::string(kBundledStudents) + name + std::string(kSuffix);
}

Result<DerivedMembers> DeriveMembers(storage::Env& env, const std::string& rows, const std::string& name) {
  RETORT_ASSIGN_OR_RETURN(const RowArchive archive, DecodeArchive(rows, name));
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<UnpackedArchive> unpacked, UnpackedArchive::Unpack(env, archive, name));
  RETORT_ASSIGN_OR_RETURN(const ResultsView view, ReadShownResults(env, unpacked->results(), Plans::every));
  DerivedMembers derived;
  derived.report = Verify(env, unpacked->results());
  derived.members = {{"sweep.toml", archive.sweep_toml}, {std::string(kBundledRows), rows}};
  derived.members.push_back({"claims.json", MakeClaims(view, derived)});
  derived.members.push_back({"ledger.json", MakeLedger(view)});
  return derived;
}

}  // namespace retort::orchestrator::cli
