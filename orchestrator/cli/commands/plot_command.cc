#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "orchestrator/cli/commands/archive_commands.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/load_sweep.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/commands/output_file.h"
#include "orchestrator/cli/render/figure_chart.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/plot/render.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/stored_plan.h"
#include "orchestrator/results/tables/figure_data.h"
#include "orchestrator/results/trial_names.h"
#include "storage/files/file_modes.h"
#include "storage/formats/byte_codec.h"

namespace retort::orchestrator::cli {

// retort plot
namespace {

Result<std::vector<FigureSpec>> ChosenFigures(const SweepPlan& plan, const std::string& name) {
  if (plan.figures.empty() && name.empty()) return std::vector<FigureSpec>{MakeDefaultFigure(plan)};
  if (name.empty()) return plan.figures;
  std::vector<std::string> names;
  for (const FigureSpec& figure : plan.figures) {
    if (figure.name == name) return std::vector<FigureSpec>{figure};
    names.push_back(figure.name);
  }
  std::string message = plan.file + " has no [figure." + name + "]";
  if (names.empty()) return UsageError(message + ", nor any other; without a name one is drawn from its first axis.");
  const std::vector<std::string> sorted = SortByNearness(name, names);
  for (std::size_t i = 0; i < sorted.size(); ++i) message += (i == 0 ? "; it has " : ", ") + sorted[i];
  return UsageError(message + ".", sorted);
}

Result<std::vector<PublishedValue>> PublishedFor(const FigureSpec& figure) {
  std::vector<PublishedValue> values = FindPublishedTable(figure.published);
  if (figure.published.empty() || !values.empty()) return values;
  std::string message =
      "figure." + figure.name + ".published: there is no published table \"" + figure.published + "\"";
  const std::vector<std::string> names = SortByNearness(figure.published, ListPublishedTables());
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 3); ++i)
    message += (i == 0 ? "; nearest: " : ", ") + names[i];
  return UsageError(message + ".", names);
}

// After the head of `png`: the program that wrote it, by which a later one knows that it may replace it.
std::string Signed(std::string png) {
  constexpr std::size_t kHead = 33;  // signature and IHDR
  std::string chunk = "tEXt" + std::string(kPngMark);
  const auto number = [](std::uint32_t value) {
    std::string bytes;
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift & 0xFFU);
    return bytes;
  };
  chunk = number(static_cast<std::uint32_t>(kPngMark.size())) + chunk + number(storage::ExtendCrc32(0, chunk));
  return png.insert(std::min(kHead, png.size()), chunk);
}

// What tells a file of that format as one that `plot` wrote.
std::string_view FindMark(plot::Format format) {
  return format == plot::Format::svg ? kSvgMark : format == plot::Format::png ? kPngMark : plot::kPdfMark;
}

// The files of one figure, and what --json says of it.
class FigureWriter {
 public:
  FigureWriter(const Invocation& call, const SweepPlan& plan, ResultsView& view)
      : call_(call), plan_(plan), view_(view) {
    folder_ = call.line.out.empty() ? view.directory + "/figures" : call.line.out;
  }

  [[nodiscard]] Status Write(const FigureSpec& spec) {
    RETORT_ASSIGN_OR_RETURN(const std::vector<PublishedValue> published, PublishedFor(spec));
    if (spec.kind == FigureKind::line || spec.kind == FigureKind::bar) AddMetric(call_.env, spec.y, view_);
    const auto recorded = [this](const TrialView& trial) {
      return storage::ReadAttemptResults(view_.directory + "/" + trial.row->attempt_file);
    };
    const auto pictures = [this, &spec](const DataSpec& data) { return ReadSplitImages(call_.env, data, spec.count); };
    RETORT_ASSIGN_OR_RETURN(const FigureData data,
                            BuildFigure(spec, {plan_, view_, published, recorded, plan_.profile == "smoke", pictures}));
    std::vector<std::string> files;
    if (data.empty) {
      TellEmpty(data);
    } else {
      RETORT_RETURN_IF_ERROR(Draw(data, files));
      if (data.missing > 0)
        call_.console.Message(spec.name + ": " + std::to_string(data.missing) + " of " + std::to_string(data.all) +
                              " points are missing; `" + FormatSweepCommand("run", call_.line) + "` measures them.");
    }
    documents_.push_back(MakeFigureJson(data, files));
    return {};
  }

  [[nodiscard]] bool all_drawn() const { return all_drawn_; }
  [[nodiscard]] const std::vector<nlohmann::ordered_json>& documents() const { return documents_; }

 private:
  void TellEmpty(const FigureData& data) {
    all_drawn_ = false;
    std::string what = "there is nothing to draw for " + data.spec.name + ": ";
    const std::string& from = call_.line.from;
    const bool kept = from.empty() || !ShowsImages(data.spec.kind);
    if (!kept)
      what += from + " holds rows, and rows keep no pictures: draw it where the sweep ran";
    else if (ShowsImages(data.spec.kind))
      what += "no trial of it has ended and kept samples";
    else
      what += "no " + data.spec.y + " is stored in " + (from.empty() ? view_.directory : from);
    if (!data.spec.published.empty()) what += ", and no value of " + data.spec.published + " fits";
    call_.console.Message(what + (kept ? ". `" + FormatSweepCommand("run", call_.line) + "` measures it." : "."));
    for (const std::string& warning : data.warnings) call_.console.Message("warning: " + warning);
  }

  Status Draw(const FigureData& data, std::vector<std::string>& files) {
    const storage::UmaskScope modes(call_.line.out.empty() ? ChooseUmask(call_, view_.directory) : call_.umask);
    RETORT_RETURN_IF_ERROR(call_.env.CreateDirectories(folder_));
    const plot::Chart picture = MakeChart(data);
    for (const auto& [format, name] : {std::pair{plot::Format::svg, "svg"}, std::pair{plot::Format::png, "png"},
                                       std::pair{plot::Format::pdf, "pdf"}}) {
      const bool both = call_.line.plot.format == "both" && format != plot::Format::pdf;
      if (!both && call_.line.plot.format != name) continue;
      RETORT_ASSIGN_OR_RETURN(const std::string bytes, plot::Render(picture, format));
      const std::string path = folder_ + "/" + data.spec.name + "." + name;
      // What is in the results folder is retort's own.
      const OutputRule rule{
          .force = call_.line.force || call_.line.out.empty(), .mark = FindMark(format), .kind = "figure"};
      RETORT_RETURN_IF_ERROR(WriteOutput(call_.env, path, format == plot::Format::png ? Signed(bytes) : bytes, rule));
      files.push_back(path);
      if (!call_.line.global.json) call_.console.Data(path + "\n");
    }
    return {};
  }

  const Invocation& call_;
  const SweepPlan& plan_;
  ResultsView& view_;
  std::string folder_;
  bool all_drawn_ = true;
  std::vector<nlohmann::ordered_json> documents_;
};

}  // namespace

void AddPlot(CLI::App& app, CommandLine& line, RawWords& words) {
  CLI::App* plot = AddCommand(app, "plot", "Draw the figures: published points beside measured ones");
  AddSweep(*plot, words, "FIGURE", "Name of one figure, and KEY=VALUE overrides as given to `run`");
  plot->add_option("--format", line.plot.format, "svg, png, both of these (default), or pdf")
      ->check(CLI::IsMember({"svg", "png", "pdf", "both"}));
  plot->add_option("--out", line.out, "Folder for the files (default figures/ in the results folder)")
      ->type_name("DIR");
  AddFrom(*plot, line);
  plot->add_flag("--force", line.force, "Also over files that are no figures of retort's");
}

int ExecutePlot(const Invocation& call) {
  const CommandLine& line = call.line;
  const LoadedSweep loaded = LoadWithData(call.env, {line.sweep, line.overrides, line.global.profile, false, true,
                                                     line.global.results, ReadArchivedInputs(call)});
  if (!loaded.plan) return call.console.Fail(loaded.errors, loaded.code);
  for (const Diagnostic& absent : loaded.absent) call.console.Warn(absent);
  const Result<std::vector<FigureSpec>> figures = ChosenFigures(*loaded.plan, line.plot.figure);
  if (!figures.ok()) return call.console.Fail(figures.status());
  const std::string results = FindResultsPath(line.global.results, loaded.plan->name);
  Result<ResultsView> view = ReadShownResults(call.env, results, Plans::every);
  if (!view.ok()) return call.console.Fail(view.status());
  const SweepPlan plan = AdoptReleased(*loaded.plan, *view);
  if (const Status belongs = CheckBelongs(call, plan, *view); !belongs.ok()) return call.console.Fail(belongs);
  FigureWriter writer(call, plan, *view);
  for (const FigureSpec& figure : *figures)
    if (const Status written = writer.Write(figure); !written.ok()) return call.console.Fail(written);
  if (line.global.json) {
    nlohmann::ordered_json document;
    document["schema_version"] = kSchemaVersion;
    document["sweep"] = loaded.plan->name;
    document["figures"] = writer.documents();
    call.console.Data(FormatDocument(document));
  }
  return writer.all_drawn() ? 0 : 1;
}

}  // namespace retort::orchestrator::cli
