// Which points a search tries next, and what it tried before.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/sweep/tpe.h"

namespace retort {

// How a trial of a search stands.
struct SearchOutcome {
  bool ended = false;           // for good
  std::optional<double> score;  // where it has one
  std::size_t measured = 0;     // of a mean: trials that have one
};

// What was suggested and measured before, as a results folder has it.
struct SearchHistory {
  std::string identity;                           // IdentifySearchIn the sweep that was run
  std::multimap<std::size_t, TrialSpec> planned;  // trials by suggestion
  std::map<TrialId, SearchOutcome> outcomes;
  // Of asha, during a run: suggestions that may be added now. Nothing where no run asks: then none is added to those
  // that are planned, and where none is, the whole first rung is.
  std::optional<std::size_t> room;
};

// The suggestion that a trial belongs to; nothing for a trial of no search.
[[nodiscard]] std::optional<std::size_t> FindSuggestion(const TrialSpec& spec);

struct NumberedPoint {
  std::size_t number = 0;  // of the suggestion
  SearchPoint point;
};

// Whether the value of a searched key can be read back from a trial: whether it does anything there.
[[nodiscard]] bool Tells(const SpecKey& key, const TrialSpec& trial);

// The points that were suggested, in order, as far as they are of this search: one that was stopped goes on from them,
// whatever would be suggested anew. Each key is read from a trial that tells it. Of asha what none tells is as on the
// first rung, a number may be missing, since all trials of one may have been excluded later, and the list ends where
// the first rung has more than `spec.trials`; of the others, it ends where a number is missing. Empty where the search
// is another one. Error: usage, for a suggestion of asha that is no point of the space.
[[nodiscard]] Result<std::vector<NumberedPoint>> ListSuggested(const SearchSpec& spec, const SearchHistory& history);

// Of the trials of one suggestion: the mean score, without one where none has one; not ended while one of them has not.
[[nodiscard]] SearchOutcome AverageOutcomes(const std::vector<SearchOutcome>& trials);
// The same, higher being better; nothing of a suggestion that has not ended.
[[nodiscard]] SearchOutcome CombineOutcomes(const SearchSpec& spec, const std::vector<TrialId>& trials,
                                            const SearchHistory& history);

// Returns the points to be tried next, in order: all of them for random and latin-hypercube; for tpe those of the next
// round, and for successive-halving the best of the last rung on the next one, once everything before has ended. Empty:
// nothing now. A function of spec, points and outcomes alone. REQUIRES: not asha (search_rungs.h).
[[nodiscard]] std::vector<SearchPoint> SuggestPoints(const SearchSpec& spec, const std::vector<SearchPoint>& points,
                                                     const std::vector<SearchOutcome>& outcomes);

}  // namespace retort
