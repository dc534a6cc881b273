#include "orchestrator/budget.h"

#include <fmt/format.h>

#include <vector>

#include "experiments/privacy/claim.h"

namespace retort::orchestrator {

std::optional<std::string> RefuseOverBudget(const ChargeBook& charges, const DataSpec& data,
                                            const privacy::PrivacyEvent& event,
                                            const ChargeBook::Counts& counts,
                                            const std::vector<privacy::PrivacyEvent>& elsewhere) {
  if (!data.budget) return std::nullopt;
  const double total =
      privacy::TotalEpsilon({charges.SumOn(data.digest, counts), {event}, elsewhere}, data.budget->delta);
  if (total <= data.budget->epsilon) return std::nullopt;
  return fmt::format(
      "data set '{}': this release would bring the total{} to epsilon = {:.3f} at delta = {:g}, over its "
      "budget of {:g}; "
      "raise [data.{}] budget, or ask for fewer trials or releases",
      data.name, elsewhere.empty() ? "" : ", with what other sweeps in the same results root spent,", total,
      data.budget->delta, data.budget->epsilon, data.name);
}

}  // namespace retort::orchestrator
