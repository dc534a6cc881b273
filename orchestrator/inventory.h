// Which devices a run has, and what became of them, from the journal. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "orchestrator/events.h"

namespace retort::orchestrator {

class Inventory {
 public:
  struct Agent {
    std::string host;
    std::vector<std::string> devices;  // by slot
    std::set<int> drained;             // slots that get no more work
    bool lost = false;
    double since = 0;  // unix seconds: of its last change
  };

  // Every event, in order.
  void On(const JournalEvent& event);
  // By world rank, of the newest run.
  [[nodiscard]] const std::map<int, Agent>& agents() const { return agents_; }
  // Slots of agents that are not lost, without drained ones.
  [[nodiscard]] int LiveSlots() const;

 private:
  void Note(const AgentNoted& event, double at);
  std::map<int, Agent> agents_;
};

}  // namespace retort::orchestrator
