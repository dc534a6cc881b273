#include "experiments/sweep/search_rungs.h"

#include <algorithm>
#include <set>

namespace retort {
namespace {

// Those on `rung` that have a score, best first; of equal ones the first.
std::vector<std::size_t> RankRung(const KeyValue& rung, std::span<const SearchPoint> points,
                                  std::span<const SearchOutcome> outcomes) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].back() == rung && outcomes[i].ended && outcomes[i].score) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return *outcomes[a].score > *outcomes[b].score; });
  return order;
}

SearchPoint MoveTo(const KeyValue& rung, SearchPoint point) {
  point.back() = rung;
  return point;
}

}  // namespace

std::vector<SearchPoint> DrawFirstRung(const SearchSpec& spec) {
  SearchSpec first = spec;
  first.space.back().choices.resize(1);
  return DrawPoints(first, static_cast<std::size_t>(spec.trials));
}

std::vector<SearchPoint> ClimbRung(const SearchSpec& spec, const std::vector<SearchPoint>& points,
                                   const std::vector<SearchOutcome>& outcomes) {
  const std::vector<KeyValue>& rungs = spec.rungs();
  const std::size_t next = FindChoice(spec.space.back(), points.back().back()) + 1;
  if (next >= rungs.size()) return {};
  std::vector<std::size_t> order = RankRung(points.back().back(), points, outcomes);
  const auto wanted = static_cast<std::size_t>(ListRungSizes(spec.trials, spec.reduction, rungs.size())[next]);
  order.resize(std::min(order.size(), wanted));
  std::vector<SearchPoint> best;
  for (const std::size_t i : order) best.push_back(MoveTo(rungs[next], points[i]));
  return best;
}

std::optional<std::size_t> FindPromotion(std::int64_t reduction, const std::vector<KeyValue>& rungs,
                                         std::span<const SearchPoint> points, std::span<const SearchOutcome> outcomes) {
  const std::set<SearchPoint> known(points.begin(), points.end());
  for (std::size_t next = rungs.size(); next-- > 1;) {
    const KeyValue& rung = rungs[next - 1];
    std::int64_t ended = 0;
    for (std::size_t i = 0; i < points.size(); ++i)
      if (points[i].back() == rung && outcomes[i].ended) ++ended;
    std::vector<std::size_t> best = RankRung(rung, points, outcomes);
    best.resize(std::min(best.size(), static_cast<std::size_t>(ended / reduction)));
    for (const std::size_t i : best)
      if (!known.contains(MoveTo(rungs[next], points[i]))) return i;
  }
  return std::nullopt;
}

std::optional<SearchPoint> SuggestNext(const SearchSpec& spec, const std::vector<SearchPoint>& first_rung,
                                       const std::vector<SearchPoint>& points,
                                       const std::vector<SearchOutcome>& outcomes) {
  const std::vector<KeyValue>& rungs = spec.rungs();
  if (const std::optional<std::size_t> best = FindPromotion(spec.reduction, rungs, points, outcomes))
    return MoveTo(rungs[FindChoice(spec.space.back(), points[*best].back()) + 1], points[*best]);
  const std::set<SearchPoint> known(points.begin(), points.end());
  std::size_t next = first_rung.size();
  while (next > 0 && !known.contains(first_rung[next - 1])) --next;
  if (next == first_rung.size()) return std::nullopt;
  return first_rung[next];
}

}  // namespace retort
