#include "orchestrator/cli/commands/export_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "experiments/base/number_text.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/commands/output_folder.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/tracker_files.h"
#include "orchestrator/results/trial_names.h"
#include "orchestrator/results/trial_record.h"
#include "orchestrator/results/trial_times.h"
#include "storage/files/file_modes.h"
#include "storage/files/temporary_folder.h"

namespace retort::orchestrator::cli {
namespace {

using nlohmann::ordered_json;

constexpr int kExportVersion = 1;

bool LeftCurves(const TrialView& trial) {
  return trial.state == TrialState::succeeded && trial.row && !trial.row->attempt_file.empty();
}

// What is exported, and of every other trial a sentence.
struct Chosen {
  std::vector<const TrialView*> trials;
  std::vector<std::string> left_out;
  std::int64_t without_curves = 0;  // of those left out: that succeeded
};

std::string DescribeMissingCurves(const TrialView& trial) {
  return FormatTrialName(trial.spec) + " left no curves: its method trains nothing";
}

Status RefuseNothing(const ResultsView& view) {
  const bool ended = std::all_of(view.trials.begin(), view.trials.end(),
                                 [](const TrialView& trial) { return trial.state == TrialState::succeeded; });
  if (ended && !view.trials.empty())
    return UsageError("no trial in " + view.directory + " left curves: their methods train nothing.");
  return UsageError("no trial has succeeded, and left curves, in " + view.directory + "; `" +
                    RunAgainCommand(view.directory) + "` runs the sweep.");
}

// "2 trials that did not succeed, 1 trial that left no curves"
std::string DescribeLeftOut(const Chosen& chosen) {
  const std::int64_t failed = std::ssize(chosen.left_out) - chosen.without_curves;
  std::string text = failed == 0 ? "" : FormatTrialCount(failed) + " that did not succeed";
  if (chosen.without_curves == 0) return text;
  return text + (text.empty() ? "" : ", ") + FormatTrialCount(chosen.without_curves) + " that left no curves";
}

Result<Chosen> ChooseTrials(const ResultsView& view, const std::string& word) {
  Chosen chosen;
  if (word != kEveryTrial) {
    RETORT_ASSIGN_OR_RETURN(const TrialView* trial, FindTrial(view, word));
    if (trial->state == TrialState::succeeded && !LeftCurves(*trial))
      return UsageError(DescribeMissingCurves(*trial) + ".");
    if (!LeftCurves(*trial))
      return UsageError(fmt::format("{} is {}: only a trial that has succeeded leaves curves (`{}` says more).",
                                    FormatTrialName(trial->spec), GetStateName(trial->state),
                                    AddResultsOption(FormatTrialCommand("explain", trial->spec), view.directory)));
    chosen.trials.push_back(trial);
    return chosen;
  }
  for (const TrialView& trial : view.trials) {
    if (LeftCurves(trial)) {
      chosen.trials.push_back(&trial);
    } else if (trial.state == TrialState::succeeded) {
      ++chosen.without_curves;
      chosen.left_out.push_back(DescribeMissingCurves(trial));
    } else {
      chosen.left_out.push_back(fmt::format("{} is {}", FormatTrialName(trial.spec), GetStateName(trial.state)));
    }
  }
  if (chosen.trials.empty()) return RefuseNothing(view);
  return chosen;
}

// Fills the temporary folder; says what is in it.
class FolderExport {
 public:
  FolderExport(const Invocation& call, const ResultsView& view, std::string out, const storage::TemporaryFolder& folder)
      : call_(call), view_(view), folder_(folder), mlflow_(call.line.exported.format == "mlflow") {
    std::error_code error;
    store_ = {view.sweep, std::filesystem::absolute(out, error).lexically_normal().string()};
    trials_ = ordered_json::array();
  }

  [[nodiscard]] Status Write(const Chosen& chosen) {
    std::set<TrialId> wanted;
    for (const TrialView* trial : chosen.trials) wanted.insert(trial->spec.id);
    RETORT_ASSIGN_OR_RETURN(const auto times, ReadTrialTimes(call_.env, view_.directory, wanted));
    for (const TrialView* trial : chosen.trials) {
      const auto known = times.find(trial->spec.id);
      RETORT_RETURN_IF_ERROR(WriteTrial(*trial, known == times.end() ? TrialTimes() : known->second));
    }
    if (mlflow_) RETORT_RETURN_IF_ERROR(WriteFiles({MakeMlflowExperiment(store_, began_, ended_)}));
    return WriteFiles({{std::string(kExportFolder.file), FormatDocument(Describe(chosen))}});
  }

  // The members of export.json.
  [[nodiscard]] ordered_json Describe(const Chosen& chosen) const {
    ordered_json document;
    document["schema_version"] = kSchemaVersion;
    document["export_version"] = kExportVersion;
    document["exported"] = call_.line.exported.what;
    document["format"] = call_.line.exported.format;
    document["sweep"] = view_.sweep;
    document["trials"] = trials_;
    document["left_out"] = chosen.left_out;
    return document;
  }

 private:
  Status WriteTrial(const TrialView& trial, const TrialTimes& times) {
    RETORT_ASSIGN_OR_RETURN(const storage::AttemptFile file, ReadFileOfRow(view_, trial));
    const TrialRecord record = MakeTrialRecord(view_, trial, file, times);
    began_ = trials_.empty() ? record.began : std::min(began_, record.began);
    ended_ = std::max(ended_, record.ended);
    std::size_t points = 0;
    for (const auto& [name, curve] : record.curves) points += curve.size();
    std::vector<TrackerFile> files = mlflow_ ? MakeMlflowRun(record, store_) : std::vector{MakeTensorBoardRun(record)};
    trials_.push_back({{"trial", record.id},
                       {"name", record.name},
                       {"row_digest", record.row_digest},
                       {"folder", std::filesystem::path(files.front().path).parent_path().string()},
                       {"points", points}});
    return WriteFiles(files);
  }

  Status WriteFiles(const std::vector<TrackerFile>& files) const {
    for (const TrackerFile& file : files)
      RETORT_RETURN_IF_ERROR(file.path.ends_with('/') ? folder_.MakeFolder(file.path)
                                                      : folder_.WriteFile(file.path, file.bytes));
    return {};
  }

  const Invocation& call_;
  const ResultsView& view_;
  const storage::TemporaryFolder& folder_;
  bool mlflow_;
  MlflowStore store_;
  ordered_json trials_;
  double began_ = 0, ended_ = 0;
};

}  // namespace

bool IsFolderFormat(std::string_view format) { return format == "tensorboard" || format == "mlflow"; }

int ExportFolderCommand(const Invocation& call) {
  const std::string out = TrimFolderPath(call.line.out);
  const bool force = call.line.force;
  if (const Status may = CheckOutputFolder(call.env, out, kExportFolder, force); !may.ok())
    return call.console.Fail(may);
  const Result<ResultsView> view = OpenShownResults(call);
  if (!view.ok()) return call.console.Fail(view.status());
  const Result<Chosen> chosen = ChooseTrials(*view, call.line.trial);
  if (!chosen.ok()) return call.console.Fail(chosen.status());
  const storage::UmaskScope users(call.umask);
  Result<storage::TemporaryFolder> folder = storage::TemporaryFolder::For(out);
  if (!folder.ok()) return call.console.Fail(folder.status());
  FolderExport writer(call, *view, out, *folder);
  Status written = writer.Write(*chosen);
  using Over = storage::TemporaryFolder::Over;
  if (written.ok()) written = folder->Publish(force ? Over::folder : Over::nothing);
  if (!written.ok()) return call.console.Fail(written);
  if (!chosen->left_out.empty()) call.console.Message("left out: " + DescribeLeftOut(*chosen));
  if (call.line.global.json) {
    ordered_json document = writer.Describe(*chosen);
    document["out"] = out;
    call.console.Data(FormatDocument(document));
  } else {
    call.console.Message(fmt::format("{}: {} of {} as {}", out, call.line.exported.what,
                                     FormatTrialCount(std::ssize(chosen->trials)), call.line.exported.format));
  }
  return 0;
}

}  // namespace retort::orchestrator::cli
