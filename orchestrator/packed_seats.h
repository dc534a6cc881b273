// Places for trials that share a device with others, in one scheduling round.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/spec/trial_spec.h"
#include "orchestrator/core.h"

namespace retort::orchestrator {

inline constexpr int kLookAhead = 1000;  // queued trials that are looked at for company

// What decides how many steps a trial makes in a second, in words: steps of trials of one such shape count alike.
// Finer than CostShapeOf (cost_model.h), which tells how long a trial takes from how long others did.
[[nodiscard]] std::string PackingShapeOf(const TrialSpec& spec);
// Tells the core's packing about a lease.
void SeatForPacking(Core& core, const TrialSpec& spec, const std::vector<Seat>& seats, Now now);

// Borrows the core.
class PackedSeats {
 public:
  explicit PackedSeats(const Core& core);

  // No further trial finds a place, whatever its shape.
  [[nodiscard]] bool empty() const { return left_ <= 0 || places_.empty(); }
  // These slots are given away in this round: nobody joins on their devices before the next one.
  void Close(const std::vector<Seat>& seats);
  // A seat beside trials of the same shape, where measuring allows one more. Each call counts towards
  // kLookAhead.
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

}  // namespace retort::orchestrator
