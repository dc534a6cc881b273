// What a run told the journal about itself, for the commands that only read.
#pragma once

#include <string>
#include <string_view>

namespace retort::orchestrator {

struct RunTerms {
  std::string machine;   // MachineKind of world rank 0's host; empty = not said
  int slots = 0;         // workers at once that it asked for; 0 = not said
  double work_ends = 0;  // unix seconds at which it saves and stops; 0 = no limit
};

// From provenance (provenance.h). What is missing or of another form keeps its default.
[[nodiscard]] RunTerms ReadRunTerms(std::string_view provenance_json);

}  // namespace retort::orchestrator
