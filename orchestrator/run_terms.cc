#include "orchestrator/run_terms.h"

#include <nlohmann/json.hpp>

namespace retort::orchestrator {

RunTerms ReadRunTerms(std::string_view provenance_json) {
  const nlohmann::json json = nlohmann::json::parse(provenance_json, nullptr, false);
  RunTerms terms;
  if (!json.is_object()) return terms;
  const auto field = [&json](const char* name) {
    return json.contains(name) ? json[name] : nlohmann::json();
  };
  if (const nlohmann::json machine = field("machine"); machine.is_string()) terms.machine = machine;
  if (const nlohmann::json slots = field("slots"); slots.is_number_integer()) terms.slots = slots;
  if (const nlohmann::json ends = field("work_ends"); ends.is_number()) terms.work_ends = ends;
  return terms;
}

}  // namespace retort::orchestrator
