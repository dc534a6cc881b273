#include "orchestrator/results/search_standing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/methods/spec_keys.h"
#include "experiments/sweep/search_rungs.h"
#include "orchestrator/reactor/search_rounds.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator {
namespace {

struct Suggestion {
  const TrialView* first = nullptr;
  std::vector<const TrialSpec*> specs;
  std::vector<SearchOutcome> trials;
};

const SpecKey* FindRungKey(const SearchTerms& terms) {
  return terms.rung_key.empty() ? nullptr : FindKey(terms.rung_key, kInTrial);
}

// What is searched, of a suggestion; the rung that it stands on last, where there are rungs.
SearchPoint FindPoint(const Suggestion& suggestion, const SearchTerms& terms) {
  SearchPoint point;
  for (const std::string& name : terms.keys) {
    const SpecKey* key = FindKey(name, kInTrial);
    if (key == nullptr) continue;
    const auto teller = std::find_if(suggestion.specs.begin(), suggestion.specs.end(),
                                     [key](const TrialSpec* spec) { return Tells(*key, *spec); });
    point.push_back(key->get(teller == suggestion.specs.end() ? suggestion.first->spec : **teller));
  }
  return point;
}

std::optional<double> FindScore(const TrialView& trial, const std::string& score) {
  if (trial.state != TrialState::succeeded || !HasRow(trial)) return std::nullopt;
  const Result<storage::ResultRow> row = ReadRow(trial);
  if (!row.ok()) return std::nullopt;  // `retort verify` names it
  for (const auto& [name, value] : row->metrics)
    if (name == score) return value;
  return std::nullopt;
}

BestSuggestion Describe(std::size_t number, const Suggestion& suggestion, const SearchOutcome& outcome,
                        const SearchTerms& terms) {
  BestSuggestion best;
  best.number = number;
  best.score = *outcome.score;
  best.measured = outcome.measured;
  best.name = FormatTrialName(suggestion.first->spec);
  best.trial = suggestion.first->spec.id;
  for (const std::string& key : terms.keys)
    if (const std::string value = FormatKey(suggestion.first->spec, key); !value.empty())
      best.values.emplace_back(key, value);
  return best;
}

using Suggestions = std::map<std::size_t, Suggestion>;

// A run of asha comes to its end, with all that it planned ended, when nothing more can be suggested. Points alone do
// not tell: those of which every trial is excluded are not in the journal.
bool HasReachedItsEnd(const ResultsView& view) {
  return view.run_over &&
         std::all_of(view.trials.begin(), view.trials.end(), [](const TrialView& t) { return IsFinal(t.state); });
}

// Counts of asha how many suggestions there will be at least, and finds whether more than those may follow: of one that
// has not ended, whether it goes on is not known.
void CountAsynchronous(const Suggestions& suggestions, SearchStanding& standing) {
  const SearchTerms& terms = standing.terms;
  std::vector<SearchPoint> points;
  std::vector<SearchOutcome> outcomes;
  std::int64_t left = terms.trials;  // of the first rung
  bool open = false;
  for (const auto& [number, suggestion] : suggestions) {
    points.push_back(FindPoint(suggestion, terms));
    outcomes.push_back(AverageOutcomes(suggestion.trials));
    if (outcomes.back().score && !terms.maximize) outcomes.back().score = -*outcomes.back().score;
    if (points.back().back() == terms.rungs.front()) --left;
    open = open || (!outcomes.back().ended && points.back().back() != terms.rungs.back());
  }
  standing.total = static_cast<std::int64_t>(standing.suggested) + std::max<std::int64_t>(left, 0);
  standing.may_grow = open || left > 0 || FindPromotion(terms.reduction, terms.rungs, points, outcomes).has_value();
}

// The same of successive-halving, whose rungs are smaller than planned where too few of the one before have a score.
void CountRounds(const Suggestions& suggestions, SearchStanding& standing) {
  const SearchTerms& terms = standing.terms;
  standing.total = terms.trials;
  if (suggestions.empty()) return;
  const SearchPoint last = FindPoint(suggestions.rbegin()->second, terms);
  const bool goes_on = std::any_of(suggestions.begin(), suggestions.end(), [&](const auto& entry) {
    const SearchOutcome outcome = AverageOutcomes(entry.second.trials);
    return FindPoint(entry.second, terms).back() == last.back() && (!outcome.ended || outcome.score);
  });
  if (last.back() == terms.rungs.back() || !goes_on) standing.total = static_cast<std::int64_t>(standing.suggested);
}

// `over`: the search has come to its end.
void CountExpected(const Suggestions& suggestions, bool over, SearchStanding& standing) {
  const SearchTerms& terms = standing.terms;
  // Numbers of asha may be missing.
  if (!suggestions.empty())
    standing.suggested = terms.IsAsynchronous() ? suggestions.size() : suggestions.rbegin()->first + 1;
  if (FindRungKey(terms) == nullptr || terms.rungs.empty())
    standing.total = terms.trials;
  else if (terms.IsAsynchronous() && over)
    standing.total = static_cast<std::int64_t>(standing.suggested);
  else if (terms.IsAsynchronous())
    CountAsynchronous(suggestions, standing);
  else
    CountRounds(suggestions, standing);
}

// `find_number`: of the suggestion that a trial belongs to; nothing for one that is left out.
template <typename F>
SearchStanding Judge(const SearchTerms& terms, const ResultsView& view, bool over, F find_number) {
  Suggestions suggestions;
  for (const TrialView& trial : view.trials) {
    const std::optional<std::size_t> number = find_number(trial);
    if (!number) continue;
    Suggestion& suggestion = suggestions[*number];
    if (suggestion.first == nullptr) suggestion.first = &trial;
    suggestion.specs.push_back(&trial.spec);
    suggestion.trials.push_back({IsFinal(trial.state), FindScore(trial, terms.score)});
  }
  SearchStanding standing;
  standing.terms = terms;
  CountExpected(suggestions, over, standing);
  const SpecKey* rung_key = FindRungKey(terms);
  std::optional<KeyValue> rung;  // of the best: scores of different rungs are not compared
  for (const auto& [number, suggestion] : suggestions) {
    const SearchOutcome outcome = AverageOutcomes(suggestion.trials);
    if (!outcome.ended) continue;
    ++standing.ended;
    if (!outcome.score) continue;
    const std::optional<KeyValue> reached =
        rung_key == nullptr ? std::nullopt : std::optional(rung_key->get(suggestion.first->spec));
    const bool better = !standing.best || reached > rung ||
                        (reached == rung && (terms.maximize ? *outcome.score > standing.best->score
                                                            : *outcome.score < standing.best->score));
    if (!better) continue;
    rung = reached;
    standing.best = Describe(number, suggestion, outcome, terms);
  }
  return standing;
}

}  // namespace

SearchStanding FindStanding(const SweepPlan& plan, const ResultsView& view) {
  std::unordered_map<TrialId, std::size_t> numbers;
  for (const TrialSpec& spec : plan.trials)
    if (const std::optional<std::size_t> number = FindSuggestion(spec)) numbers.emplace(spec.id, *number);
  // With another file than that of the run, more may be suggested than it had.
  const bool over = HasReachedItsEnd(view) && plan.resolved_toml == view.resolved_toml;
  return Judge(MakeSearchTerms(*plan.search), view, over, [&numbers](const TrialView& trial) {
    const auto found = numbers.find(trial.spec.id);
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  });
}

std::optional<SearchStanding> FindStanding(const ResultsView& view) {
  const std::optional<SearchTerms> terms = ReadSearchTerms(view.resolved_toml);
  if (!terms) return std::nullopt;
  return Judge(*terms, view, HasReachedItsEnd(view),
               [](const TrialView& trial) { return trial.planned ? FindSuggestion(trial.spec) : std::nullopt; });
}

std::string DescribeStanding(const SearchStanding& standing) {
  std::string text = fmt::format("Search ({}) by {}: {} of {}{} {} ended", standing.terms.method, standing.terms.score,
                                 standing.ended, standing.may_grow ? "at least " : "", standing.total,
                                 standing.total == 1 ? "suggestion has" : "suggestions have");
  if (!standing.best) return text + ", none with a score yet.";
  const BestSuggestion& best = *standing.best;
  const std::string score =
      standing.terms.score.ends_with("accuracy") ? FormatPercent(best.score) + " %" : FormatSixDigits(best.score);
  text += fmt::format("; the best{} is suggestion {}, {}, with {}", standing.MayChange() ? " so far" : "", best.number,
                      best.name, score);
  if (best.measured > 1)
    text += fmt::format(" in the mean over {}", FormatTrialCount(static_cast<std::int64_t>(best.measured)));
  for (std::size_t i = 0; i < best.values.size(); ++i)
    text += fmt::format("{}{} = {}", i == 0 ? ": " : ", ", best.values[i].first, best.values[i].second);
  return text + ".";
}

Result<SearchHistory> CollectHistory(const ResultsView& view) {
  SearchHistory history;
  history.identity = IdentifySearchIn(view.resolved_toml);
  for (const std::vector<TrialView>* some : {&view.trials, &view.unplanned})
    for (const TrialView& trial : *some) {
      if (trial.spec.score.empty()) continue;
      std::optional<storage::ResultRow> row;
      if (HasRow(trial)) {
        RETORT_ASSIGN_OR_RETURN(row, ReadRow(trial));
      }
      NoteOutcome(trial.spec, trial.planned, IsFinal(trial.state), row ? &*row : nullptr, history);
    }
  return history;
}

}  // namespace retort::orchestrator
