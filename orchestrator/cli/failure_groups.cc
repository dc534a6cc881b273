#include "orchestrator/cli/failure_groups.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "experiments/spec/printable.h"
#include "orchestrator/cli/trial_json.h"
#include "orchestrator/screen_text.h"

namespace retort::orchestrator::cli {
namespace {

bool IsDigit(char letter) { return letter >= '0' && letter <= '9'; }

std::string WithoutNumbers(std::string text) {
  std::erase_if(text, IsDigit);
  return text;
}

std::string CauseOf(const TrialView& trial) {
  const std::string_view state = IsFinal(trial.state) ? StateName(trial.state) : "";
  return std::string(state) + "\n" + FailureWord(trial) + "\n" + WithoutNumbers(FirstSentence(trial.detail));
}

}  // namespace

std::vector<TrialGroup> GroupFailures(const TrialGroup& trials) {
  std::vector<TrialGroup> groups;
  std::unordered_map<std::string, std::size_t> places;  // by cause
  for (const TrialView* trial : trials) {
    const auto [place, fresh] = places.try_emplace(CauseOf(*trial), groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].push_back(trial);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const TrialGroup& a, const TrialGroup& b) { return a.size() > b.size(); });
  return groups;
}

std::string FirstSentence(std::string_view detail) {
  const std::size_t end = std::min({detail.find('\n'), detail.find(". "), detail.find(".\n"), detail.size()});
  std::string sentence = OneLine(detail.substr(0, end));
  if (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

std::string ShortDetail(std::string_view detail, std::size_t width) {
  std::string line = OneLine(detail);
  return Columns(line) <= width ? line : CutEnd(FirstSentence(detail), width);
}

}  // namespace retort::orchestrator::cli
