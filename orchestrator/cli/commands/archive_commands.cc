#include "orchestrator/cli/commands/archive_commands.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "experiments/base/digests.h"
#include "experiments/base/number_text.h"
#include "orchestrator/cli/commands/bundle_members.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/commands/output_file.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/version.h"
#include "orchestrator/results/bundle.h"
#include "orchestrator/results/row_archive.h"
#include "orchestrator/results/trial_names.h"
#include "orchestrator/service/archive_import.h"
#include "storage/files/file_modes.h"

namespace retort::orchestrator::cli {
namespace {

namespace fs = std::filesystem;

constexpr OutputRule kArchiveRule{.mark = "{\"row_archive\":", .kind = "archive of rows", .can_force = false};

Result<RowArchive> ReadArchive(storage::Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const std::string text, env.ReadFile(path));
  if (!LooksLikeBundle(text)) return DecodeArchive(text, path);
  RETORT_ASSIGN_OR_RETURN(const Bundle bundle, DecodeBundle(text, path));
  const BundleMember* rows = FindMember(bundle, kBundledRows);
  if (rows == nullptr) return DamageError(path + ": " + std::string(kBundledRows) + ": is not among its members.");
  return DecodeArchive(rows->contents, path + ": " + rows->name);
}

std::size_t CountRows(const RowArchive& archive) {
  return static_cast<std::size_t>(
      std::count_if(archive.events.begin(), archive.events.end(),
                    [](const JournalEvent& event) { return std::holds_alternative<RowWritten>(event.event); }));
}

Status CheckAsked(const CommandLine& line) {
  if (!line.global.results.empty()) return UsageError("--from and --results both name results: leave one of them out.");
  if (line.table.complete)
    return UsageError("--complete runs trials, which need a results folder: `retort import` makes one of the archive.");
  if ((line.command == "plot" || line.command == "report") && line.out.empty())
    return UsageError("--from leaves no results folder to write into: name a place with --out.");
  return {};
}

int FinishImport(const Invocation& call, const RowArchive& archive, const std::string& results) {
  if (!call.line.global.json) {
    call.console.Message(CountText(static_cast<std::int64_t>(CountRows(archive))) + " rows, written by " +
                         archive.program + "; their parameters are not in the archive");
    call.console.Data(results + "\n");
    return 0;
  }
  nlohmann::ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["results"] = results;
  document["rows"] = CountRows(archive);
  document["written_by"] = archive.program;
  call.console.Data(FormatDocument(document));
  return 0;
}

}  // namespace

void AddFrom(CLI::App& command, CommandLine& line) {
  command
      .add_option("--from", line.from,
                  "An archive of rows, or a bundle, in place of a results folder: its rows count as if measured here")
      ->type_name("FILE");
}

Result<std::unique_ptr<UnpackedArchive>> UnpackedArchive::Read(storage::Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const RowArchive archive, ReadArchive(env, path));
  return Unpack(env, archive, path);
}

Result<std::unique_ptr<UnpackedArchive>> UnpackedArchive::Unpack(storage::Env& env, const RowArchive& archive,
                                                                 const std::string& path) {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "retort-rows-XXXXXX").string();
  if (error || mkdtemp(name.data()) == nullptr)
    return EnvironmentError("No temporary folder can be made; set TMPDIR to a place that may be written.");
  std::unique_ptr<UnpackedArchive> unpacked(new UnpackedArchive(std::move(name)));
  const Status made = ImportArchive(env, archive, unpacked->results());
  if (!made.ok()) return Status(made.code(), path + ": " + made.message());
  return unpacked;
}

UnpackedArchive::~UnpackedArchive() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

int RunOnArchive(const Invocation& call, int (*command)(const Invocation&)) {
  if (call.line.from.empty()) return command(call);
  if (const Status asked = CheckAsked(call.line); !asked.ok()) return call.console.Fail(asked);
  const Result<std::unique_ptr<UnpackedArchive>> unpacked = UnpackedArchive::Read(call.env, call.line.from);
  if (!unpacked.ok()) return call.console.Fail(unpacked.status());
  // A reader that closes the pipe ends the command in order, so that the folder goes.
  (void)std::signal(SIGPIPE, SIG_IGN);
  CommandLine line = call.line;
  line.global.results = (*unpacked)->results();
  return command({line, call.environment, call.console, call.env, call.umask});
}

RecordedInputs ReadArchivedInputs(const Invocation& call) {
  if (call.line.from.empty()) return {};
  const Result<ResultsView> view = ReadJournaled(call.env, call.line.global.results);
  RecordedInputs inputs;
  std::set<std::string> names;
  if (!view.ok()) return inputs;
  for (const TrialView& trial : view->trials) {
    const TrialSpec& spec = trial.spec;
    if (spec.data && names.insert(spec.data->name).second) inputs.data.push_back(*spec.data);
    const std::filesystem::path file(spec.weights.empty() ? spec.torchscript : spec.weights);
    if (!spec.weights_digest.empty()) inputs.weights.emplace(file.filename().string(), spec.weights_digest);
  }
  return inputs;
}

Status CheckBelongs(const Invocation& call, const SweepPlan& plan, const ResultsView& view) {
  if (call.line.from.empty()) return {};
  if (view.sweep != plan.name)
    return UsageError(call.line.from + " holds rows of the sweep " + view.sweep + "; " + plan.file + " is the sweep " +
                      plan.name + ".");
  std::set<TrialId> planned;
  for (const TrialSpec& spec : plan.trials) planned.insert(spec.id);
  const bool any = std::any_of(view.trials.begin(), view.trials.end(),
                               [&](const TrialView& trial) { return planned.contains(trial.spec.id); });
  if (any) return {};
  return UsageError("No row of " + call.line.from + " is of a trial of " + plan.file +
                    " as it is now: its settings, its data or the method's revision have changed since.");
}

void AddArchive(CLI::App& app, CommandLine& line) {
  AddCommand(app, "archive",
             "Write the rows of a results folder as one text file: settings, metrics, claims, ledger, thinned curves")
      ->add_option("--out", line.out, "The file to write, - is stdout")
      ->required()
      ->type_name("FILE");
  AddCommand(app, "import", "Make a results folder of an archive of rows; a run of its sweep goes on from there")
      ->add_option("ARCHIVE", line.from, "The file that `retort archive` or `retort bundle` wrote")
      ->required();
}

int EndWithFile(const Invocation& call, const std::string& bytes, const OutputRule& rule,
                const std::function<std::string()>& say, nlohmann::ordered_json document) {
  const storage::UmaskScope modes(call.umask);
  if (const Status written = WriteOutput(call.env, call.line.out, bytes, rule); !written.ok())
    return call.console.Fail(written);
  if (!call.line.global.json) {
    call.console.Message(say());
    call.console.Data(call.line.out + "\n");
    return 0;
  }
  document["bytes"] = bytes.size();
  document["sha256"] = ComputeSha256Hex(bytes);
  call.console.Data(FormatDocument(document));
  return 0;
}

int ExecuteArchive(const Invocation& call) {
  const Result<std::string> results = LocateResults(call);
  if (!results.ok()) return call.console.Fail(results.status());
  const bool to_stdout = call.line.out == "-" || call.line.out == "/dev/stdout";
  if (to_stdout && call.line.global.json)
    return call.console.Fail(UsageError("--json and the archive would both go to stdout; name a file with --out."));
  if (const Status may = to_stdout ? Status() : CheckOutput(call.env, call.line.out, kArchiveRule); !may.ok())
    return call.console.Fail(may);
  const Result<ResultsView> view = ReadResults(call.env, *results, Plans::every);
  if (!view.ok()) return call.console.Fail(view.status());
  const Result<RowArchive> archive = CollectArchive(call.env, *view, FormatVersion());
  if (!archive.ok()) return call.console.Fail(archive.status());
  const std::string text = EncodeArchive(*archive);
  if (to_stdout) {
    call.console.Data(text);
    return 0;
  }
  nlohmann::ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["results"] = *results;
  document["out"] = call.line.out;
  document["rows"] = CountRows(*archive);
  const auto say = [&] {
    return CountText(static_cast<std::int64_t>(CountRows(*archive))) + " rows, " + FormatBytes(text.size());
  };
  return EndWithFile(call, text, kArchiveRule, say, std::move(document));
}

int ExecuteImport(const Invocation& call) {
  const Result<RowArchive> archive = ReadArchive(call.env, call.line.from);
  if (!archive.ok()) return call.console.Fail(archive.status());
  std::string sweep;
  for (const JournalEvent& event : archive->events)
    if (const auto* opened = std::get_if<SweepOpened>(&event.event)) sweep = opened->name;
  const std::string results = FindResultsPath(call.line.global.results, sweep);
  const storage::UmaskScope modes(storage::kPrivateUmask | call.umask);
  if (const Status made = ImportArchive(call.env, *archive, results); !made.ok())
    return call.console.Fail(Status(made.code(), call.line.from + ": " + made.message()));
  return FinishImport(call, *archive, results);
}

}  // namespace retort::orchestrator::cli
