#include "orchestrator/cli/trial_names.h"

#include <algorithm>
#include <utility>

#include "experiments/spec/diagnostic.h"
#include "orchestrator/cli/printed_command.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::size_t kLeastPrefix = 4;
constexpr std::size_t kListed = 12;

enum class Match : unsigned char { none, beginning, exact };

Match MatchOf(const TrialSpec& spec, const std::string& word) {
  const std::string hex = spec.id.Hex();
  const std::string shown = ShownName(spec);
  if (word == hex || word == spec.name || word == shown || word == spec.name + "-" + hex) return Match::exact;
  if (word.size() >= kLeastPrefix && hex.starts_with(word)) return Match::beginning;
  return shown.starts_with(word) ? Match::beginning : Match::none;
}

Status NoSuchTrial(const ResultsView& view, const std::string& word) {
  std::vector<std::string> names;
  for (const TrialView& trial : view.trials) names.push_back(trial.spec.name);
  std::string message = "no trial of " + view.directory + " is called `" + word + "`";
  const std::vector<std::string> near = NearestOf(word, names);
  for (std::size_t i = 0; i < near.size(); ++i) message += (i == 0 ? "; near: " : ", ") + near[i];
  return UsageError(message + ". `" + AtResults("retort list", view.directory) + "` shows all of them.", near);
}

Status SeveralTrials(const std::vector<const TrialView*>& matches, const std::string& word) {
  std::vector<std::string> names;
  for (const TrialView* trial : matches) names.push_back(ShownName(trial->spec));
  std::string message = "`" + word + "` fits " + std::to_string(matches.size()) + " trials:";
  for (std::size_t i = 0; i < std::min(matches.size(), kListed); ++i)
    message += "\n  " + names[i];
  if (matches.size() > kListed) message += "\n  and " + std::to_string(matches.size() - kListed) + " more";
  return UsageError(message + "\nGive more of the name, or the id.", std::move(names));
}

}  // namespace

std::string ShownName(const TrialSpec& spec) { return spec.name + "-" + spec.id.Hex().substr(0, 8); }

Result<const TrialView*> FindTrial(const ResultsView& view, const std::string& word) {
  std::vector<const TrialView*> exact, beginning;
  for (const TrialView& trial : view.trials) {
    const Match match = word.empty() ? Match::none : MatchOf(trial.spec, word);
    if (match == Match::exact) exact.push_back(&trial);
    if (match == Match::beginning) beginning.push_back(&trial);
  }
  const auto& matches = exact.empty() ? beginning : exact;
  if (matches.size() == 1) return matches.front();
  return matches.empty() ? NoSuchTrial(view, word) : SeveralTrials(matches, word);
}

}  // namespace retort::orchestrator::cli
