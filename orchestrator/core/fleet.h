// Agents, the slots of their devices, the attempt on each, and the slots that may be broken. Volatile: rebuilt by
// agents that register, never by replay.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/messages.h"
#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "orchestrator/core/packing.h"
#include "orchestrator/core/privacy_charges.h"
#include "orchestrator/core/step_watch.h"

namespace retort::orchestrator {

// A place for one worker. An agent has a seat for each slot, and more where workers share a device: see AgentSeats.
struct Seat {
  WorldRank rank;
  int slot = 0;
  constexpr auto operator<=>(const Seat&) const = default;
};

// What tells hosts apart; names of hosts are for people.
[[nodiscard]] inline const std::string& GetHostKey(const cluster::Register& registration) {
  return registration.identity.empty() ? registration.host : registration.identity;
}

inline constexpr std::size_t kSuspectsToDrain = 2;  // different trials

// Finds slots that may be broken, from which trials failed where. Volatile: another run has other slots.
class Quarantine {
 public:
  // Notes a failure that may be due to the slot, of a trial that failed nowhere else. Returns true when enough
  // different trials have failed there, with no success in between, to blame the slot.
  [[nodiscard]] bool Failed(Seat seat, TrialId trial);
  // Notes that the trial succeeded there.
  void Succeeded(Seat seat, TrialId trial);
  // Forgets what failed there: the slot is a new one.
  void Reset(Seat seat) { suspects_.erase(seat); }
  // The trial failed in a second place, so it is the cause. Clears it from the suspects of every slot, and returns the
  // slots that are no longer to blame.
  [[nodiscard]] std::vector<Seat> ClearSuspects(TrialId trial);
  // Forgets where the trial failed.
  void Forget(TrialId trial) { failed_at_.erase(trial); }
  // Trials that failed on the slot and nowhere else.
  [[nodiscard]] std::vector<TrialId> SuspectsAt(Seat seat) const;
  // Slots on which the trial failed, each once.
  [[nodiscard]] const std::vector<Seat>& FailedAt(TrialId trial) const;

 private:
  std::map<Seat, std::vector<TrialId>> suspects_;
  std::map<TrialId, std::vector<Seat>> failed_at_;
  std::vector<Seat> nowhere_;
};

inline constexpr double kPhaseNotesAtOnce = 8;

struct Grant {
  PrivacyCharges::Handle charge = 0;
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
  double phase_notes_at = 0;               // monotonic; when `phase_notes` was last updated
  std::int64_t step = 0, total_steps = 0;
  double stepped_at = 0;        // monotonic; when `step` last changed
  std::int64_t committed = -1;  // steps of its newest checkpoint
  std::string phase;
  std::vector<std::pair<std::string, double>> series;  // newest value of each curve
  std::map<std::uint64_t, Grant> grants;               // by the request id of the worker
  int unwritten_grants = 0;                            // grants whose ledger entry is not yet durable

  // The rank of gang rank 0, which alone reserves, reports and ends the attempt.
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
  // The agent starts anew with empty slots. REQUIRES: no attempt is on the rank.
  void Register(WorldRank rank, const cluster::Register& registration, double now);
  // False when no such agent registered.
  bool Heard(WorldRank rank, double now);
  void Lose(WorldRank rank);
  [[nodiscard]] bool IsLost(WorldRank rank) const;
  // Drain: the slot gets no more work; what runs there goes on. Restore: it gets work again.
  void Drain(Seat seat);
  void Restore(Seat seat);
  // Leaves `seconds` out of all deadlines: see StepWatch::IgnoreGap.
  void IgnoreGap(double seconds);

  // `seats`: free ones of live agents, in gang-rank order.
  ActiveAttempt& Occupy(const std::vector<Seat>& seats, AttemptId id, Generation generation, StepWatch watch);
  void Vacate(TrialId trial);
  // Returns the attempt if it is the current one of its trial, of this generation, with a member on `rank`; else null.
  [[nodiscard]] ActiveAttempt* Find(AttemptId id, Generation generation, WorldRank rank);
  [[nodiscard]] const ActiveAttempt* Find(TrialId trial) const;

  // Free slots of live agents that are not drained, spread over the ranks: every agent's first slot before any second
  // one.
  [[nodiscard]] std::vector<Seat> FreeSeats() const;
  [[nodiscard]] bool HasFreeSeat() const { return free_ > 0; }
  // The slot that the seat belongs to.
  [[nodiscard]] Seat FindSlot(Seat seat) const;
  [[nodiscard]] Device FindDevice(Seat seat) const;
  // Slots of live agents on the device that are not drained.
  [[nodiscard]] int SlotsOn(const Device& device) const;
  // An empty seat on the device, of the slot that holds the fewest attempts, none of `taken`.
  [[nodiscard]] std::optional<Seat> SpareSeat(const Device& device, const std::vector<Seat>& taken) const;
  // Slots of live agents that are not drained, busy or not.
  [[nodiscard]] int CountLiveSlots() const;
  [[nodiscard]] const std::map<WorldRank, AgentSeats>& agents() const { return agents_; }
  [[nodiscard]] const std::map<TrialId, ActiveAttempt>& active() const { return active_; }
  [[nodiscard]] std::vector<ActiveAttempt> AttemptsOn(WorldRank rank) const;
  [[nodiscard]] int CountLiveAgents() const;
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
