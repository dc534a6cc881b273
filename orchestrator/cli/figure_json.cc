#include "orchestrator/cli/figure_json.h"

#include <nlohmann/json.hpp>

#include "orchestrator/cli/claim_json.h"
#include "orchestrator/cli/figure_words.h"
#include "orchestrator/cli/number_text.h"

namespace retort::orchestrator::cli {
namespace {

using nlohmann::ordered_json;

ordered_json KeysAndValues(const std::vector<std::string>& keys, const std::vector<std::string>& values) {
  ordered_json object = ordered_json::object();
  for (std::size_t i = 0; i < keys.size(); ++i) object[keys[i]] = values[i];
  return object;
}

ordered_json Ids(const std::vector<TrialId>& trials) {
  ordered_json ids = ordered_json::array();
  for (const TrialId trial : trials) ids.push_back(trial.Hex());
  return ids;
}

ordered_json PointJson(const FigurePoint& point, bool curve) {
  const Summary& summary = point.summary;
  ordered_json json;
  if (curve)
    json["x"] = point.x;
  else if (const auto number = NumberIn(point.at))
    json["x"] = *number;
  else
    json["x"] = point.at.empty() ? ordered_json() : ordered_json(point.at);
  json["mean"] = summary.n > 0 ? ordered_json(summary.mean) : ordered_json();
  json["sd"] = summary.sd ? ordered_json(*summary.sd) : ordered_json();
  json["n"] = summary.n;
  json["ci95"] = summary.ci95 ? ordered_json{summary.ci95->first, summary.ci95->second} : ordered_json();
  if (curve) return json;
  json["values"] = point.singles;
  json["planned"] = point.planned;
  json["failed"] = point.failed;
  json["published"] = point.published ? ordered_json(*point.published) : ordered_json();
  json["state"] = CellStateName(point.state);
  json["claims"] = ClaimsJson(point.claims);
  json["trials"] = Ids(point.trials);
  return json;
}

ordered_json SeriesJson(const FigureSeries& series, const FigureData& data) {
  const bool curve = data.spec.kind == FigureKind::curve;
  ordered_json json;
  json["label"] = series.label;
  json["keys"] = KeysAndValues(data.keys, series.values);
  json["points"] = ordered_json::array();
  for (const FigurePoint& point : series.points) json["points"].push_back(PointJson(point, curve));
  if (!curve) return json;
  json["n"] = series.measured;
  json["planned"] = series.planned;
  json["claims"] = ClaimsJson(series.claims);
  json["trials"] = Ids(series.trials);
  return json;
}

ordered_json MapJson(const FigureMap& map) {
  ordered_json json;
  json["perplexity"] = map.perplexity;
  json["divergence"] = map.divergence;
  json["series"] = ordered_json::array();
  for (const MapGroup& group : map.groups)
    json["series"].push_back({{"label", group.label}, {"points", group.places}});
  return json;
}

ordered_json ImagesJson(const FigureImages& images, const FigureData& data) {
  ordered_json json;
  json["title"] = images.title;
  json["keys"] = KeysAndValues(data.keys, images.values);
  json["x"] = images.at;
  json["trial"] = images.samples ? ordered_json(images.trial.Hex()) : ordered_json();
  json["images"] = images.samples ? images.samples->images.shape : std::vector<std::int64_t>();
  json["state"] = images.samples ? "complete" : "missing";
  json["claims"] = ClaimsJson(images.claims);
  if (data.spec.kind == FigureKind::map) json["map"] = images.map ? MapJson(*images.map) : ordered_json();
  return json;
}

}  // namespace

ordered_json FigureJson(const FigureData& data, const std::vector<std::string>& files) {
  ordered_json json;
  json["figure"] = data.spec.name;
  json["kind"] = FigureKindName(data.spec.kind);
  json["x"] = data.spec.x;
  json["y"] = ShowsPictures(data.spec.kind) ? ordered_json() : ordered_json(data.spec.y);
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
  json["notes"] = CaptionOf(data);
  json["spec_hash"] = data.spec_hash;
  return json;
}

}  // namespace retort::orchestrator::cli
