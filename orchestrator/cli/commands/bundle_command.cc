#include <CLI/CLI.hpp>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/digests.h"
#include "experiments/base/number_text.h"
#include "orchestrator/cli/commands/archive_commands.h"
#include "orchestrator/cli/commands/bundle_members.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/load_sweep.h"
#include "orchestrator/cli/commands/network_description.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/commands/output_file.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/version.h"
#include "orchestrator/results/bundle.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/row_archive.h"
#include "orchestrator/results/trial_names.h"
#include "storage/files/path_status.h"
#include "storage/weights/write_weights.h"

namespace retort::orchestrator::cli {
namespace {

constexpr OutputRule kBundleRule{.mark = "bundle.json", .kind = "bundle", .can_force = false};

// The results folder that the line names, by itself or by its sweep file.
Result<std::string> FindBundled(const Invocation& call) {
  const CommandLine& line = call.line;
  RETORT_ASSIGN_OR_RETURN(const bool is_folder, storage::IsFolder(call.env, line.sweep));
  const bool is_results = is_folder && call.env.Exists(line.sweep + "/journal.log");
  if (is_results && !line.global.results.empty())
    return UsageError(line.sweep + " is a results folder, and --results names one, too: leave one of them out.");
  std::string named = is_results ? line.sweep : line.global.results;
  if (named.empty()) {
    const LoadedSweep loaded = LoadWithData(call.env, {line.sweep, {}, line.global.profile, false, true});
    if (!loaded.plan) {
      if (is_folder) return UsageError(line.sweep + " is no results folder: it has no journal.log.");
      return UsageError(loaded.errors.empty() ? line.sweep + " is no sweep file" : loaded.errors.front().message);
    }
    named = FindResultsPath("", loaded.plan->name);
  }
  RETORT_ASSIGN_OR_RETURN(const FoundResults found, FindResults(call.env, named));
  return found.directory;
}

std::string EnvironmentText() {
  std::string text = "retort " + FormatVersion() + "\n";
  for (const auto& [name, value] : BuildFacts()) text += "  " + name + ": " + value + "\n";
  return text;
}

bool HasBound(const storage::ResultRow& row) {
  for (const privacy::Claim& claim : row.claims)
    if (claim.status == privacy::ClaimStatus::proven) return true;
  return false;
}

// The networks of the students that succeeded. `view`: WithdrawRefuted has seen it.
Result<std::vector<BundleMember>> CollectStudents(const Invocation& call, const ResultsView& view) {
  std::vector<BundleMember> members;
  std::size_t unproven = 0;
  for (const TrialView& trial : view.trials) {
    if (trial.spec.role != Role::student || trial.state != TrialState::succeeded || !trial.row ||
        trial.row->attempt_file.empty())
      continue;
    RETORT_ASSIGN_OR_RETURN(const storage::AttemptFile file, ReadFileOfRow(view, trial));
    const std::vector<storage::TensorBlob> state = SelectState(file.parameters, "student/");
    if (state.empty()) continue;
    RETORT_ASSIGN_OR_RETURN(const std::string description, DescribeNetwork(call, trial));
    RETORT_ASSIGN_OR_RETURN(std::string bytes, storage::EncodeSafetensors(state, description));
    members.push_back({FormatStudentMember(FormatTrialName(trial.spec)), std::move(bytes)});
    if (!HasBound(*trial.row)) ++unproven;
  }
  if (unproven > 0)
    call.console.Message("warning: " + CountText(static_cast<std::int64_t>(unproven)) + " of the " +
                         CountText(std::ssize(members)) +
                         " students have no proven claim: treat them as you treat the private examples");
  return members;
}

Result<Bundle> CollectBundle(const Invocation& call, const std::string& results, DerivedMembers& derived) {
  RETORT_ASSIGN_OR_RETURN(ResultsView view, ReadResults(call.env, results, Plans::every));
  RETORT_ASSIGN_OR_RETURN(const RowArchive archive, CollectArchive(call.env, view, FormatVersion()));
  RETORT_ASSIGN_OR_RETURN(derived, DeriveMembers(call.env, EncodeArchive(archive), results));
  Bundle bundle{FormatVersion(), derived.members};
  bundle.members.push_back({std::string(kBundledEnvironment), EnvironmentText()});
  if (!call.line.students) return bundle;
  WithdrawRefuted(call.env, view);  // the archive has its rows as they were written
  RETORT_ASSIGN_OR_RETURN(std::vector<BundleMember> students, CollectStudents(call, view));
  for (BundleMember& student : students) bundle.members.push_back(std::move(student));
  return bundle;
}

}  // namespace

void AddBundle(CLI::App& app, CommandLine& line, RawWords& words) {
  CLI::App* bundle =
      AddCommand(app, "bundle", "One file for a reviewer: sweep file, rows, claims, ledger, environment, check-sums");
  bundle->add_option("SWEEP_OR_RESULTS", words.sweep, "A sweep file, the name of a shipped one, or a results folder")
      ->required();
  bundle->add_option("--out", line.out, "The file to write (tar)")->required()->type_name("FILE");
  bundle->add_flag("--students", line.students, "With the networks of the students that succeeded (safetensors)");
}

int ExecuteBundle(const Invocation& call) {
  const Result<std::string> results = FindBundled(call);
  if (!results.ok()) return call.console.Fail(results.status());
  if (const Status may = CheckOutput(call.env, call.line.out, kBundleRule); !may.ok()) return call.console.Fail(may);
  DerivedMembers derived;
  const Result<Bundle> bundle = CollectBundle(call, *results, derived);
  if (!bundle.ok()) return call.console.Fail(bundle.status());
  const std::string bytes = EncodeBundle(*bundle);
  nlohmann::ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["results"] = *results;
  document["out"] = call.line.out;
  document["members"] = nlohmann::ordered_json::array();
  for (const BundleMember& member : bundle->members) document["members"].push_back(member.name);
  document["rows"] = derived.rows;
  const auto say = [&] {
    return CountText(static_cast<std::int64_t>(derived.rows)) + " rows, " + FormatBytes(bytes.size()) + ", SHA-256 " +
           ComputeSha256Hex(bytes);
  };
  return EndWithFile(call, bytes, kBundleRule, say, std::move(document));
}

}  // namespace retort::orchestrator::cli
