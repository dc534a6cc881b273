#include "experiments/sweep/search_points.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/methods/methods.h"
#include "experiments/sweep/search_rungs.h"

namespace retort {
namespace {

// One after the other: a point of the same round counts as tried, without a score.
std::vector<SearchPoint> SuggestRound(const SearchSpec& spec, const std::vector<SearchPoint>& points,
                                      const std::vector<SearchOutcome>& outcomes, std::size_t count) {
  std::set<SearchPoint> taken(points.begin(), points.end());
  std::vector<TriedPoint> tried;
  for (std::size_t i = 0; i < points.size(); ++i) tried.push_back({points[i], outcomes[i].score});
  std::vector<SearchPoint> round;
  while (round.size() < count) {
    round.push_back(SuggestByTpe(spec, tried.size(), tried, taken));
    taken.insert(round.back());
    tried.push_back({round.back(), std::nullopt});
  }
  return round;
}

}  // namespace

std::optional<std::size_t> FindSuggestion(const TrialSpec& spec) {
  for (const auto& [axis, value] : spec.axes)
    if (axis == kSuggestionKey)
      if (const auto number = ParseWholeNumber(value)) return static_cast<std::size_t>(*number);
  return std::nullopt;
}

bool Tells(const SpecKey& key, const TrialSpec& trial) {
  const MethodTraits* method = FindMethod(trial.method);
  if (key.name == "reading" && method != nullptr && method->readings == 0) return false;
  return key.AppliesTo(FindKind(trial), trial.source);
}

namespace {

// Of each dimension the value that a trial of the suggestion tells; nothing where none does.
using ToldPoint = std::vector<std::optional<KeyValue>>;

ToldPoint ReadPoint(const SearchSpec& spec, const SearchHistory& history, std::size_t number) {
  ToldPoint told(spec.space.size());
  const auto [first, last] = history.planned.equal_range(number);
  for (std::size_t i = 0; i < told.size(); ++i) {
    const SpecKey& key = *spec.space[i].key;
    const auto teller = std::find_if(first, last, [&key](const auto& entry) { return Tells(key, entry.second); });
    if (teller != last) told[i] = key.get(teller->second);
  }
  return told;
}

// What is not told is as in the first setting of the first rung that fits: settings which differ in no more have the
// same trials. Without one that fits it is left out.
SearchPoint CompletePoint(const ToldPoint& told, const std::vector<SearchPoint>& first_rung) {
  const auto fits = [&told](const SearchPoint& setting) {
    for (std::size_t i = 0; i + 1 < told.size(); ++i)
      if (told[i] && *told[i] != setting[i]) return false;
    return true;
  };
  const bool whole = std::all_of(told.begin(), told.end(), [](const auto& value) { return value.has_value(); });
  SearchPoint point;
  if (!whole)
    if (const auto found = std::find_if(first_rung.begin(), first_rung.end(), fits); found != first_rung.end())
      point = *found;
  if (!whole && point.empty()) return point;
  point.resize(told.size());
  for (std::size_t i = 0; i < told.size(); ++i)
    if (told[i]) point[i] = *told[i];
  return point;
}

Result<std::vector<NumberedPoint>> ListDecided(const SearchSpec& spec, const SearchHistory& history) {
  std::vector<NumberedPoint> points;
  if (history.planned.empty()) return points;
  const std::vector<SearchPoint> first_rung = DrawFirstRung(spec);
  std::int64_t started = 0;  // on the first rung
  for (auto at = history.planned.begin(); at != history.planned.end(); at = history.planned.upper_bound(at->first)) {
    SearchPoint point = CompletePoint(ReadPoint(spec, history, at->first), first_rung);
    if (!ContainsPoint(spec, point))
      return UsageError("suggestion " + std::to_string(at->first) + " of the results folder (" + at->second.name +
                        ") is none of this search, though sweep.search is the same: nothing can be decided after it; "
                        "write another sweep.search.seed, or give the sweep a folder of its own with --results");
    if (point.back() == spec.rungs().front() && ++started > spec.trials) break;
    points.push_back({at->first, std::move(point)});
  }
  return points;
}

}  // namespace

Result<std::vector<NumberedPoint>> ListSuggested(const SearchSpec& spec, const SearchHistory& history) {
  std::vector<NumberedPoint> points;
  if (!spec.valid || history.identity != spec.identity) return points;
  if (spec.IsAsynchronous()) return ListDecided(spec, history);
  for (auto at = history.planned.begin(); at != history.planned.end(); at = history.planned.upper_bound(at->first)) {
    if (at->first != points.size() || static_cast<std::int64_t>(at->first) >= CountSuggestions(spec)) break;
    const ToldPoint told = ReadPoint(spec, history, at->first);
    SearchPoint point;
    for (std::size_t i = 0; i < told.size(); ++i)
      point.push_back(told[i] ? *told[i] : spec.space[i].key->get(at->second));
    if (!ContainsPoint(spec, point)) return std::vector<NumberedPoint>();
    points.push_back({at->first, std::move(point)});
  }
  return points;
}

SearchOutcome AverageOutcomes(const std::vector<SearchOutcome>& trials) {
  SearchOutcome all{true, std::nullopt, 0};
  double sum = 0;
  for (const SearchOutcome& trial : trials) {
    all.ended = all.ended && trial.ended;
    if (!trial.score) continue;
    sum += *trial.score;
    ++all.measured;
  }
  if (all.measured > 0) all.score = sum / static_cast<double>(all.measured);
  return all;
}

SearchOutcome CombineOutcomes(const SearchSpec& spec, const std::vector<TrialId>& trials,
                              const SearchHistory& history) {
  std::vector<SearchOutcome> outcomes;
  for (const TrialId id : trials) {
    const auto found = history.outcomes.find(id);
    outcomes.push_back(found == history.outcomes.end() ? SearchOutcome() : found->second);
  }
  SearchOutcome all = AverageOutcomes(outcomes);
  if (!all.ended) return {};
  if (all.score && !spec.maximize) all.score = -*all.score;
  return all;
}

std::vector<SearchPoint> SuggestPoints(const SearchSpec& spec, const std::vector<SearchPoint>& points,
                                       const std::vector<SearchOutcome>& outcomes) {
  const auto wanted = static_cast<std::size_t>(CountSuggestions(spec));
  if (!spec.valid || points.size() >= wanted) return {};
  if (!spec.IsAdaptive() && !points.empty()) return {};
  if (spec.method == SearchMethod::latin_hypercube) return DrawLatinHypercube(spec);
  if (spec.method == SearchMethod::random) return DrawPoints(spec, wanted);
  if (points.empty() && spec.HasRungs()) return DrawFirstRung(spec);
  if (points.empty()) return DrawPoints(spec, std::min(wanted, static_cast<std::size_t>(spec.startup)));
  if (!std::all_of(outcomes.begin(), outcomes.end(), [](const SearchOutcome& one) { return one.ended; })) return {};
  if (spec.HasRungs()) return ClimbRung(spec, points, outcomes);
  return SuggestRound(spec, points, outcomes, std::min(wanted - points.size(), static_cast<std::size_t>(spec.batch)));
}

}  // namespace retort
