#include "orchestrator/free_seats.h"

#include <algorithm>

#include "orchestrator/host_key.h"

namespace retort::orchestrator {
namespace {

bool SlotFirst(const Seat& a, const Seat& b) { return a.slot != b.slot ? a.slot < b.slot : a.rank < b.rank; }

}  // namespace

FreeSeats::FreeSeats(const Fleet& fleet) {
  for (const auto& [rank, agent] : fleet.agents()) {
    if (agent.lost) continue;
    const std::string& key = HostKey(agent.registration);
    auto host = std::find_if(hosts_.begin(), hosts_.end(), [&](const Host& h) { return h.key == key; });
    if (host == hosts_.end()) host = hosts_.insert(hosts_.end(), Host{key, 0, {}});
    host->seats += static_cast<int>(std::count(agent.drained.begin(), agent.drained.end(), false));
  }
  for (const Seat& seat : fleet.FreeSeats()) {
    const std::string& key = HostKey(fleet.agents().at(seat.rank).registration);
    std::find_if(hosts_.begin(), hosts_.end(), [&](const Host& h) {
      return h.key == key;
    })->free.push_back(seat);
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
    const auto fullest = std::max_element(hosts_.begin(), hosts_.end(), [](const Host& a, const Host& b) {
      return a.free.size() < b.free.size();
    });
    const std::vector<Seat> part = TakeFrom(*fullest, std::min(wanted - seats.size(), fullest->free.size()));
    seats.insert(seats.end(), part.begin(), part.end());
  }
  return seats;
}

void FreeSeats::KeepFor(int devices) {
  Host* best = nullptr;
  for (Host& host : hosts_)
    if (host.seats >= devices && (best == nullptr || host.free.size() > best->free.size())) best = &host;
  for (Host& host : hosts_)
    if (best == nullptr || &host == best) static_cast<void>(TakeFrom(host, host.free.size()));
}

}  // namespace retort::orchestrator
