#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cluster/launch_environment.h"
#include "cluster/sample_order.h"
#include "cluster/worker_process.h"
#include "experiments/base/number_text.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/spec_codec.h"
#include "experiments/privacy/image_claims.h"
#include "orchestrator/agent/worker_query.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/commands/output_file.h"
#include "orchestrator/cli/commands/output_folder.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/process/environment.h"
#include "orchestrator/results/synthetic_store.h"
#include "orchestrator/results/trial_names.h"
#include "storage/datasets/image_set_writer.h"
#include "storage/files/file_modes.h"
#include "storage/files/temporary_folder.h"
#include "storage/results/attempt_file.h"

namespace retort::orchestrator::cli {

// retort sample
namespace {

using cluster::SampleLabels;
using nlohmann::ordered_json;

// A finished trial with a generator, and what is claimed.
struct SampleSource {
  const ResultsView& view;
  const TrialView& trial;
  storage::AttemptFile file;
  storage::WrittenImages set;            // with the count that was asked for
  std::vector<privacy::Claim> pictures;  // of the images; those of the labels are the row's
  const TrialView* teacher = nullptr;    // with a row; null where there is none
};

Result<SampleSource> FindSource(const CommandLine& line, const ResultsView& view) {
  RETORT_ASSIGN_OR_RETURN(const TrialView* trial, FindTrial(view, line.trial));
  const std::string name = FormatTrialName(trial->spec);
  if (trial->state != TrialState::succeeded || !trial->row || trial->row->attempt_file.empty())
    return UsageError(fmt::format("{} is {}: only a trial that has succeeded leaves a generator (`{}` says more).",
                                  name, GetStateName(trial->state),
                                  AddResultsOption(FormatTrialCommand("explain", trial->spec), view.directory)));
  RETORT_ASSIGN_OR_RETURN(storage::AttemptFile file, ReadFileOfRow(view, *trial));
  const auto is_generator = [](const storage::TensorBlob& blob) { return blob.name.starts_with("generator/"); };
  if (std::none_of(file.parameters.begin(), file.parameters.end(), is_generator) || !file.samples || !file.evaluation)
    return UsageError(name + " left no generator: only students whose queries a generator makes do.");
  SampleSource source{view, *trial, std::move(file), {}, {}, nullptr};
  const std::vector<std::int64_t>& shape = source.file.samples->images.shape;
  if (shape.size() != 4) return DamageError("'" + trial->row->attempt_file + "' has samples of another shape.");
  source.set = {line.sample.count, shape[1], shape[2], shape[3], source.file.evaluation->classes};
  source.pictures = privacy::ComputeImageClaims(trial->spec, trial->row->claims);
  for (const TrialView& other : view.trials)
    if (trial->spec.parent && other.spec.id == *trial->spec.parent && other.row) source.teacher = &other;
  return source;
}

bool IsProvenForExamples(const privacy::Claim& claim) {
  return claim.adjacency == privacy::Adjacency::example && claim.status == privacy::ClaimStatus::proven &&
         std::isfinite(claim.epsilon);
}

// Labels of new images by the teacher are new answers. Those of a teacher that was trained with DP-SGD cost nothing
// more; those of another would have to be charged, which the row of a trial that has ended cannot be.
Result<SampleLabels> ChooseTeacherLabels(const SampleSource& source) {
  const TrialSpec& spec = source.trial.spec;
  const std::string name = FormatTrialName(spec);
  if (!spec.parent) return UsageError(name + " has no teacher: its pictures are labelled by the student.");
  if (IsPostProcessing(FindKind(spec))) {
    const bool proven =
        source.teacher != nullptr && !source.teacher->row->attempt_file.empty() &&
        std::any_of(source.teacher->row->claims.begin(), source.teacher->row->claims.end(), IsProvenForExamples);
    if (proven) return SampleLabels::teacher;
    return UsageError("No ε is proven of the teacher of " + name +
                      ", so its answers are not given away; --labels student takes the student's.");
  }
  const ReleaseKind release = FindReleaseKind(FindKind(spec));
  if (release != ReleaseKind::responses && release != ReleaseKind::votes && release != ReleaseKind::raw_answers)
    return UsageError("The teacher of " + name +
                      " released no labels but noisy gradients or losses; --labels student takes the student's.");
  const std::int64_t kept = source.file.samples->images.shape[0];
  if (source.set.count <= kept) return SampleLabels::released;
  return UsageError(fmt::format(
      "{} kept {} pictures with the answers that its teacher released for them. Labels of other pictures would be new "
      "answers of a teacher that was trained without noise, and the claims of a trial that has ended cannot be charged "
      "for them: ask for --count {} or less, or for --labels student.",
      name, kept, kept));
}

Result<SampleLabels> ChooseSampleLabels(const CommandLine& line, const SampleSource& source) {
  if (line.sample.labels == "student") return SampleLabels::student;
  return ChooseTeacherLabels(source);
}

std::string MakeAbsolute(const std::string& path) {
  std::error_code error;
  return std::filesystem::absolute(path, error).lexically_normal().string();
}

cluster::SampleOrder MakeSampleOrder(const CommandLine& line, const SampleSource& source, SampleLabels labels,
                                     const std::string& folder) {
  cluster::SampleOrder order;
  const TrialView& trial = source.trial;
  order.trial = trial.spec.id.Hex();
  order.spec = EncodeTrialSpec(trial.spec);
  order.attempt_file = MakeAbsolute(source.view.directory + "/" + trial.row->attempt_file);
  order.parameters = trial.row->parameters_digest;
  if (labels == SampleLabels::teacher) {
    order.teacher_file = MakeAbsolute(source.view.directory + "/" + source.teacher->row->attempt_file);
    order.teacher_parameters = source.teacher->row->parameters_digest;
  }
  order.data_path = trial.spec.data ? trial.spec.data->path : "";
  order.folder = MakeAbsolute(folder);
  order.format = line.sample.format;
  order.labels = labels;
  order.count = line.sample.count;
  order.seed = line.sample.seed;
  order.evaluate = line.sample.evaluate;
  return order;
}

Result<cluster::SampleReport> RequestSamples(const Invocation& call, const cluster::SampleOrder& order,
                                             const std::string& name) {
  std::string program = cluster::FindVariable(call.environment, "RETORT_WORKER").value_or("");
  if (program.empty()) program = GetProgramDirectory() + "/retort-worker";
  std::string phase;
  auto said = std::chrono::steady_clock::now();
  const auto say = [&](const cluster::Progress& news) {  // a line when something else begins, and once a minute
    const auto now = std::chrono::steady_clock::now();
    if (news.phase == phase && now - said < std::chrono::minutes(1)) return;
    phase = news.phase;
    said = now;
    call.console.Message(fmt::format("{}: {} {} of {}", name, news.phase, news.step, news.total_steps));
  };
  RETORT_ASSIGN_OR_RETURN(
      const std::string answer,
      QueryWorker({program, cluster::MakeWorkerEnvironment(call.environment, {}), cluster::kSampleArgument,
                   cluster::EncodeSampleOrder(order), "the samples of " + name},
                  say));
  return cluster::DecodeSampleReport(answer);
}

std::string DescribeLabels(SampleLabels labels) {
  switch (labels) {
    case SampleLabels::student:
      return "student";
    case SampleLabels::teacher:
      return "teacher, trained with DP-SGD and asked without noise";
    case SampleLabels::released:
      return "teacher, by the answers that were released in the trial";
  }
  return "";
}

// Every accuracy with what it was measured on.
ordered_json EvaluationJson(const std::optional<cluster::SampleEvaluation>& evaluation) {
  if (!evaluation) return {};
  ordered_json json;
  json.update({{"network", evaluation->network},
               {"training_pictures", evaluation->training},
               {"held_out_pictures", evaluation->held_out},
               {"epochs", evaluation->epochs},
               {"chosen_epoch", evaluation->epoch},
               {"held_out_accuracy", evaluation->held_out_accuracy},
               {"test_examples", evaluation->test},
               {"synthetic.accuracy", evaluation->accuracy}});
  json["synthetic.fid"] =
      std::isfinite(evaluation->frechet_distance) ? ordered_json(evaluation->frechet_distance) : ordered_json();
  json["fid_features"] = cluster::kFrechetFeatures;
  return json;
}

// What lies beside the images, and what --json prints.
ordered_json SampleJson(const CommandLine& line, const SampleSource& source, SampleLabels labels,
                        const cluster::SampleReport& report, const std::string& warning) {
  const TrialView& trial = source.trial;
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["sample_version"] = 1;
  document.update({{"trial", trial.spec.id.Hex()},
                   {"name", FormatTrialName(trial.spec)},
                   {"row_digest", trial.row->row_digest},
                   {"parameters", trial.row->parameters_digest},
                   {"format", line.sample.format},
                   {"count", line.sample.count},
                   {"seed", line.sample.seed},
                   {"channels", report.channels},
                   {"height", report.height},
                   {"width", report.width},
                   {"classes", source.set.classes},
                   {"labels", DescribeLabels(labels)},
                   {"label_counts", report.labels},
                   {"sha256", report.digest}});
  document["claims"] = {{"pictures", MakeClaimsJson(source.pictures)}, {"labels", MakeClaimsJson(trial.row->claims)}};
  document["warning"] = warning.empty() ? ordered_json() : ordered_json(warning);
  document["evaluation"] = EvaluationJson(report.evaluation);
  return document;
}

// Beside the trial, so that tables show it. One who may read results and not write them has images and figures all
// the same, and is told.
void KeepEvaluation(const Invocation& call, const SampleSource& source, SampleLabels labels,
                    const cluster::SampleReport& report) {
  if (!report.evaluation) return;
  const cluster::SampleEvaluation& found = *report.evaluation;
  const storage::UmaskScope modes(ChooseUmask(call, source.view.directory));
  const Status kept = StoreSynthetic(call.env, source.view.directory, source.trial,
                                     {call.line.sample.count, call.line.sample.seed, DescribeLabels(labels),
                                      found.network, found.accuracy, found.frechet_distance});
  if (!kept.ok()) call.console.Message("tables cannot show what the classifier learnt: " + kept.message());
}

std::string SampleText(const CommandLine& line, const std::string& name, const cluster::SampleReport& report) {
  std::string text =
      fmt::format("{}: {} pictures of {} as {}", line.out, CountText(line.sample.count), name, line.sample.format);
  if (!report.evaluation) return text;
  const cluster::SampleEvaluation& found = *report.evaluation;
  text += fmt::format(
      "\na fresh {} trained on {} of them, chosen by {} others (epoch {} of {}): {} % of {} test examples; FID {:.3f} "
      "in {}",
      found.network, CountText(found.training), CountText(found.held_out), found.epoch, found.epochs,
      FormatPercent(found.accuracy), CountText(found.test), found.frechet_distance, cluster::kFrechetFeatures);
  return text;
}

}  // namespace

void AddSample(CLI::App& app, CommandLine& line, RawWords& words) {
  CLI::App* command = AddCommand(app, "sample", "Make labelled pictures with a trial's generator, as a data set");
  command->add_option("TRIAL", words.trial, "Id, unique prefix of an id, or shown name")->required();
  command->add_option("--count", line.sample.count, "How many pictures; the first of them do not depend on it")
      ->required()
      ->check(CLI::Range(1, 100'000'000));
  command
      ->add_option("--format", line.sample.format,
                   "idx (grey, as MNIST), png (a folder a class), npz, or webdataset (tar archives)")
      ->required()
      ->check(CLI::IsMember(storage::ListImageSetFormats()));
  command->add_option("--out", line.out, "The folder to write")->required()->type_name("PATH");
  command
      ->add_option("--labels", line.sample.labels,
                   "student (default), or teacher: one trained with DP-SGD labels anything, of another what it has "
                   "released in the trial")
      ->check(CLI::IsMember({"student", "teacher"}));
  command->add_option("--seed", line.sample.seed, "Number of the pictures (default 0)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 53));
  command->add_flag("--evaluate", line.sample.evaluate,
                    "Train a fresh classifier on them and say its test accuracy and the FID; tables show both as "
                    "synthetic.accuracy and synthetic.fid");
  command->add_flag("--force", line.force, "Also over a folder of samples that is there");
}

int ExecuteSample(const Invocation& call) {
  CommandLine line = call.line;
  line.out = TrimFolderPath(line.out);
  if (const Status may = CheckOutputFolder(call.env, line.out, kSampleFolder, line.force); !may.ok())
    return call.console.Fail(may);
  const Result<ResultsView> view = OpenShownResults(call);
  if (!view.ok()) return call.console.Fail(view.status());
  const Result<SampleSource> source = FindSource(line, *view);
  if (!source.ok()) return call.console.Fail(source.status());
  if (const Status fits = storage::CheckImageSetFormat(line.sample.format, source->set); !fits.ok())
    return call.console.Fail(fits);
  const Result<SampleLabels> labels = ChooseSampleLabels(line, *source);
  if (!labels.ok()) return call.console.Fail(labels.status());
  const std::string warning = privacy::WarnOfImages(source->pictures);
  call.console.Message(warning.empty() ? "the pictures carry " + privacy::DescribeImages(source->pictures)
                                       : "warning: " + warning);
  const storage::UmaskScope users(call.umask);  // also of what the worker writes
  Result<storage::TemporaryFolder> folder = storage::TemporaryFolder::For(line.out);
  if (!folder.ok()) return call.console.Fail(folder.status());
  const std::string name = FormatTrialName(source->trial.spec);
  const Result<cluster::SampleReport> report =
      RequestSamples(call, MakeSampleOrder(line, *source, *labels, folder->path()), name);
  if (!report.ok()) return call.console.Fail(report.status());
  ordered_json document = SampleJson(line, *source, *labels, *report, warning);
  const std::string sidecar = folder->path() + "/" + std::string(kSampleFolder.file);
  Status written = WriteOutput(call.env, sidecar, FormatDocument(document), {});
  if (written.ok())
    written =
        folder->Publish(line.force ? storage::TemporaryFolder::Over::folder : storage::TemporaryFolder::Over::nothing);
  if (!written.ok()) return call.console.Fail(written);
  KeepEvaluation(call, *source, *labels, *report);
  if (line.global.json) {
    document["out"] = line.out;
    call.console.Data(FormatDocument(document));
  } else {
    call.console.Message(SampleText(line, name, *report));
  }
  return 0;
}

}  // namespace retort::orchestrator::cli
