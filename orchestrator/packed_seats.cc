#include "orchestrator/packed_seats.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/spec/trial_kind.h"

namespace retort::orchestrator {
namespace {

bool IsPackable(const TrialSpec& spec) { return spec.pack == PackMode::automatic && spec.devices == 1; }

}  // namespace

std::string PackingShapeOf(const TrialSpec& spec) {
  if (spec.data == nullptr) return fmt::format("{} of {:.4g} s in {} steps", spec.method, spec.seconds, spec.steps);
  return fmt::format("{} {} ({}, batch {}, {} threads, {} members, {}x{} student steps, {}x{} generator steps)",
                     KindName(KindOf(spec)), spec.network, spec.data->name, spec.batch, spec.threads, spec.members,
                     spec.student_steps, spec.student_batch, spec.generator_steps, spec.generator_width);
}

void SeatForPacking(Core& core, const TrialSpec& spec, const std::vector<Seat>& seats, Now now) {
  const bool packable = IsPackable(spec);
  for (const Seat& seat : seats) {
    const Device device = core.fleet.DeviceOf(seat);
    core.packing.Seated(spec.id, device, packable ? PackingShapeOf(spec) : "", packable,
                        packable ? core.fleet.SlotsOn(device) : 0, now.monotonic);
  }
}

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
    const std::string shape = PackingShapeOf(spec);
    for (Place& place : places_)
      if (place.shape == shape) ++place.queued;
  }
  // A queue that several devices share lasts the shorter for each.
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
    std::erase_if(places_, [device = core_.fleet.DeviceOf(seat)](const Place& place) { return place.device == device; });
}

std::optional<Seat> PackedSeats::Take(const TrialSpec& spec) {
  if (left_-- <= 0 || !IsPackable(spec)) return std::nullopt;
  const std::string shape = PackingShapeOf(spec);
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

}  // namespace retort::orchestrator
