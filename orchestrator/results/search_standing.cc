#include "orchestrator/results/search_standing.h"

#include <fmt/format.h>

#include <map>
#include <unordered_map>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/methods/spec_keys.h"
#include "orchestrator/reactor/search_rounds.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator {
namespace {

struct Suggestion {
  const TrialView* first = nullptr;
  bool ended = true;
  double sum = 0;
  std::size_t measured = 0;

  [[nodiscard]] double Mean() const { return sum / static_cast<double>(measured); }
};

// The rung that a suggestion stands on; nothing without rungs. Scores of different rungs are not compared.
std::optional<KeyValue> FindRung(const Suggestion& suggestion, const SearchTerms& terms) {
  const SpecKey* key = terms.rung_key.empty() ? nullptr : FindKey(terms.rung_key, kInTrial);
  if (key == nullptr) return std::nullopt;
  return key->get(suggestion.first->spec);
}

std::optional<double> FindScore(const TrialView& trial, const std::string& score) {
  if (trial.state != TrialState::succeeded || !HasRow(trial)) return std::nullopt;
  const Result<storage::ResultRow> row = ReadRow(trial);
  if (!row.ok()) return std::nullopt;  // `retort verify` names it
  for (const auto& [name, value] : row->metrics)
    if (name == score) return value;
  return std::nullopt;
}

BestSuggestion Describe(std::size_t number, const Suggestion& suggestion, const SearchTerms& terms) {
  BestSuggestion best;
  best.number = number;
  best.score = suggestion.Mean();
  best.measured = suggestion.measured;
  best.name = FormatTrialName(suggestion.first->spec);
  best.trial = suggestion.first->spec.id;
  for (const std::string& key : terms.keys)
    if (const std::string value = KeyText(suggestion.first->spec, key); !value.empty())
      best.values.emplace_back(key, value);
  return best;
}

// `find_number`: of the suggestion that a trial belongs to; nothing for one that is left out.
template <typename F>
SearchStanding Judge(const SearchTerms& terms, const ResultsView& view, F find_number) {
  std::map<std::size_t, Suggestion> suggestions;
  for (const TrialView& trial : view.trials) {
    const std::optional<std::size_t> number = find_number(trial);
    if (!number) continue;
    Suggestion& suggestion = suggestions[*number];
    if (suggestion.first == nullptr) suggestion.first = &trial;
    suggestion.ended = suggestion.ended && IsFinal(trial.state);
    const std::optional<double> score = FindScore(trial, terms.score);
    if (!score) continue;
    suggestion.sum += *score;
    ++suggestion.measured;
  }
  SearchStanding standing{terms, 0, 0, std::nullopt};
  std::optional<KeyValue> rung;
  if (!suggestions.empty()) standing.suggested = suggestions.rbegin()->first + 1;
  for (const auto& [number, suggestion] : suggestions) {
    if (!suggestion.ended) continue;
    ++standing.ended;
    if (suggestion.measured == 0) continue;
    const std::optional<KeyValue> reached = FindRung(suggestion, terms);
    const double score = suggestion.Mean();
    const bool better =
        !standing.best || reached > rung ||
        (reached == rung && (terms.maximize ? score > standing.best->score : score < standing.best->score));
    if (!better) continue;
    rung = reached;
    standing.best = Describe(number, suggestion, terms);
  }
  return standing;
}

}  // namespace

SearchStanding FindStanding(const SweepPlan& plan, const ResultsView& view) {
  std::unordered_map<TrialId, std::size_t> numbers;
  for (const TrialSpec& spec : plan.trials)
    if (const std::optional<std::size_t> number = FindSuggestion(spec)) numbers.emplace(spec.id, *number);
  return Judge(MakeSearchTerms(*plan.search), view, [&numbers](const TrialView& trial) {
    const auto found = numbers.find(trial.spec.id);
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  });
}

std::optional<SearchStanding> FindStanding(const ResultsView& view) {
  const std::optional<SearchTerms> terms = ReadSearchTerms(view.resolved_toml);
  if (!terms) return std::nullopt;
  return Judge(*terms, view,
               [](const TrialView& trial) { return trial.planned ? FindSuggestion(trial.spec) : std::nullopt; });
}

std::string DescribeStanding(const SearchStanding& standing) {
  std::string text =
      fmt::format("Search ({}) by {}: {} of {} {} ended", standing.terms.method, standing.terms.score, standing.ended,
                  standing.terms.trials, standing.terms.trials == 1 ? "suggestion has" : "suggestions have");
  if (!standing.best) return text + ", none with a score yet.";
  const BestSuggestion& best = *standing.best;
  const std::string score =
      standing.terms.score.ends_with("accuracy") ? PercentText(best.score) + " %" : SixDigitNumber(best.score);
  text += fmt::format("; the best{} is suggestion {}, {}, with {}",
                      static_cast<std::int64_t>(standing.ended) < standing.terms.trials ? " so far" : "", best.number,
                      best.name, score);
  if (best.measured > 1)
    text += fmt::format(" in the mean over {}", TrialsText(static_cast<std::int64_t>(best.measured)));
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
