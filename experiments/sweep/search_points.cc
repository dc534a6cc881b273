#include "experiments/sweep/search_points.h"

#include <algorithm>
#include <set>
#include <utility>

#include "experiments/base/number_text.h"

namespace retort {
namespace {

std::vector<SearchPoint> DrawAll(const SearchSpec& spec, std::size_t count) {
  std::set<SearchPoint> taken;
  std::vector<SearchPoint> points;
  while (points.size() < count) {
    points.push_back(DrawPoint(spec, points.size(), taken));
    taken.insert(points.back());
  }
  return points;
}

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

// At random, all on the first rung.
std::vector<SearchPoint> DrawFirstRung(const SearchSpec& spec) {
  SearchSpec first = spec;
  first.space.back().choices.resize(1);
  return DrawAll(first, static_cast<std::size_t>(spec.trials));
}

// The best of the last rung [Jamieson and Talwalkar 2016], best first; of equal ones the first. Those without a score
// stay behind.
std::vector<SearchPoint> ClimbRung(const SearchSpec& spec, const std::vector<SearchPoint>& points,
                                   const std::vector<SearchOutcome>& outcomes) {
  const std::vector<KeyValue>& rungs = spec.space.back().choices;
  const std::size_t next = ChoiceOf(spec.space.back(), points.back().back()) + 1;
  if (next >= rungs.size()) return {};
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].back() == points.back().back() && outcomes[i].score) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return *outcomes[a].score > *outcomes[b].score; });
  const auto wanted = static_cast<std::size_t>(ListRungSizes(spec.trials, spec.reduction, rungs.size())[next]);
  order.resize(std::min(order.size(), wanted));
  std::vector<SearchPoint> best;
  for (const std::size_t i : order) {
    best.push_back(points[i]);
    best.back().back() = rungs[next];
  }
  return best;
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
  if (history.identity != spec.identity) return points;
  for (const auto& [suggestion, trial] : history.planned) {
    if (suggestion != points.size() || static_cast<std::int64_t>(suggestion) >= CountSuggestions(spec)) break;
    SearchPoint point;
    for (const SearchDimension& dimension : spec.space) point.push_back(dimension.key->get(trial));
    if (!ContainsPoint(spec, point)) return {};
    points.push_back(std::move(point));
  }
  return points;
}

SearchOutcome CombineOutcomes(const SearchSpec& spec, const std::vector<TrialId>& trials,
                              const SearchHistory& history) {
  SearchOutcome all{true, std::nullopt};
  double sum = 0, count = 0;
  for (const TrialId id : trials) {
    const auto found = history.outcomes.find(id);
    if (found == history.outcomes.end() || !found->second.ended) return {};
    if (!found->second.score) continue;
    sum += *found->second.score;
    ++count;
  }
  if (count > 0) all.score = (spec.maximize ? 1 : -1) * sum / count;
  return all;
}

std::vector<SearchPoint> SuggestPoints(const SearchSpec& spec, const std::vector<SearchPoint>& points,
                                       const std::vector<SearchOutcome>& outcomes) {
  const auto wanted = static_cast<std::size_t>(CountSuggestions(spec));
  if (!spec.valid || points.size() >= wanted) return {};
  if (!spec.IsAdaptive() && !points.empty()) return {};
  if (spec.method == SearchMethod::latin_hypercube) return DrawLatinHypercube(spec);
  if (spec.method == SearchMethod::random) return DrawAll(spec, wanted);
  if (points.empty() && spec.HasRungs()) return DrawFirstRung(spec);
  if (points.empty()) return DrawAll(spec, std::min(wanted, static_cast<std::size_t>(spec.startup)));
  if (!std::all_of(outcomes.begin(), outcomes.end(), [](const SearchOutcome& one) { return one.ended; })) return {};
  if (spec.HasRungs()) return ClimbRung(spec, points, outcomes);
  return SuggestRound(spec, points, outcomes, std::min(wanted - points.size(), static_cast<std::size_t>(spec.batch)));
}

}  // namespace retort
