#include "orchestrator/core/inventory.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <variant>

#include "experiments/base/json.h"
#include "orchestrator/core/core.h"

namespace retort::orchestrator {

void Inventory::On(const JournalEvent& event) {
  if (const auto* noted = std::get_if<AgentNoted>(&event.event)) {
    Note(*noted, event.at);
  } else if (const auto* drained = std::get_if<SlotDrained>(&event.event)) {
    const auto agent = agents_.find(drained->rank);
    if (agent == agents_.end() || drained->slot < 0) return;
    if (static_cast<std::size_t>(drained->slot) < agent->second.devices.size())
      agent->second.drained.insert(drained->slot);
  } else if (const auto* restored = std::get_if<SlotRestored>(&event.event)) {
    if (const auto agent = agents_.find(restored->rank); agent != agents_.end())
      agent->second.drained.erase(restored->slot);
  } else if (std::holds_alternative<RunStarted>(event.event)) {
    agents_.clear();
  }
}

void Inventory::Note(const AgentNoted& event, double at) {
  if (event.change == AgentChange::joined) {
    agents_[event.rank] = {event.host, event.devices, {}, false, at};
    return;
  }
  const auto agent = agents_.find(event.rank);
  if (agent == agents_.end()) return;
  agent->second.lost = event.change == AgentChange::lost;
  agent->second.since = at;
}

int Inventory::LiveSlots() const {
  std::size_t slots = 0;
  for (const auto& [rank, agent] : agents_)
    if (!agent.lost) slots += agent.devices.size() - agent.drained.size();
  return static_cast<int>(slots);
}

RunTerms ReadRunTerms(std::string_view provenance_json) {
  const nlohmann::json json = TryParseJson(provenance_json);
  RunTerms terms;
  if (!json.is_object()) return terms;
  const auto field = [&json](const char* name) { return json.contains(name) ? json[name] : nlohmann::json(); };
  if (const nlohmann::json machine = field("machine"); machine.is_string()) terms.machine = machine;
  if (const nlohmann::json slots = field("slots"); slots.is_number_integer()) terms.slots = slots;
  if (const nlohmann::json ends = field("work_ends"); ends.is_number()) terms.work_ends = ends;
  if (const nlohmann::json shared = field("oversubscribe_gpu"); shared.is_number_integer()) terms.per_gpu = shared;
  return terms;
}

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
