#include "orchestrator/cli/figure_images.h"

#include <algorithm>
#include <utility>

#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/trial_names.h"

namespace retort::orchestrator::cli {
namespace {

// The first of the cell's trials that kept samples.
Status FindSamples(const TableCell& cell, const FigureSources& sources, const ViewIndex& views, FigureImages& images) {
  for (const TrialId trial : cell.trials) {
    const auto view = views.find(trial);
    if (view == views.end() || view->second->state != TrialState::succeeded || !view->second->row) continue;
    RETORT_ASSIGN_OR_RETURN(storage::AttemptFile file, sources.recorded(*view->second));
    if (!file.samples) continue;
    images.trial = trial;
    images.name = ShownName(view->second->spec);
    images.samples = std::move(file.samples);
    images.claims = view->second->row->claims;
    return {};
  }
  return {};
}

std::string TitleOf(const FigureData& data, const FigureImages& images, const TrialSpec* spec) {
  std::string title = SeriesLabel(data, std::vector<bool>(images.values.size(), false), images.values, spec);
  const std::string at = ValueWords(data, data.spec.x, images.at, spec);
  if (title.find(at) == std::string::npos) title += (title.empty() ? "" : ", ") + at;
  return title;
}

}  // namespace

Status AddImages(FigureData& data, const ResultTable& table, const FigureSources& sources, const SpecIndex& specs,
                 const ViewIndex& views) {
  for (const TableCell& cell : table.cells) {
    if (cell.trials.empty()) continue;
    FigureImages images;
    images.values = cell.row;
    images.at = cell.column.front();
    images.planned = cell.planned;
    images.title = TitleOf(data, images, specs.at(cell.trials.front()));
    RETORT_RETURN_IF_ERROR(FindSamples(cell, sources, views, images));
    ++data.all;
    if (!images.samples) ++data.missing;
    data.empty = data.empty && !images.samples;
    data.images.push_back(std::move(images));
  }
  std::vector<std::vector<std::string>> rows;
  for (const FigureImages& images : data.images)
    if (std::find(rows.begin(), rows.end(), images.values) == rows.end()) rows.push_back(images.values);
  const auto row = [&rows](const FigureImages& images) {
    return std::find(rows.begin(), rows.end(), images.values) - rows.begin();
  };
  std::stable_sort(data.images.begin(), data.images.end(), [&](const FigureImages& a, const FigureImages& b) {
    if (row(a) != row(b)) return row(a) < row(b);
    const auto left = NumberIn(a.at), right = NumberIn(b.at);
    return left && right && *left < *right;
  });
  return {};
}

}  // namespace retort::orchestrator::cli
