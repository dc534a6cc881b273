#include "orchestrator/cli/render/figure_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/base/number_text.h"
#include "orchestrator/cli/render/figure_caption.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/results/tables/figure_words.h"

namespace retort::orchestrator::cli {
namespace {

class Drawing {
 public:
  explicit Drawing(const FigureData& data) : data_(data), factor_(IsInPercent(data) ? 100 : 1) {}

  plot::Chart Run() {
    Head();
    if (data_.spec.kind == FigureKind::samples) {
      for (const FigureImages& images : data_.images) chart_.sheets.push_back(MakeSheet(images));
      chart_.columns = Columns();
      return std::move(chart_);
    }
    for (const FigureImages& images : data_.images)
      if (data_.spec.kind == FigureKind::map) chart_.panels.push_back(MakeMapPanel(images));
    for (const FigurePanel& panel : data_.panels) chart_.panels.push_back(MakePanel(panel));
    return std::move(chart_);
  }

 private:
  void Head() {
    switch (data_.spec.kind) {
      case FigureKind::line:
        chart_.marks = plot::Marks::points;
        break;
      case FigureKind::bar:
        chart_.marks = plot::Marks::bars;
        break;
      case FigureKind::curve:
        chart_.marks = plot::Marks::curves;
        break;
      case FigureKind::samples:
        chart_.marks = plot::Marks::sheets;
        break;
      case FigureKind::map:
        chart_.marks = plot::Marks::map;
        break;
    }
    chart_.title = data_.spec.title;
    if (!ShowsImages(data_.spec.kind)) SetAxes();
    chart_.caption = MakeCaption(data_);
    if (data_.smoke) chart_.badge = "smoke";
    chart_.name = data_.spec.title.empty() ? data_.sweep + ": " + data_.spec.name : data_.spec.title;
    chart_.description = DescribeFigure(data_);
  }

  void SetAxes() {
    chart_.x = {FormatXLabel(data_), data_.spec.log_x && data_.categories.empty(), data_.categories, {}, {}};
    chart_.y = {FormatYLabel(data_), data_.spec.log_y, {}, {}, {}};
    if (IsInPercent(data_)) chart_.y.least = 0, chart_.y.most = 100;
  }

  plot::Panel MakePanel(const FigurePanel& panel) {
    plot::Panel drawn;
    drawn.title = panel.title;
    for (const FigureSeries& series : panel.series) {
      if (series.flat)
        AddRules(series, drawn);
      else
        drawn.lines.push_back(MakeLine(series));
    }
    for (const TeacherLine& teacher : data_.teachers) {
      const bool here = data_.spec.panels != "data" || teacher.data == panel.value;
      if (teacher.summary.n > 0 && here)
        drawn.rules.push_back({factor_ * teacher.summary.mean, "teacher " + teacher.name});
      if (teacher.published && here)
        drawn.rules.push_back({factor_ * *teacher.published, "teacher " + teacher.name + " (published)"});
    }
    return drawn;
  }

  // One point, whatever x is.
  void AddRules(const FigureSeries& series, plot::Panel& panel) const {
    const FigurePoint& point = series.points.front();
    if (point.summary.n > 0) panel.rules.push_back({factor_ * point.summary.mean, series.label});
    if (!point.published) return;
    const bool quoted = point.state == CellState::quoted;
    panel.rules.push_back({factor_ * *point.published, series.label + (quoted ? "" : " (published)")});
  }

  plot::Line MakeLine(const FigureSeries& series) const {
    plot::Line line;
    line.label = series.label;
    line.style = series.style;
    for (const FigurePoint& point : series.points) {
      if (point.summary.n > 0) line.points.push_back(Measured(point));
      if (point.state == CellState::missing) line.gaps.push_back(point.x);
      if (point.published) line.published.push_back({point.x, factor_ * *point.published});
    }
    return line;
  }

  [[nodiscard]] plot::Point Measured(const FigurePoint& point) const {
    plot::Point drawn{point.x, factor_ * point.summary.mean};
    if (point.summary.ci95)
      drawn.interval = plot::Interval{factor_ * point.summary.ci95->first, factor_ * point.summary.ci95->second};
    if (point.singles.size() > 1)
      for (const double single : point.singles) drawn.singles.push_back(factor_ * single);
    return drawn;
  }

  // As far out as the frame reaches: the map's unit means nothing.
  [[nodiscard]] static plot::Panel MakeMapPanel(const FigureImages& images) {
    plot::Panel panel;
    panel.title = images.title;
    if (!images.map) return panel;
    double reach = 0;
    for (const MapGroup& group : images.map->groups)
      for (const auto& [x, y] : group.places) reach = std::max({reach, std::abs(x), std::abs(y)});
    const double unit = reach > 0 ? reach : 1;
    for (const MapGroup& group : images.map->groups) {
      plot::Line line{group.label, group.style, {}, {}, {}};
      for (const auto& [x, y] : group.places) line.points.push_back({x / unit, y / unit});
      panel.lines.push_back(std::move(line));
    }
    return panel;
  }

  [[nodiscard]] plot::Sheet MakeSheet(const FigureImages& images) const {
    plot::Sheet sheet;
    sheet.title = images.title;
    if (!images.samples) return sheet;
    const storage::TensorBlob& blob = images.samples->images;
    const bool sound =
        blob.dtype == storage::DType::u8 && blob.shape.size() == 4 && (blob.shape[1] == 1 || blob.shape[1] == 3);
    if (!sound) {
      sheet.notes.emplace_back("these samples are no pictures of 1 or 3 channels");
      return sheet;
    }
    sheet.channels = blob.shape[1];
    sheet.height = blob.shape[2];
    sheet.width = blob.shape[3];
    sheet.count = std::min(blob.shape[0], data_.spec.count);
    const std::int64_t one = sheet.channels * sheet.height * sheet.width;
    sheet.pixels.assign(blob.bytes.begin(), blob.bytes.begin() + one * sheet.count);
    sheet.notes.push_back(images.name);
    if (!images.samples->claim.empty()) sheet.notes.push_back("charged: " + images.samples->claim);
    return sheet;
  }

  // Those of x, where every series has each of them.
  [[nodiscard]] std::size_t Columns() const {
    std::vector<std::string> values;
    for (const FigureImages& images : data_.images)
      if (std::find(values.begin(), values.end(), images.at) == values.end()) values.push_back(images.at);
    const bool whole = !values.empty() && data_.images.size() % values.size() == 0 && values.size() <= 6;
    return whole && values.size() > 1 ? values.size() : 0;
  }

  const FigureData& data_;
  const double factor_;
  plot::Chart chart_;
};

}  // namespace

plot::Chart MakeChart(const FigureData& data) { return Drawing(data).Run(); }

namespace {

using nlohmann::ordered_json;

ordered_json Ids(const std::vector<TrialId>& trials) {
  ordered_json ids = ordered_json::array();
  for (const TrialId trial : trials) ids.push_back(trial.Hex());
  return ids;
}

ordered_json PointJson(const FigurePoint& point, const FigureData& data) {
  const bool curve = data.spec.kind == FigureKind::curve;
  const auto value = [&data](double number) { return MakeMetricJson(number, data.spec.y); };
  const SeedSummary& summary = point.summary;
  ordered_json json;
  if (curve)
    json["x"] = point.x;
  else if (const auto number = ParseFiniteNumber(point.at))
    json["x"] = *number;
  else
    json["x"] = point.at.empty() ? ordered_json() : ordered_json(point.at);
  json["mean"] = summary.n > 0 ? value(summary.mean) : ordered_json();
  json["sd"] = summary.sd ? ordered_json(*summary.sd) : ordered_json();
  json["n"] = summary.n;
  json["ci95"] = summary.ci95 ? ordered_json{value(summary.ci95->first), value(summary.ci95->second)} : ordered_json();
  if (curve) return json;
  json["values"] = ordered_json::array();
  for (const double single : point.singles) json["values"].push_back(value(single));
  json["planned"] = point.planned;
  json["failed"] = point.failed;
  json["published"] = point.published ? value(*point.published) : ordered_json();
  json["state"] = GetCellStateName(point.state);
  json["claims"] = MakeClaimsJson(point.claims);
  json["trials"] = Ids(point.trials);
  return json;
}

ordered_json SeriesJson(const FigureSeries& series, const FigureData& data) {
  const bool curve = data.spec.kind == FigureKind::curve;
  ordered_json json;
  json["label"] = series.label;
  json["keys"] = MakeKeysAndValues(data.keys, series.values);
  json["points"] = ordered_json::array();
  for (const FigurePoint& point : series.points) json["points"].push_back(PointJson(point, data));
  if (!curve) return json;
  json["n"] = series.measured;
  json["planned"] = series.planned;
  json["claims"] = MakeClaimsJson(series.claims);
  json["trials"] = Ids(series.trials);
  return json;
}

ordered_json MapJson(const FigureMap& map) {
  ordered_json json;
  json["perplexity"] = map.perplexity;
  json["divergence"] = map.divergence;
  json["series"] = ordered_json::array();
  for (const MapGroup& group : map.groups) json["series"].push_back({{"label", group.label}, {"points", group.places}});
  return json;
}

ordered_json ImagesJson(const FigureImages& images, const FigureData& data) {
  ordered_json json;
  json["title"] = images.title;
  json["keys"] = MakeKeysAndValues(data.keys, images.values);
  json["x"] = images.at;
  json["trial"] = images.samples ? ordered_json(images.trial.Hex()) : ordered_json();
  json["images"] = images.samples ? images.samples->images.shape : std::vector<std::int64_t>();
  json["state"] = images.samples ? "complete" : "missing";
  json["claims"] = MakeClaimsJson(images.claims);
  if (data.spec.kind == FigureKind::map) json["map"] = images.map ? MapJson(*images.map) : ordered_json();
  return json;
}

}  // namespace

ordered_json MakeFigureJson(const FigureData& data, const std::vector<std::string>& files) {
  ordered_json json;
  json["figure"] = data.spec.name;
  json["kind"] = GetFigureKindName(data.spec.kind);
  json["x"] = data.spec.x;
  json["y"] = ShowsImages(data.spec.kind) ? ordered_json() : ordered_json(data.spec.y);
  json["smoke"] = data.smoke;
  json["files"] = files;
  json["panels"] = ordered_json::array();
  for (const FigurePanel& panel : data.panels) {
    ordered_json entry;
    entry["title"] = panel.title;
    entry["value"] = panel.value;
    entry["series"] = ordered_json::array();
    for (const FigureSeries& series : panel.series) entry["series"].push_back(SeriesJson(series, data));
    json["panels"].push_back(std::move(entry));
  }
  json["samples"] = ordered_json::array();
  for (const FigureImages& images : data.images) json["samples"].push_back(ImagesJson(images, data));
  json["notes"] = MakeCaption(data);
  json["spec_hash"] = data.spec_hash;
  return json;
}

}  // namespace retort::orchestrator::cli
