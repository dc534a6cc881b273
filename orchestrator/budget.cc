#include "orchestrator/budget.h"

#include <fmt/format.h>

#include <vector>

#include "experiments/privacy/claim.h"
#include "experiments/privacy/reasons.h"

namespace retort::orchestrator {

std::optional<std::string> RefuseOverBudget(const ChargeBook& charges, const DataSpec& data,
                                            const privacy::PrivacyEvent& event,
                                            const ChargeBook::Counts& counts,
                                            const std::vector<privacy::PrivacyEvent>& elsewhere,
                                            const std::vector<OtherBudget>& others) {
  if (!data.budget && others.empty()) return std::nullopt;
  const std::vector<std::vector<privacy::PrivacyEvent>> all = {
      charges.SumOn(data.digest, counts), {event}, elsewhere};
  const auto over = [&](const Budget& budget) -> std::optional<std::string> {
    const std::optional<double> total = privacy::TotalEpsilonOver(all, budget);
    if (!total) return std::nullopt;
    return fmt::format(
        "data set '{}': this release would bring the total{} to epsilon = {:.3f} at delta = {:g}{}, over ",
        data.name, elsewhere.empty() ? "" : ", with what other sweeps in the same results root spent,", *total,
        budget.delta, event.voids.empty() ? "" : fmt::format(" ({})", privacy::ReasonText(event.voids.front())));
  };
  if (const auto refusal = data.budget ? over(*data.budget) : std::nullopt)
    return *refusal +
           fmt::format("its budget of {:g}; raise [data.{}] budget, or ask for fewer trials or releases",
                       data.budget->epsilon, data.name);
  for (const OtherBudget& other : others)
    if (const auto refusal = over(other.budget))
      return *refusal +
             fmt::format(
                 "the budget of {:g} that {} sets for these examples; raise it there, ask for fewer "
                 "trials or releases, or use another results root",
                 other.budget.epsilon, other.directory);
  return std::nullopt;
}

}  // namespace retort::orchestrator
