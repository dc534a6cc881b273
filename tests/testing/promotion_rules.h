// The rule of asha, written down a second time: what may be decided of a free slot, and what not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace retort::testing {

// A suggestion, in the order in which they were decided.
struct TriedSetting {
  double setting = 0;  // what is searched beside the rung; unlike ones are unlike suggestions
  std::size_t rung = 0;
  bool ended = false;
  std::optional<double> score;  // higher is better
};

inline bool IsTried(const std::vector<TriedSetting>& tried, double setting, std::size_t rung) {
  return std::any_of(tried.begin(), tried.end(),
                     [&](const TriedSetting& one) { return one.setting == setting && one.rung == rung; });
}

// Whether `one` is in the first `reduction`-th of those of its rung that have ended.
inline bool IsAmongTheBest(const std::vector<TriedSetting>& tried, const TriedSetting& one, std::size_t reduction) {
  std::size_t ended = 0, better = 0;
  for (const TriedSetting& other : tried) {
    if (other.rung != one.rung || !other.ended) continue;
    ++ended;
    const bool before = &other < &one;  // of equal ones the first
    better += other.score && (*other.score > *one.score || (before && *other.score == *one.score)) ? 1 : 0;
  }
  return better < ended / reduction;
}

// The rungs to which something may be promoted, lowest first.
inline std::vector<std::size_t> ListOpenRungs(const std::vector<TriedSetting>& tried, std::size_t reduction,
                                              std::size_t rungs) {
  std::vector<std::size_t> open;
  for (std::size_t next = 1; next < rungs; ++next)
    if (std::any_of(tried.begin(), tried.end(), [&](const TriedSetting& one) {
          return one.rung + 1 == next && one.ended && one.score && IsAmongTheBest(tried, one, reduction) &&
                 !IsTried(tried, one.setting, next);
        }))
      open.push_back(next);
  return open;
}

// Why `decided` may not follow `tried`; empty where it may.
inline std::string FindBreach(const std::vector<TriedSetting>& tried, const TriedSetting& decided,
                              std::size_t reduction, std::size_t rungs) {
  if (IsTried(tried, decided.setting, decided.rung)) return "it is on this rung already";
  const std::vector<std::size_t> open = ListOpenRungs(tried, reduction, rungs);
  if (decided.rung == 0) return open.empty() ? "" : "another could be promoted";
  if (open.empty() || open.back() != decided.rung) return "its rung is not the highest that one may go on to";
  const auto from = std::find_if(tried.begin(), tried.end(), [&](const TriedSetting& one) {
    return one.setting == decided.setting && one.rung + 1 == decided.rung;
  });
  if (from == tried.end() || !from->ended) return "it has not ended on the rung before";
  if (!from->score) return "it failed on the rung before";
  return IsAmongTheBest(tried, *from, reduction) ? "" : "it is not among the best of the rung before";
}

}  // namespace retort::testing
