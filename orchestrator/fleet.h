// Who can work and who is working: agents, their slots, and the attempt on each. Volatile: rebuilt by
// agents that register, never by replay.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/messages.h"
#include "experiments/spec/ids.h"
#include "experiments/spec/status.h"
#include "orchestrator/charge_book.h"
#include "orchestrator/packing.h"
#include "orchestrator/quarantine.h"
#include "orchestrator/seat.h"
#include "orchestrator/step_watch.h"

namespace retort::orchestrator {

inline constexpr double kPhaseNotesAtOnce = 8;

struct Grant {
  ChargeBook::Handle charge = 0;
  std::optional<std::uint64_t> entry;  // of the ledger, once it is durable
  bool settled = false;
};

struct ActiveAttempt {
  AttemptId id;
  Generation generation;
  std::vector<Seat> seats;  // in gang-rank order, at least one
  bool started = false;
  StepWatch watch;
  double noted_at = 0;  // monotonic; when progress was last journaled
  std::string noted_phase;
  double phase_notes = kPhaseNotesAtOnce;  // changes of phase that may be journaled now; one more each second
  double phase_notes_at = 0;               // monotonic; when that was last said
  std::int64_t step = 0, total_steps = 0;
  double stepped_at = 0;  // monotonic; when `step` last changed
  std::int64_t committed = -1;  // steps of its newest checkpoint
  std::string phase;
  std::vector<std::pair<std::string, double>> series;  // newest value of each curve
  std::map<std::uint64_t, Grant> grants;               // by the worker's own request id
  int unwritten_grants = 0;                            // of them: the ledger has not answered yet

  // Where gang rank 0 sits: it alone reserves, reports and ends the attempt.
  [[nodiscard]] WorldRank leader() const { return seats.front().rank; }
  [[nodiscard]] bool IsOn(WorldRank rank) const;
  // The ranks that hold members, each once, in gang-rank order.
  [[nodiscard]] std::vector<WorldRank> ranks() const;
};

struct AgentSeats {
  cluster::Register registration;
  double last_heard = 0;  // monotonic
  bool lost = false;
  // The registered slots, then as many once more for each further seat of a slot: seat s belongs to slot
  // s % registration.slots.
  std::vector<std::optional<TrialId>> slots;
  std::vector<int> held;      // by slot: attempts on its seats
  std::vector<bool> drained;  // by slot: gets no more work until the agent starts anew
};

class Fleet {
 public:
  // The agent starts anew with empty slots; call EndAttemptsOf first.
  void Register(WorldRank rank, const cluster::Register& registration, double now);
  // False when no such agent registered.
  bool Heard(WorldRank rank, double now);
  void Lose(WorldRank rank);
  [[nodiscard]] bool IsLost(WorldRank rank) const;
  // The slot gets no more work; what sits there goes on. And the other way round.
  void Drain(Seat seat);
  void Restore(Seat seat);
  // Time that nobody could use: see StepWatch::Forgive.
  void Forgive(double seconds);

  // `seats`: free ones of live agents, in gang-rank order.
  ActiveAttempt& Occupy(const std::vector<Seat>& seats, AttemptId id, Generation generation, StepWatch watch);
  void Vacate(TrialId trial);
  // The attempt, if it is the current one of its trial, of this generation, with a member on `rank`.
  [[nodiscard]] ActiveAttempt* Find(AttemptId id, Generation generation, WorldRank rank);
  [[nodiscard]] const ActiveAttempt* Find(TrialId trial) const;

  // Free slots of live agents that are not drained, spread over the ranks: every agent's first slot before any second one.
  [[nodiscard]] std::vector<Seat> FreeSeats() const;
  [[nodiscard]] bool HasFreeSeat() const { return free_ > 0; }
  // The slot that the seat belongs to.
  [[nodiscard]] Seat SlotOf(Seat seat) const;
  [[nodiscard]] Device DeviceOf(Seat seat) const;
  // Slots of live agents on the device that are not drained.
  [[nodiscard]] int SlotsOn(const Device& device) const;
  // An empty seat on the device, of the slot that holds the fewest attempts, none of `taken`.
  [[nodiscard]] std::optional<Seat> SpareSeat(const Device& device, const std::vector<Seat>& taken) const;
  // Slots of live agents that are not drained, busy or not.
  [[nodiscard]] int LiveSeats() const;
  [[nodiscard]] const std::map<WorldRank, AgentSeats>& agents() const { return agents_; }
  [[nodiscard]] const std::map<TrialId, ActiveAttempt>& active() const { return active_; }
  [[nodiscard]] std::vector<ActiveAttempt> AttemptsOn(WorldRank rank) const;
  [[nodiscard]] int LiveAgents() const;
  Quarantine quarantine;
  // Error: refused, naming what does not fit.
  [[nodiscard]] Status CheckInvariants() const;

 private:
  [[nodiscard]] int CountFree() const;
  [[nodiscard]] int HeldOn(const Device& device) const;
  std::map<WorldRank, AgentSeats> agents_;
  std::map<TrialId, ActiveAttempt> active_;
  int free_ = 0;   // slots without any attempt
  int extra_ = 0;  // attempts on seats beyond the registered slots
};

}  // namespace retort::orchestrator
