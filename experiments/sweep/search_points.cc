#include "experiments/sweep/search_points.h"

#include <algorithm>
#include <set>
#include <utility>

#include "experiments/base/number_text.h"
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

std::vector<SearchPoint> ListSuggested(const SearchSpec& spec, const SearchHistory& history) {
  std::vector<SearchPoint> points;
  std::int64_t started = 0;  // on the first rung
  if (history.identity != spec.identity) return points;
  for (const auto& [suggestion, trial] : history.planned) {
    if (suggestion != points.size() || static_cast<std::int64_t>(suggestion) >= CountSuggestions(spec)) break;
    SearchPoint point;
    for (const SearchDimension& dimension : spec.space) point.push_back(dimension.key->get(trial));
    if (!ContainsPoint(spec, point)) return {};
    if (spec.IsAsynchronous() && point.back() == spec.rungs().front() && ++started > spec.trials) break;
    points.push_back(std::move(point));
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
