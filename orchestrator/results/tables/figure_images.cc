#include "orchestrator/results/tables/figure_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "experiments/base/number_text.h"
#include "orchestrator/results/tables/embedding.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator {
namespace {

// The first of the cell's trials that kept samples.
Status FindSamples(const TableCell& cell, const FigureSources& sources, const ViewIndex& views, FigureImages& images) {
  for (const TrialId trial : cell.trials) {
    const auto view = views.find(trial);
    if (view == views.end() || view->second->state != TrialState::succeeded || !view->second->row) continue;
    RETORT_ASSIGN_OR_RETURN(storage::AttemptFile file, sources.recorded(*view->second));
    if (!file.samples) continue;
    images.trial = trial;
    images.name = FormatTrialName(view->second->spec);
    images.samples = std::move(file.samples);
    images.claims = view->second->row->claims;
    return {};
  }
  return {};
}

std::string MakeTitle(const FigureData& data, const FigureImages& images, const TrialSpec* spec) {
  std::string title = FormatSeriesLabel(data, std::vector<bool>(images.values.size(), false), images.values, spec);
  const std::string at = DescribeValue(data, data.spec.x, images.at, spec);
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
    images.title = MakeTitle(data, images, specs.at(cell.trials.front()));
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
    const auto left = ParseFiniteNumber(a.at), right = ParseFiniteNumber(b.at);
    return left && right && *left < *right;
  });
  return {};
}

namespace {

constexpr double kPerplexity = 30;

// What is on a map, and how it is told apart there; the same styles whichever of them a map has.
struct Kind {
  std::string_view split, label;
  std::size_t style = 0;
};
constexpr Kind kKinds[] = {{"train", "private (train)", 0}, {"public", "public", 1}, {"test", "test", 2}};
constexpr Kind kSynthetic{"", "synthetic", 3}, kAsked{"", "public queries", 4};

// Images one after another, and whose they are.
struct GatheredImages {
  std::size_t size = 0;                     // values of one
  std::vector<const std::uint8_t*> pixels;  // of each
  std::vector<MapGroup> groups;             // places yet to come

  void Add(const Kind& kind, const std::vector<std::uint8_t>& bytes, std::size_t count) {
    groups.push_back({std::string(kind.label), kind.style, std::vector<std::pair<double, double>>(count)});
    for (std::size_t i = 0; i < count; ++i) pixels.push_back(bytes.data() + i * size);
  }
};

// In units of a pixel's full range.
double SquaredDistance(const std::uint8_t* a, const std::uint8_t* b, std::size_t size) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const int apart = int{a[i]} - int{b[i]};
    sum += static_cast<std::uint64_t>(apart * apart);
  }
  return static_cast<double>(sum) / (255.0 * 255.0);
}

Distances ComputeDistances(const GatheredImages& pictures) {
  Distances distances;
  const std::size_t n = distances.n = pictures.pixels.size();
  distances.squared.resize(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      distances.squared[i * n + j] = distances.squared[j * n + i] =
          SquaredDistance(pictures.pixels[i], pictures.pixels[j], pictures.size);
  return distances;
}

std::string ShapeText(std::int64_t channels, std::int64_t height, std::int64_t width) {
  return fmt::format("{} x {} x {}", channels, height, width);
}

// The samples and the data set's images can be compared pixel by pixel.
Status CheckShapes(const FigureData& data, const FigureImages& images, const DataImages& pictures) {
  const storage::TensorBlob& blob = images.samples->images;
  const bool alike = blob.dtype == storage::DType::u8 && blob.shape.size() == 4 && blob.shape[1] == pictures.channels &&
                     blob.shape[2] == pictures.height && blob.shape[3] == pictures.width;
  if (alike) return {};
  std::string shape;
  for (std::size_t i = 1; i < blob.shape.size(); ++i) shape += (i == 1 ? "" : " x ") + std::to_string(blob.shape[i]);
  return UsageError(
      fmt::format("figure.{}: samples of {} are {}, and pictures of its data set {} (channels, height, "
                  "width); no map holds both. Leave the trial out, or choose kind = \"samples\".",
                  data.spec.name, images.name, shape.empty() ? "no pictures" : shape,
                  ShapeText(pictures.channels, pictures.height, pictures.width)));
}

GatheredImages Gather(const FigureData& data, const FigureImages& images, const DataImages& pictures,
                      const TrialSpec& spec) {
  GatheredImages all;
  all.size = static_cast<std::size_t>(pictures.channels * pictures.height * pictures.width);
  for (const SplitImages& split : pictures.splits)
    for (const Kind& kind : kKinds)
      if (kind.split == split.split) all.Add(kind, split.pixels, static_cast<std::size_t>(split.count));
  const storage::TensorBlob& samples = images.samples->images;
  const std::int64_t kept = std::min(samples.shape[0], data.spec.count);
  // Some students ask about public images, and keep those.
  if (kept > 0)
    all.Add(spec.source == QuerySource::public_split ? kAsked : kSynthetic, samples.bytes,
            static_cast<std::size_t>(kept));
  return all;
}

FigureMap MakeMap(GatheredImages pictures) {
  const Embedding embedding = ComputeEmbedding(ComputeDistances(pictures), kPerplexity);
  FigureMap map{std::move(pictures.groups), embedding.perplexity, embedding.divergence};
  std::size_t at = 0;
  for (MapGroup& group : map.groups)
    for (auto& place : group.places) {
      place = {embedding.places.x[at], embedding.places.y[at]};
      ++at;
    }
  return map;
}

// A data set that is not here has trials that were never run: what is missing are its files.
Status AbsentImages(const FigureSources& sources) {
  for (const auto& data : sources.plan.data)
    if (data && data->digest.empty()) RETORT_RETURN_IF_ERROR(sources.pictures(*data).status());
  return {};
}

}  // namespace

Status AddMaps(FigureData& data, const FigureSources& sources, const SpecIndex& specs) {
  if (data.empty) return AbsentImages(sources);
  std::map<const DataSpec*, DataImages> known;
  for (FigureImages& images : data.images) {
    if (!images.samples) continue;
    const TrialSpec& spec = *specs.at(images.trial);
    if (!known.contains(spec.data.get())) {
      RETORT_ASSIGN_OR_RETURN(DataImages read, sources.pictures(*spec.data));
      known.emplace(spec.data.get(), std::move(read));
    }
    const DataImages& pictures = known.at(spec.data.get());
    RETORT_RETURN_IF_ERROR(CheckShapes(data, images, pictures));
    GatheredImages all = Gather(data, images, pictures, spec);
    if (all.pixels.size() < 2)
      return UsageError("figure." + data.spec.name + ": one picture in all is no map; raise count.");
    images.map = MakeMap(std::move(all));
  }
  return {};
}

}  // namespace retort::orchestrator
