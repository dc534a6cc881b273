#include "experiments/spec/smaller_purchase.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "experiments/spec/spec_keys.h"

namespace retort {
namespace {

using Alike = std::tuple<std::string, Reading, std::string, std::string, std::uint64_t>;

std::int64_t Bought(const TrialSpec& spec) { return AsksVotes(spec) ? spec.queries : spec.steps; }

}  // namespace

void WarnOfSmallerPurchases(std::span<const TrialSpec> students, Position where, Complaints& complaints) {
  std::map<Alike, std::vector<const TrialSpec*>> alike;
  for (const TrialSpec& spec : students) {
    if (spec.calibrate != Calibrate::steps) continue;
    alike[{spec.method, spec.reading, spec.data->name, spec.teacher, spec.seed}].push_back(&spec);
  }
  std::set<std::pair<double, double>> said;
  for (auto& [key, trials] : alike) {
    std::stable_sort(trials.begin(), trials.end(), [](const auto* a, const auto* b) { return a->epsilon < b->epsilon; });
    for (std::size_t i = 1; i < trials.size(); ++i) {
      const TrialSpec &less = *trials[i - 1], &more = *trials[i];
      if (less.epsilon == more.epsilon || Bought(more) >= Bought(less)) continue;
      if (!said.emplace(less.epsilon, more.epsilon).second) continue;
      const std::string unit = AsksVotes(more) ? " queries" : " steps";
      complaints.Warning(where, "sweep",
                         "epsilon = " + KeyText(more, "epsilon") + " buys " + std::to_string(Bought(more)) + unit +
                             ", fewer than the " + std::to_string(Bought(less)) + " of epsilon = " +
                             KeyText(less, "epsilon") +
                             ": another key changes between them, as norm_bound does by a paper's rule");
    }
  }
}

}  // namespace retort
