// The figures of a sweep, as `retort plot` draws them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "orchestrator/cli/figure_data.h"
#include "orchestrator/cli/figure_picture.h"
#include "orchestrator/cli/report_sources.h"
#include "orchestrator/cli/shell_text.h"
#include "orchestrator/plot/render.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::size_t kLongestAlternative = 1200;

std::string PlotCommand(const ReportSources& sources, const FigureSpec& spec) {
  return "retort plot " + ShellText(sources.plan.file) + " " +
         (sources.plan.figures.empty() ? "" : spec.name + " ") + "--results " +
         ShellText(sources.view.directory);
}

bool ReadsAttempts(FigureKind kind) { return kind == FigureKind::curve || ShowsPictures(kind); }

std::vector<const TrialView*> StudentsIn(const ResultsView& view) {
  std::vector<const TrialView*> students;
  for (const TrialView& trial : view.trials)
    if (trial.spec.role == Role::student) students.push_back(&trial);
  return students;
}

// Why the figure is left to `retort plot`; empty when it is not.
std::string TooLarge(const ReportSources& sources, const FigureSpec& spec) {
  if (spec.kind == FigureKind::map && spec.count > kMostOnMap) return "it takes long";
  if (ReadsAttempts(spec.kind) && !sources.attempts.Affords(StudentsIn(sources.view)))
    return "it needs more of the attempts' files than a page reads";
  return "";
}

class FigurePart {
 public:
  FigurePart(Html& html, const ReportSources& sources, std::size_t& picture_bytes)
      : html_(html), sources_(sources), picture_bytes_(picture_bytes) {}

  // `declared`: in the sweep file. One that is not is worth no word when there is nothing to draw.
  void Write(const FigureSpec& spec, bool declared) {
    if (const std::string why = TooLarge(sources_, spec); !why.empty()) return LeaveOut(spec, why);
    const auto recorded = [this](const TrialView& trial) {
      return Result<storage::AttemptFile>(sources_.attempts.Read(trial));
    };
    const std::vector<PublishedValue> published = PublishedTable(spec.published);
    const auto pictures = [this, &spec](const DataSpec& set) { return sources_.pictures(set, spec.count); };
    const Result<FigureData> data = BuildFigure(spec, {sources_.plan, sources_.view, published, recorded,
                                                       sources_.plan.profile == "smoke", pictures});
    if (!data.ok()) {
      if (declared) Say(spec, data.status().message());
    } else if (data->empty) {
      if (declared) Say(spec, "Nothing of it has been measured yet.");
    } else {
      Draw(*data);
    }
  }

 private:
  void Say(const FigureSpec& spec, const std::string& what) {
    html_.Element("h3", "Figure " + spec.name);
    html_.Paragraph(what);
  }

  void LeaveOut(const FigureSpec& spec, const std::string& why) {
    html_.Element("h3", "Figure " + spec.name);
    const HtmlScope paragraph(html_, "p");
    html_.Text("Left out: " + why + ". ");
    html_.Element("code", PlotCommand(sources_, spec));
    html_.Text(" draws it.");
  }

  void Draw(const FigureData& data) {
    const plot::Picture picture = PictureOf(data);
    const Result<std::string> svg = plot::Render(picture, plot::Format::svg);
    if (!svg.ok()) return Say(data.spec, svg.status().message());
    const std::string bytes = Base64(*svg);
    if (picture_bytes_ + bytes.size() > sources_.limits.picture_bytes)
      return LeaveOut(data.spec, "the page has as many pictures as it may hold");
    picture_bytes_ += bytes.size();
    html_.Element("h3", "Figure " + data.spec.name);
    const HtmlScope figure(html_, "figure");
    const bool fits = picture.description.size() <= kLongestAlternative;
    html_.Void("img", {{"src", "data:image/svg+xml;base64," + bytes},
                       {"alt", picture.name + ". " +
                                   (fits ? picture.description : "Its points stand in words below.")}});
    html_.Line();
    if (!fits) WordsBelow(picture.description);
    if (data.missing > 0)
      html_.Element("figcaption", fmt::format("{} of {} points are missing.", data.missing, data.all));
  }

  void WordsBelow(const std::string& description) {
    const HtmlScope details(html_, "details");
    html_.Element("summary", "The same in words");
    html_.Paragraph(description);
  }

  Html& html_;
  const ReportSources& sources_;
  std::size_t& picture_bytes_;
};

}  // namespace

void WriteFigures(Html& html, const ReportSources& sources, std::size_t& picture_bytes) {
  const std::vector<FigureSpec>& declared = sources.plan.figures;
  if (sources.plan.trials.empty()) return;
  const HtmlScope section(html, "section", {{"aria-labelledby", "figures"}});
  html.Element("h2", "Figures", {{"id", "figures"}});
  FigurePart part(html, sources, picture_bytes);
  if (declared.empty()) part.Write(DefaultFigure(sources.plan), false);
  for (std::size_t i = 0; i < std::min(declared.size(), sources.limits.figures); ++i)
    part.Write(declared[i], true);
  if (declared.size() > sources.limits.figures)
    html.Paragraph(fmt::format("{} more figures are left out: `retort plot {} --results {}` draws all.",
                               declared.size() - sources.limits.figures, ShellText(sources.plan.file),
                               ShellText(sources.view.directory)));
}

}  // namespace retort::orchestrator::cli
