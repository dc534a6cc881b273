// What the journal says of the newest run: its agents and devices, and the terms under which it was started; sentences
// about slots and devices. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/core/events.h"

namespace retort::orchestrator {

class Core;

class Inventory {
 public:
  struct Agent {
    std::string host;
    std::vector<std::string> devices;  // by slot
    std::set<int> drained;             // slots that get no more work
    bool lost = false;
    double since = 0;  // unix seconds: of its last change
  };

  // Call it with every event, in order.
  void On(const JournalEvent& event);
  // By world rank, of the newest run.
  [[nodiscard]] const std::map<int, Agent>& agents() const { return agents_; }
  // Slots of agents that are not lost, without drained ones.
  [[nodiscard]] int LiveSlots() const;

 private:
  void Note(const AgentNoted& event, double at);
  std::map<int, Agent> agents_;
};

// The terms of a run, from its provenance in the journal.
struct RunTerms {
  std::string machine;   // FindMachineKind on world rank 0's host; empty = not known
  int slots = 0;         // workers at once that were asked for; 0 = not known
  double work_ends = 0;  // unix seconds at which it saves and stops; 0 = no limit
  int per_gpu = 1;       // workers that shared a GPU because the run was to test that (--oversubscribe-gpu)
};

// Reads the JSON object that FormatProvenanceJson (service/run_options.h) writes. What is missing or of another form
// keeps its default.
[[nodiscard]] RunTerms ReadRunTerms(std::string_view provenance_json);

// Sentences about what the journal records of slots and devices, for people.

// A slot that gets no more work, and the trials that failed on it.
[[nodiscard]] std::string FormatSlotDrained(const Core& core, const SlotDrained& drained);
// A drained slot that gets work again, and why.
[[nodiscard]] std::string FormatSlotRestored(const Core& core, const SlotRestored& restored);
// Trials that shared a device: the step rates that were measured, and whether so many go on sharing it.
[[nodiscard]] std::string FormatPackingMeasured(const PackingMeasured& measured);

}  // namespace retort::orchestrator
