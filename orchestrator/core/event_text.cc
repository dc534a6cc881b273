#include "orchestrator/core/event_text.h"

#include <fmt/format.h>

namespace retort::orchestrator {

std::string FormatSlotDrained(const Core& core, const SlotDrained& drained) {
  std::string names;
  for (const TrialId id : drained.trials) {
    const Trial* trial = core.Find(id);
    names += (names.empty() ? "" : ", ") + (trial == nullptr ? id.Hex() : trial->spec.name);
  }
  return fmt::format("slot {} of rank {} ({}) gets no more trials: {} failed there and nowhere else", drained.slot,
                     drained.rank, drained.host, names);
}

std::string FormatSlotRestored(const Core& core, const SlotRestored& restored) {
  const Trial* trial = core.Find(restored.trial);
  return fmt::format("slot {} of rank {} ({}) gets trials again: {} failed elsewhere as well", restored.slot,
                     restored.rank, restored.host, trial == nullptr ? restored.trial.Hex() : trial->spec.name);
}

std::string FormatPackingMeasured(const PackingMeasured& measured) {
  const std::string figures = fmt::format("{} at once do {:.4g} steps/s, {} did {:.4g}", measured.width, measured.rate,
                                          measured.than_width, measured.than_rate);
  const std::string where = fmt::format("{} of {}, {}: ", measured.device, measured.host, measured.shape);
  if (measured.kept) return where + figures + ": kept";
  const std::string what =
      measured.cause.empty() ? figures : fmt::format("{} at once: {}", measured.width, measured.cause);
  return where + what + fmt::format(": turned down, at most {} from now on", measured.than_width);
}

}  // namespace retort::orchestrator
