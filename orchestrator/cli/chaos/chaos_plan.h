// Plans what `retort chaos` does to a sweep, and when: a pure function of the seed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace retort::orchestrator::cli {

enum class DisturbanceKind : std::uint8_t {
  kill_worker,    // SIGKILL to a worker
  kill_run,       // SIGKILL to the run, or to a rank of it; the same line is run again
  torn_journal,   // the same, and half a record at the end of the journal
  torn_ledger,    // the same, at the end of the ledger
  full_disk,      // the same, and the next run may not write files larger than the journal is
  freeze_worker,  // SIGSTOP to a worker, SIGCONT later
  freeze_run,     // the same to the run, or a rank
  hang_worker,    // SIGSTOP to a worker until its deadline has ended it
};
inline constexpr int kDisturbanceKinds = 8;

struct Disturbance {
  DisturbanceKind kind = DisturbanceKind::kill_worker;
  double wait = 0;         // [0, 2), mean 1: after the one before it, in units of the pace
  double hold = 0;         // seconds between SIGSTOP and SIGCONT, of a freeze that is no hang
  std::uint64_t pick = 0;  // of the victim, of the byte where a record is torn, of the disk's size
};

// `kills` disturbances with a SIGKILL (>= 1), and one freeze for about every eight of them.
[[nodiscard]] std::vector<Disturbance> PlanDisturbances(std::uint64_t seed, int kills);

// Seconds for which a sweep may go on after its last disturbance before it counts as one that does not end:
// its own work once more and again, and pauses before retries.
[[nodiscard]] constexpr double ComputeLongestDisturbedRun(double undisturbed_seconds) {
  return 300 + 10 * undisturbed_seconds;
}

// "worker killed", ...
[[nodiscard]] std::string_view GetDisturbanceName(DisturbanceKind kind);
[[nodiscard]] constexpr bool IsFreeze(DisturbanceKind kind) {
  return kind == DisturbanceKind::freeze_worker || kind == DisturbanceKind::freeze_run ||
         kind == DisturbanceKind::hang_worker;
}

}  // namespace retort::orchestrator::cli
