#include "orchestrator/reactor/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "experiments/methods/methods.h"
#include "experiments/privacy/claim.h"
#include "orchestrator/core/cost_model.h"
#include "orchestrator/reactor/admission.h"
#include "orchestrator/reactor/attempt_failure.h"

namespace retort::orchestrator {
namespace {

constexpr int kLookAhead = 1000;  // queued trials that are looked at for one that may share a device

// The quota over one scheduling round. Borrows the core.
class QuotaGate {
 public:
  QuotaGate(const Core& core, Now now);
  // Whether no further trial may start in this round, in which `starting` were chosen. Call it before each trial.
  [[nodiscard]] bool IsFull(std::int64_t starting) const;
  // Whether this trial may start. Call it once for each queued trial.
  [[nodiscard]] bool Admits(const Trial& trial);
  void Started(const Trial& trial);
  // Of `slots`, those for which a new trial may start in this round.
  [[nodiscard]] std::size_t LimitNew(std::size_t slots) const;

 private:
  [[nodiscard]] bool RefusesNewTrials() const;

  const Core& core_;
  bool limited_, spent_;
  std::int64_t started_new_ = 0;
  std::size_t begun_left_;  // queued trials that were begun and for which Admits was not called yet
};

QuotaGate::QuotaGate(const Core& core, Now now)
    : core_(core),
      limited_(core.quota != Quota{}),
      spent_(limited_ && !FindSpentQuota(core.quota, core.usage(), now.unix_seconds).empty()),
      begun_left_(core.ready_begun()) {}

bool QuotaGate::RefusesNewTrials() const {
  return core_.quota.trials > 0 && core_.usage().trials() + started_new_ >= core_.quota.trials;
}

bool QuotaGate::IsFull(std::int64_t starting) const {
  if (!limited_) return false;
  const bool crowded = core_.quota.concurrency > 0 && core_.usage().active() + starting >= core_.quota.concurrency;
  return spent_ || crowded || (begun_left_ == 0 && RefusesNewTrials());
}

bool QuotaGate::Admits(const Trial& trial) {
  const bool begun = trial.attempts > 0;
  if (begun && begun_left_ > 0) --begun_left_;
  return begun || !RefusesNewTrials();
}

void QuotaGate::Started(const Trial& trial) {
  if (trial.attempts == 0) ++started_new_;
}

std::size_t QuotaGate::LimitNew(std::size_t slots) const {
  if (!limited_) return slots;
  if (spent_) return 0;
  const auto limit = [&slots](std::int64_t most, std::int64_t used) {
    if (most > 0) slots = std::min(slots, static_cast<std::size_t>(std::max<std::int64_t>(most - used, 0)));
  };
  limit(core_.quota.concurrency, core_.usage().active());
  limit(core_.quota.trials, core_.usage().trials());
  return slots;
}

bool SlotFirst(const Seat& a, const Seat& b) { return a.slot != b.slot ? a.slot < b.slot : a.rank < b.rank; }

// The free slots of one scheduling round, by host.
class FreeSeats {
 public:
  explicit FreeSeats(const Fleet& fleet);

  [[nodiscard]] bool empty() const { return free_ == 0; }
  // Takes one slot, spread over the ranks: every agent's first slot before any second one; none of `avoid` where there
  // is another.
  [[nodiscard]] std::optional<Seat> TakeOne(const std::vector<Seat>& avoid = {});
  // Takes all slots of a gang or none: on the host with the fewest free slots that still has enough, else on as few
  // hosts as possible. Slots of one host stand beside each other in the result.
  [[nodiscard]] std::optional<std::vector<Seat>> TakeGang(int devices);
  // Keeps slots out of this round for a gang of `devices` that finds too few:
  // of the host that lacks the fewest where any is large enough, else of all.
  void ReserveFor(int devices);

 private:
  struct Host {
    std::string key;
    int seats = 0;  // of live agents, busy or not
    std::vector<Seat> free;
  };
  [[nodiscard]] std::vector<Seat> TakeFrom(Host& host, std::size_t count);

  std::vector<Host> hosts_;  // in order of their first rank
  std::size_t free_ = 0;
};

FreeSeats::FreeSeats(const Fleet& fleet) {
  for (const auto& [rank, agent] : fleet.agents()) {
    if (agent.lost) continue;
    const std::string& key = GetHostKey(agent.registration);
    auto host = std::find_if(hosts_.begin(), hosts_.end(), [&](const Host& h) { return h.key == key; });
    if (host == hosts_.end()) host = hosts_.insert(hosts_.end(), Host{key, 0, {}});
    host->seats += static_cast<int>(std::count(agent.drained.begin(), agent.drained.end(), false));
  }
  for (const Seat& seat : fleet.FreeSeats()) {
    const std::string& key = GetHostKey(fleet.agents().at(seat.rank).registration);
    std::find_if(hosts_.begin(), hosts_.end(), [&](const Host& h) { return h.key == key; })->free.push_back(seat);
    ++free_;
  }
}

std::vector<Seat> FreeSeats::TakeFrom(Host& host, std::size_t count) {
  const auto end = host.free.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Seat> taken(host.free.begin(), end);
  host.free.erase(host.free.begin(), end);
  free_ -= count;
  return taken;
}

std::optional<Seat> FreeSeats::TakeOne(const std::vector<Seat>& avoid) {
  const auto avoided = [&avoid](const Seat& seat) {
    return std::find(avoid.begin(), avoid.end(), seat) != avoid.end();
  };
  const auto before = [&avoided](const Seat& a, const Seat& b) {
    return avoided(a) != avoided(b) ? avoided(b) : SlotFirst(a, b);
  };
  std::vector<Seat>* from = nullptr;
  std::vector<Seat>::iterator best;
  for (Host& host : hosts_) {
    const auto own = std::min_element(host.free.begin(), host.free.end(), before);
    if (own == host.free.end() || (from != nullptr && !before(*own, *best))) continue;
    from = &host.free;
    best = own;
  }
  if (from == nullptr) return std::nullopt;
  const Seat taken = *best;
  from->erase(best);
  --free_;
  return taken;
}

std::optional<std::vector<Seat>> FreeSeats::TakeGang(int devices) {
  const auto wanted = static_cast<std::size_t>(devices);
  if (free_ < wanted) return std::nullopt;
  Host* best = nullptr;
  for (Host& host : hosts_)
    if (host.free.size() >= wanted && (best == nullptr || host.free.size() < best->free.size())) best = &host;
  if (best != nullptr) return TakeFrom(*best, wanted);
  std::vector<Seat> seats;
  while (seats.size() < wanted) {
    const auto fullest = std::max_element(hosts_.begin(), hosts_.end(),
                                          [](const Host& a, const Host& b) { return a.free.size() < b.free.size(); });
    const std::vector<Seat> part = TakeFrom(*fullest, std::min(wanted - seats.size(), fullest->free.size()));
    seats.insert(seats.end(), part.begin(), part.end());
  }
  return seats;
}

void FreeSeats::ReserveFor(int devices) {
  Host* best = nullptr;
  for (Host& host : hosts_)
    if (host.seats >= devices && (best == nullptr || host.free.size() > best->free.size())) best = &host;
  for (Host& host : hosts_)
    if (best == nullptr || &host == best) static_cast<void>(TakeFrom(host, host.free.size()));
}

bool IsPackable(const TrialSpec& spec) { return spec.execution.pack == PackMode::automatic && spec.devices == 1; }

std::string MakePackingShape(const TrialSpec& spec) {
  if (spec.data == nullptr) return fmt::format("{} of {:.4g} s in {} steps", spec.method, spec.seconds, spec.steps);
  return fmt::format(
      "{} {} ({}, batch {}, {} threads, {} members, {}x{} student steps, {}x{} generator steps of {} from {} latents)",
      GetKindName(FindKind(spec)), spec.network, spec.data->name, spec.batch, spec.threads, spec.members,
      spec.distill.student_steps, spec.distill.student_batch, spec.generator.steps, spec.generator.width,
      NameGenerator(spec), spec.generator.latent);
}

void NotePackedSeats(Core& core, const TrialSpec& spec, const std::vector<Seat>& seats, Now now) {
  const bool packable = IsPackable(spec);
  for (const Seat& seat : seats) {
    const Device device = core.fleet.FindDevice(seat);
    core.packing.Seated(spec.id, device, packable ? MakePackingShape(spec) : "", packable,
                        packable ? core.fleet.SlotsOn(device) : 0, now.monotonic);
  }
}

// Places for trials that share a device with others, in one scheduling round. Borrows the core.
class PackedSeats {
 public:
  explicit PackedSeats(const Core& core);

  // True when no further trial finds a place, whatever its shape.
  [[nodiscard]] bool empty() const { return left_ <= 0 || places_.empty(); }
  // Excludes the devices of these slots from this round, because the slots were given away in it.
  void Close(const std::vector<Seat>& seats);
  // Takes a seat beside trials of the same shape, where measuring allows one more. At most kLookAhead calls have an
  // effect.
  [[nodiscard]] std::optional<Seat> Take(const TrialSpec& spec);

 private:
  struct Place {
    Device device;
    std::string shape;
    int queued = 0;  // trials of this shape, of the first kLookAhead
    int joining = 0;
  };
  const Core& core_;
  std::vector<Place> places_;
  std::vector<Seat> taken_;
  int left_ = 0;
};

PackedSeats::PackedSeats(const Core& core) : core_(core) {
  if (core.packing.empty()) return;
  for (auto& [device, shape] : core.packing.Candidates())
    if (core.packing.MayJoin(device, shape, 0, kLookAhead)) places_.push_back({device, shape, 0, 0});
  if (places_.empty()) return;
  int seen = 0;
  for (const Core::ReadyKey& key : core.ready()) {
    if (++seen > kLookAhead) break;
    const TrialSpec& spec = core.At(key.index).spec;
    if (!IsPackable(spec)) continue;
    const std::string shape = MakePackingShape(spec);
    for (Place& place : places_)
      if (place.shape == shape) ++place.queued;
  }
  // Devices with trials of the same shape share the queue.
  std::map<std::string, int> sharers;
  for (const Place& place : places_) ++sharers[place.shape];
  for (Place& place : places_) place.queued /= sharers[place.shape];
  std::erase_if(places_, [this](const Place& place) {
    return !core_.packing.MayJoin(place.device, place.shape, 0, place.queued);
  });
  if (!places_.empty()) left_ = kLookAhead;
}

void PackedSeats::Close(const std::vector<Seat>& seats) {
  if (places_.empty()) return;
  for (const Seat& seat : seats)
    std::erase_if(places_,
                  [device = core_.fleet.FindDevice(seat)](const Place& place) { return place.device == device; });
}

std::optional<Seat> PackedSeats::Take(const TrialSpec& spec) {
  if (left_-- <= 0 || !IsPackable(spec)) return std::nullopt;
  const std::string shape = MakePackingShape(spec);
  for (Place& place : places_) {
    if (place.shape != shape) continue;
    if (!core_.packing.MayJoin(place.device, shape, place.joining, place.queued)) continue;
    const std::optional<Seat> seat = core_.fleet.SpareSeat(place.device, taken_);
    if (!seat) continue;
    ++place.joining;
    taken_.push_back(*seat);
    return seat;
  }
  return std::nullopt;
}

// Makes the order to start, without what differs between members of a gang.
cluster::Start MakeStart(Core& core, const Trial& trial, std::uint32_t attempt) {
  const TrialSpec& spec = trial.spec;
  const std::string& results = core.settings().results;
  cluster::Start start;
  start.spec = core.SpecText(spec.id);
  start.trial_directory = results + "/" + trial.folder;
  start.attempt_directory = start.trial_directory + "/attempt-" + std::to_string(attempt);
  start.data_path = spec.data ? spec.data->path : "";
  start.sweep = core.sweep();
  start.charged = core.charges.CollectEvents(spec.id);
  if (spec.parent) {
    const Trial& teacher = core.Get(*spec.parent);
    RETORT_CHECK(teacher.row.has_value());
    start.teacher_file = results + "/" + teacher.row->attempt_file;
    start.teacher_parameters = teacher.row->parameters_digest;
    for (const privacy::Claim& claim : teacher.row->claims) start.teacher_claims.push_back(privacy::EncodeClaim(claim));
  }
  return start;
}

std::string FindDeviceName(const AgentSeats& agent, int slot) {
  const std::vector<std::string>& devices = agent.registration.devices;
  const auto index = static_cast<std::size_t>(slot % std::max(1, agent.registration.slots));
  return index < devices.size() ? devices[index] : "cpu";
}

// Address at which the other members reach the one on `rank`: loopback where all share a host.
std::string FindGangHost(const Core& core, const std::vector<Seat>& seats, WorldRank rank) {
  if (seats.size() == 1) return "";
  const auto registration = [&core](WorldRank of) -> const cluster::Register& {
    return core.fleet.agents().at(of).registration;
  };
  const bool together = std::all_of(seats.begin(), seats.end(), [&](const Seat& seat) {
    return GetHostKey(registration(seat.rank)) == GetHostKey(registration(seats.front().rank));
  });
  if (together) return "127.0.0.1";
  const cluster::Register& own = registration(rank);
  return own.address.empty() ? own.host : own.address;
}

void LeaseOne(Core& core, const Placement& placement, Now now, Outbox& outbox) {
  const Trial& trial = core.Get(placement.trial);
  const AttemptId attempt = core.NextAttempt(trial);
  const Generation generation = core.NextGeneration();
  ++core.counters.leases;
  std::vector<std::pair<int, int>> members, slots;
  for (const Seat& seat : placement.seats) {
    members.emplace_back(seat.rank.value, seat.slot);
    slots.emplace_back(seat.rank.value, core.fleet.FindSlot(seat).slot);
  }
  Record(core, AttemptLeased{attempt, generation, std::move(slots)}, now, outbox);
  core.fleet.Occupy(placement.seats, attempt, generation,
                    StepWatch(now.monotonic, trial.spec.execution.deadline_seconds, kAgentWatchMarginSeconds));
  NotePackedSeats(core, trial.spec, placement.seats, now);
  cluster::Lease lease;
  lease.members = members;
  lease.start = MakeStart(core, trial, attempt.number);
  lease.start.gang_size = static_cast<int>(placement.seats.size());
  for (const Seat& seat : placement.seats) {
    lease.slot = seat.slot;
    lease.start.device = FindDeviceName(core.fleet.agents().at(seat.rank), seat.slot);
    lease.start.gang_host = FindGangHost(core, placement.seats, seat.rank);
    Send(outbox, seat.rank, lease, attempt, generation);
    ++lease.start.gang_rank;
  }
}

Status CheckTrialPlaceable(const TrialSpec& spec, int seats, std::size_t ranks) {
  if (spec.devices <= seats) return {};
  return UsageError(
      fmt::format("trial {}: devices = {}, but this run has {} in all ({} rank{}): lower `devices`, or start more "
                  "ranks, or more workers on each (--slots).",
                  spec.name, spec.devices, seats, ranks, ranks == 1 ? "" : "s"));
}

}  // namespace

std::vector<Placement> Schedule(const Core& core, Now now) {
  std::vector<Placement> placements;
  if (core.stop || !core.may_lease || core.ready().empty()) return placements;
  if (!core.fleet.HasFreeSeat() && core.packing.empty()) return placements;
  FreeSeats free(core.fleet);
  PackedSeats packed(core);
  std::optional<int> left_over;  // the highest priority, negated, of a trial that found no place
  bool kept = false;
  QuotaGate gate(core, now);
  for (const Core::ReadyKey& key : core.ready()) {
    if (free.empty() && (packed.empty() || kept)) break;
    const Trial& trial = core.At(key.index);
    if (gate.IsFull(static_cast<std::int64_t>(placements.size()))) break;
    if (!gate.Admits(trial)) continue;
    if (!IsRetryDue(trial.retry_at, now.unix_seconds)) continue;
    if (!RefuseByTime(core, trial, now).empty()) continue;
    if (trial.spec.devices == 1) {
      std::optional<Seat> seat = free.TakeOne(core.fleet.quarantine.FailedAt(trial.spec.id));
      if (seat) packed.Close({*seat});
      const bool may_pass = !kept && (!left_over || *left_over == key.negative_priority);
      if (!seat && may_pass) seat = packed.Take(trial.spec);
      if (!seat) {
        if (!left_over) left_over = key.negative_priority;
        continue;
      }
      placements.push_back({trial.spec.id, {*seat}});
    } else if (auto seats = free.TakeGang(trial.spec.devices)) {
      packed.Close(*seats);
      placements.push_back({trial.spec.id, std::move(*seats)});
    } else {
      const bool can_start = core.fleet.CountLiveSlots() >= trial.spec.devices;
      if (can_start && !kept) free.ReserveFor(trial.spec.devices);
      kept = kept || can_start;
      continue;
    }
    gate.Started(trial);
  }
  return placements;
}

std::size_t CountIdleSlots(const Core& core, Now now) {
  if (core.stop || core.ended || !core.may_lease || !core.fleet.HasFreeSeat()) return 0;
  for (const Core::ReadyKey& key : core.ready())
    if (IsRetryDue(core.At(key.index).retry_at, now.unix_seconds)) return 0;
  const std::size_t free = core.fleet.FreeSeats().size(), waiting = core.CountIn(TrialState::waiting);
  return QuotaGate(core, now).LimitNew(free - std::min(free, waiting));
}

void LeaseQueued(Core& core, Now now, Outbox& outbox) {
  for (const Placement& placement : Schedule(core, now)) LeaseOne(core, placement, now, outbox);
}

Status CheckPlaceable(const Core& core) {
  for (const std::size_t index : core.plan()) {
    const Trial& trial = core.At(index);
    if (IsFinal(trial.state)) continue;
    RETORT_RETURN_IF_ERROR(CheckTrialPlaceable(trial.spec, core.fleet.CountLiveSlots(), core.fleet.agents().size()));
  }
  return {};
}

Status CheckPlaceable(const SweepPlan& plan, int devices) {
  for (const TrialSpec& spec : plan.trials) RETORT_RETURN_IF_ERROR(CheckTrialPlaceable(spec, devices, 1));
  return {};
}

double FindNextRetry(const Core& core, Now now) {
  // The first retry in the future. Where that one is due already, the clock was put back, and all later ones are due,
  // too.
  const auto next = core.retries().upper_bound({now.unix_seconds, ~std::size_t{0}});
  return next == core.retries().end() || IsRetryDue(next->first, now.unix_seconds) ? 0 : next->first;
}

}  // namespace retort::orchestrator
