// Builds the points of a figure as a value: what the image, its caption and --json all show.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/sweep/figure_specs.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/results/tables/result_table.h"
#include "orchestrator/results/tables/split_images.h"
#include "storage/results/attempt_file.h"

namespace retort::orchestrator {

// All trials that agree in the figure's keys; they differ in seed. Of curves: these trials at one x.
struct FigurePoint {
  std::string at;               // the value of x, as text
  double x = 0;                 // it; on an axis of categories the index
  SeedSummary summary;          // over the seeds that have a value
  std::vector<double> singles;  // their values
  int planned = 0, failed = 0;
  CellState state = CellState::missing;
  std::optional<double> published;
  std::vector<privacy::Claim> claims;
  std::vector<TrialId> trials;
};

struct FigureSeries {
  std::vector<std::string> values;  // of FigureData::keys, in their order
  std::string label;
  std::size_t style = 0;
  bool flat = false;  // x does not apply to its trials: one point, drawn as a line across
  std::vector<FigurePoint> points;
  // Of curves: the trials behind all points.
  int planned = 0, measured = 0, failed = 0;
  std::vector<privacy::Claim> claims;
  std::vector<TrialId> trials;
};

// Images of one kind on a map.
struct MapGroup {
  std::string label;  // "private (train)", "public", "test"; of samples "synthetic", or "public queries"
  std::size_t style = 0;
  std::vector<std::pair<double, double>> places;  // in the map's own unit
};

// Neighbours on it are images with like pixels; the mean of all places is 0.
struct FigureMap {
  std::vector<MapGroup> groups;  // what the splits hold, then the samples
  double perplexity = 0;
  double divergence = 0;  // Kullback-Leibler, in nats: what of the neighbourhoods the map does not show
};

struct FigureImages {
  std::string title;
  std::string at;                           // the value of x
  std::vector<std::string> values;          // of FigureData::keys
  TrialId trial;                            // the first of its seeds that kept samples
  std::string name;                         // shown
  std::optional<storage::Samples> samples;  // absent: missing
  std::optional<FigureMap> map;             // of kind map, where there are samples
  std::vector<privacy::Claim> claims;
  int planned = 0;
};

struct FigurePanel {
  std::string value, title;  // of the key of panels
  std::vector<FigureSeries> series;
};

// What an epsilon of the sweep file asks for: the word of `claim`, with delta.
struct EpsilonTarget {
  std::string claim;  // "paper", "example", ...
  std::string delta;
  bool proven = true;     // by every trial that was measured
  bool of_label = false;  // of the claim "paper": the formula is that of a label alone
  bool operator==(const EpsilonTarget&) const = default;
};

struct FigureData {
  FigureSpec spec;  // x and y are filled in
  std::string sweep, file;
  std::vector<std::string> keys;        // that tell series apart; more than spec.series where axes were left
  std::vector<std::string> categories;  // of x; empty = numbers
  std::vector<FigurePanel> panels;      // of all but samples and map
  std::vector<FigureImages> images;     // of samples and map
  std::vector<TeacherLine> teachers;    // where the figure shows them
  std::vector<EpsilonTarget> epsilons;  // that x or a series stands for; several: each label says its own
  std::vector<std::string> warnings;
  std::string spec_hash;
  bool smoke = false, running = false;
  // Whether there is anything to draw, and how many points (of curves: series) were planned and are missing.
  bool empty = true;
  int missing = 0, all = 0;
};

// Curves and samples of a trial that has ended.
using AttemptFileSource = std::function<Result<storage::AttemptFile>(const TrialView&)>;

struct FigureSources {
  const SweepPlan& plan;
  const ResultsView& view;
  const std::vector<PublishedValue>& published;
  AttemptFileSource recorded;
  bool smoke = false;
  SplitImageSource pictures = {};  // of kind map: at most spec.count of each split
};

// The figure of a sweep that declares none: its first axis of numbers, else its first axis, against the metric of the
// first table.
[[nodiscard]] FigureSpec MakeDefaultFigure(const SweepPlan& plan);

// Error: usage, when the figure names no x and the sweep has no axis for its kind, or a curve that no trial recorded,
// naming the nearest.
[[nodiscard]] Result<FigureData> BuildFigure(const FigureSpec& spec, const FigureSources& sources);

}  // namespace retort::orchestrator
