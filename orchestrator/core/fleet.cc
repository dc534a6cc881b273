#include "orchestrator/core/fleet.h"

#include <algorithm>

namespace retort::orchestrator {
namespace {

template <typename T>
void AddOnce(std::vector<T>& values, const T& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

}  // namespace

bool Quarantine::Failed(Seat seat, TrialId trial) {
  AddOnce(failed_at_[trial], seat);
  std::vector<TrialId>& trials = suspects_[seat];
  AddOnce(trials, trial);
  return trials.size() >= kSuspectsToDrain;
}

void Quarantine::Succeeded(Seat seat, TrialId trial) {
  suspects_.erase(seat);
  failed_at_.erase(trial);
}

std::vector<Seat> Quarantine::ClearSuspects(TrialId trial) {
  std::vector<Seat> cleared;
  for (auto& [seat, trials] : suspects_) {
    const bool held = trials.size() >= kSuspectsToDrain;
    std::erase(trials, trial);
    if (held && trials.size() < kSuspectsToDrain) cleared.push_back(seat);
  }
  return cleared;
}

std::vector<TrialId> Quarantine::SuspectsAt(Seat seat) const {
  const auto found = suspects_.find(seat);
  return found == suspects_.end() ? std::vector<TrialId>() : found->second;
}

const std::vector<Seat>& Quarantine::FailedAt(TrialId trial) const {
  const auto found = failed_at_.find(trial);
  return found == failed_at_.end() ? nowhere_ : found->second;
}

bool ActiveAttempt::IsOn(WorldRank rank) const {
  return std::any_of(seats.begin(), seats.end(), [rank](const Seat& seat) { return seat.rank == rank; });
}

std::vector<WorldRank> ActiveAttempt::ranks() const {
  std::vector<WorldRank> found;
  for (const Seat& seat : seats)
    if (std::find(found.begin(), found.end(), seat.rank) == found.end()) found.push_back(seat.rank);
  return found;
}

void Fleet::Register(WorldRank rank, const cluster::Register& registration, double now) {
  RETORT_CHECK(AttemptsOn(rank).empty());
  AgentSeats seats;
  seats.registration = registration;
  seats.last_heard = now;
  const auto slots = static_cast<std::size_t>(std::max(0, registration.slots));
  seats.slots.resize(slots * static_cast<std::size_t>(std::max(1, registration.seats_per_slot)));
  seats.held.resize(slots, 0);
  seats.drained.resize(slots, false);
  for (int slot = 0; slot < registration.slots; ++slot) quarantine.Reset({rank, slot});
  agents_[rank] = std::move(seats);
  free_ = CountFree();
}

bool Fleet::Heard(WorldRank rank, double now) {
  const auto found = agents_.find(rank);
  if (found == agents_.end()) return false;
  found->second.last_heard = now;
  if (found->second.lost) {
    found->second.lost = false;
    free_ = CountFree();
  }
  return true;
}

void Fleet::Lose(WorldRank rank) {
  RETORT_CHECK(AttemptsOn(rank).empty());
  agents_.at(rank).lost = true;
  free_ = CountFree();
}

bool Fleet::IsLost(WorldRank rank) const {
  const auto found = agents_.find(rank);
  return found != agents_.end() && found->second.lost;
}

void Fleet::Drain(Seat seat) {
  agents_.at(seat.rank).drained.at(static_cast<std::size_t>(seat.slot)) = true;
  free_ = CountFree();
}

void Fleet::Restore(Seat seat) {
  agents_.at(seat.rank).drained.at(static_cast<std::size_t>(seat.slot)) = false;
  free_ = CountFree();
}

void Fleet::IgnoreGap(double seconds) {
  for (auto& [rank, agent] : agents_) agent.last_heard += seconds;
  for (auto& [trial, attempt] : active_) attempt.watch.IgnoreGap(seconds);
}

ActiveAttempt& Fleet::Occupy(const std::vector<Seat>& seats, AttemptId id, Generation generation, StepWatch watch) {
  RETORT_CHECK(!seats.empty());
  RETORT_CHECK(!active_.contains(id.trial));
  for (const Seat& seat : seats) {
    std::optional<TrialId>& slot = agents_.at(seat.rank).slots.at(static_cast<std::size_t>(seat.slot));
    RETORT_CHECK(!slot.has_value());
    slot = id.trial;
    const Seat home = FindSlot(seat);
    if (agents_.at(seat.rank).held[static_cast<std::size_t>(home.slot)]++ == 0) --free_;
    if (home != seat) ++extra_;
  }
  ActiveAttempt attempt;
  attempt.id = id;
  attempt.generation = generation;
  attempt.seats = seats;
  attempt.watch = std::move(watch);
  return active_[id.trial] = std::move(attempt);
}

void Fleet::Vacate(TrialId trial) {
  const auto found = active_.find(trial);
  RETORT_CHECK(found != active_.end());
  for (const Seat& seat : found->second.seats) {
    AgentSeats& agent = agents_.at(seat.rank);
    agent.slots.at(static_cast<std::size_t>(seat.slot)).reset();
    const Seat home = FindSlot(seat);
    const auto slot = static_cast<std::size_t>(home.slot);
    if (--agent.held[slot] == 0 && !agent.lost && !agent.drained[slot]) ++free_;
    if (home != seat) --extra_;
  }
  active_.erase(found);
}

ActiveAttempt* Fleet::Find(AttemptId id, Generation generation, WorldRank rank) {
  const auto found = active_.find(id.trial);
  if (found == active_.end()) return nullptr;
  ActiveAttempt& attempt = found->second;
  const bool current = attempt.id == id && attempt.generation == generation && attempt.IsOn(rank);
  return current ? &attempt : nullptr;
}

const ActiveAttempt* Fleet::Find(TrialId trial) const {
  const auto found = active_.find(trial);
  return found == active_.end() ? nullptr : &found->second;
}

std::vector<Seat> Fleet::FreeSeats() const {
  std::vector<Seat> seats;
  for (const auto& [rank, agent] : agents_) {
    if (agent.lost) continue;
    for (std::size_t slot = 0; slot < agent.held.size(); ++slot)
      if (agent.held[slot] == 0 && !agent.drained[slot]) seats.push_back({rank, static_cast<int>(slot)});
  }
  std::sort(seats.begin(), seats.end(),
            [](const Seat& a, const Seat& b) { return a.slot != b.slot ? a.slot < b.slot : a.rank < b.rank; });
  if (extra_ == 0) return seats;
  // A slot is not free where other slots of its device hold its share of attempts.
  std::map<Device, int> left;
  std::erase_if(seats, [&](const Seat& seat) {
    const Device device = FindDevice(seat);
    const auto [room, fresh] = left.try_emplace(device, 0);
    if (fresh) room->second = SlotsOn(device) - HeldOn(device);
    return room->second-- <= 0;
  });
  return seats;
}

std::vector<ActiveAttempt> Fleet::AttemptsOn(WorldRank rank) const {
  std::vector<ActiveAttempt> attempts;
  for (const auto& [trial, attempt] : active_)
    if (attempt.IsOn(rank)) attempts.push_back(attempt);
  return attempts;
}

int Fleet::CountLiveAgents() const {
  return static_cast<int>(
      std::count_if(agents_.begin(), agents_.end(), [](const auto& agent) { return !agent.second.lost; }));
}

int Fleet::CountLiveSlots() const {
  int seats = 0;
  for (const auto& [rank, agent] : agents_)
    if (!agent.lost) seats += static_cast<int>(std::count(agent.drained.begin(), agent.drained.end(), false));
  return seats;
}

Seat Fleet::FindSlot(Seat seat) const {
  const int slots = agents_.at(seat.rank).registration.slots;
  return {seat.rank, slots > 0 ? seat.slot % slots : seat.slot};
}

Device Fleet::FindDevice(Seat seat) const {
  const cluster::Register& registration = agents_.at(seat.rank).registration;
  const auto slot = static_cast<std::size_t>(FindSlot(seat).slot);
  return {registration.host, slot < registration.devices.size() ? registration.devices[slot] : "cpu",
          registration.identity};
}

int Fleet::SlotsOn(const Device& device) const {
  int slots = 0;
  for (const auto& [rank, agent] : agents_) {
    if (agent.lost || GetHostKey(agent.registration) != device.HostKey()) continue;
    for (std::size_t slot = 0; slot < agent.held.size(); ++slot)
      if (!agent.drained[slot] && FindDevice({rank, static_cast<int>(slot)}) == device) ++slots;
  }
  return slots;
}

int Fleet::HeldOn(const Device& device) const {
  int held = 0;
  for (const auto& [rank, agent] : agents_) {
    if (agent.lost || GetHostKey(agent.registration) != device.HostKey()) continue;
    for (std::size_t slot = 0; slot < agent.held.size(); ++slot)
      if (FindDevice({rank, static_cast<int>(slot)}) == device) held += agent.held[slot];
  }
  return held;
}

std::optional<Seat> Fleet::SpareSeat(const Device& device, const std::vector<Seat>& taken) const {
  std::optional<Seat> best;
  int fewest = 0;
  for (const auto& [rank, agent] : agents_) {
    if (agent.lost || GetHostKey(agent.registration) != device.HostKey()) continue;
    for (std::size_t place = 0; place < agent.slots.size(); ++place) {
      const Seat seat{rank, static_cast<int>(place)};
      const auto slot = static_cast<std::size_t>(FindSlot(seat).slot);
      if (agent.slots[place] || agent.drained[slot] || FindDevice(seat) != device) continue;
      if (std::find(taken.begin(), taken.end(), seat) != taken.end()) continue;
      if (best && agent.held[slot] >= fewest) continue;
      best = seat;
      fewest = agent.held[slot];
    }
  }
  return best;
}

int Fleet::CountFree() const {
  int free = 0;
  for (const auto& [rank, agent] : agents_) {
    if (agent.lost) continue;
    for (std::size_t slot = 0; slot < agent.held.size(); ++slot)
      if (agent.held[slot] == 0 && !agent.drained[slot]) ++free;
  }
  return free;
}

Status Fleet::CheckInvariants() const {
  std::size_t seated = 0;
  for (const auto& [rank, agent] : agents_) {
    for (std::size_t slot = 0; slot < agent.slots.size(); ++slot) {
      if (!agent.slots[slot]) continue;
      ++seated;
      const ActiveAttempt* attempt = Find(*agent.slots[slot]);
      if (attempt == nullptr) return Refused("a slot holds a trial that is not active");
      const Seat seat{rank, static_cast<int>(slot)};
      if (std::count(attempt->seats.begin(), attempt->seats.end(), seat) != 1)
        return Refused("a slot holds an attempt that does not sit there once");
      if (agent.lost) return Refused("a lost agent still holds an attempt");
    }
  }
  std::size_t members = 0;
  for (const auto& [trial, attempt] : active_) members += attempt.seats.size();
  if (seated != members) return Refused("an active attempt lacks a slot");
  if (free_ != CountFree()) return Refused("the count of free slots is wrong");
  for (const auto& [trial, attempt] : active_)
    if (attempt.id.trial != trial) return Refused("an attempt is filed under another trial");
  return {};
}

}  // namespace retort::orchestrator
