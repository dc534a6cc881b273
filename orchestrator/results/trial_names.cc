#include "orchestrator/results/trial_names.h"

#include <algorithm>
#include <utility>

#include "experiments/base/diagnostic.h"
#include "experiments/base/printable.h"

namespace retort::orchestrator {
namespace {

bool IsPlain(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || std::string_view("/._-+=:,@%").find(c) != std::string_view::npos;
}

// As bash and zsh read it: every byte that is not printed by itself stands there as its number.
std::string InBytes(std::string_view word) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string quoted = "$'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F)
      quoted += {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]};
    else
      quoted += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  }
  return quoted + "'";
}

}  // namespace

std::string QuoteForShell(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), IsPlain)) return std::string(word);
  if (MakeOneLine(word) != word) return InBytes(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

namespace {

constexpr std::size_t kMinPrefix = 4;
constexpr std::size_t kListed = 12;

enum class Match : unsigned char { none, beginning, exact };

Match FindMatch(const TrialSpec& spec, const std::string& word) {
  const std::string hex = spec.id.Hex();
  const std::string shown = FormatTrialName(spec);
  if (word == hex || word == spec.name || word == shown || word == spec.name + "-" + hex) return Match::exact;
  if (word.size() >= kMinPrefix && hex.starts_with(word)) return Match::beginning;
  return shown.starts_with(word) ? Match::beginning : Match::none;
}

Status NoSuchTrial(const ResultsView& view, const std::string& word) {
  std::vector<std::string> names;
  for (const TrialView& trial : view.trials) names.push_back(trial.spec.name);
  std::string message = "no trial of " + view.directory + " is called `" + word + "`";
  const std::vector<std::string> near = FindNearest(word, names);
  for (std::size_t i = 0; i < near.size(); ++i) message += (i == 0 ? "; near: " : ", ") + near[i];
  return UsageError(message + ". `" + AddResultsOption("retort list", view.directory) + "` shows all of them.", near);
}

Status SeveralTrials(const std::vector<const TrialView*>& matches, const std::string& word) {
  std::vector<std::string> names;
  for (const TrialView* trial : matches) names.push_back(FormatTrialName(trial->spec));
  std::string message = "`" + word + "` fits " + std::to_string(matches.size()) + " trials:";
  for (std::size_t i = 0; i < std::min(matches.size(), kListed); ++i) message += "\n  " + names[i];
  if (matches.size() > kListed) message += "\n  and " + std::to_string(matches.size() - kListed) + " more";
  return UsageError(message + "\nGive more of the name, or the id.", std::move(names));
}

}  // namespace

std::string FormatTrialName(const TrialSpec& spec) { return spec.name + "-" + spec.id.Hex().substr(0, 8); }

Result<const TrialView*> FindTrial(const ResultsView& view, const std::string& word) {
  std::vector<const TrialView*> exact, beginning;
  for (const TrialView& trial : view.trials) {
    const Match match = word.empty() ? Match::none : FindMatch(trial.spec, word);
    if (match == Match::exact) exact.push_back(&trial);
    if (match == Match::beginning) beginning.push_back(&trial);
  }
  const auto& matches = exact.empty() ? beginning : exact;
  if (matches.size() == 1) return matches.front();
  return matches.empty() ? NoSuchTrial(view, word) : SeveralTrials(matches, word);
}

std::string AddResultsOption(const std::string& words, const std::string& directory) {
  return words + " --results " + QuoteForShell(directory);
}

std::string FormatTrialCommand(const std::string& command, const TrialSpec& spec) {
  return "retort " + command + " " + QuoteForShell(FormatTrialName(spec));
}

std::string RunAgainCommand(const std::string& directory) {
  return AddResultsOption("retort run " + QuoteForShell(directory + "/sweep.toml"), directory);
}

}  // namespace retort::orchestrator
