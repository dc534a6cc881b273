#include "orchestrator/cli/chaos/chaos_plan.h"

namespace retort::orchestrator::cli {
namespace {

// SplitMix64: the same numbers everywhere, whatever the standard library.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  double Fraction() { return static_cast<double>(Next() >> 11U) * 0x1p-53; }  // [0, 1)

 private:
  std::uint64_t state_;
};

DisturbanceKind DrawKill(double draw) {
  if (draw < 0.55) return DisturbanceKind::kill_worker;
  if (draw < 0.80) return DisturbanceKind::kill_run;
  if (draw < 0.87) return DisturbanceKind::torn_journal;
  if (draw < 0.93) return DisturbanceKind::torn_ledger;
  return DisturbanceKind::full_disk;
}

}  // namespace

std::vector<Disturbance> PlanDisturbances(std::uint64_t seed, int kills) {
  constexpr double kFreezes = 1.0 / 8, kLongestHold = 0.6;
  Numbers numbers(seed);
  std::vector<Disturbance> plan;
  for (int done = 0; done < kills;) {
    Disturbance next;
    const bool freeze = numbers.Fraction() < kFreezes;
    const double draw = numbers.Fraction();
    next.kind = !freeze      ? DrawKill(draw)
                : draw < 0.4 ? DisturbanceKind::freeze_worker
                : draw < 0.8 ? DisturbanceKind::freeze_run
                             : DisturbanceKind::hang_worker;
    next.wait = 2 * numbers.Fraction();
    next.hold = kLongestHold * numbers.Fraction();
    next.pick = numbers.Next();
    if (!freeze) ++done;
    plan.push_back(next);
  }
  return plan;
}

std::string_view GetDisturbanceName(DisturbanceKind kind) {
  switch (kind) {
    case DisturbanceKind::kill_worker:
      return "worker killed";
    case DisturbanceKind::kill_run:
      return "run killed";
    case DisturbanceKind::torn_journal:
      return "run killed, journal torn";
    case DisturbanceKind::torn_ledger:
      return "run killed, ledger torn";
    case DisturbanceKind::full_disk:
      return "run killed, then a full disk";
    case DisturbanceKind::freeze_worker:
      return "worker stopped and continued";
    case DisturbanceKind::freeze_run:
      return "run stopped and continued";
    case DisturbanceKind::hang_worker:
      return "worker stopped past its deadline";
  }
  return "disturbance";
}

}  // namespace retort::orchestrator::cli
