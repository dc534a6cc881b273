// One trial that releases noisy votes, its worker, its orchestrator and their disks: everything between reserving and
// settling is the real code, and any of it can be the last thing that happens. The thread that writes the transcript
// works only while the other one waits for it, so that every run is the same.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "experiments/base/status.h"
#include "tests/fault/charge_host.h"
#include "tests/testing/fault_injection_env.h"

namespace retort::testing {

// Where a life ends: at a point between two operations, or in the middle of a disk's operation.
enum class KillPlace { point, worker_disk, host_disk };

struct Kill {
  KillPlace place = KillPlace::point;
  int at = 0;          // from 0, counted anew in each life
  bool whole = false;  // the orchestrator dies with its worker; always so in the middle of its own disk's operation
  Crash crash = Crash::process_killed;  // what it does to the disks of whoever dies
};

struct ChargeTruth {
  std::int64_t drawn = 0;    // numbers that left the noise source
  std::int64_t charged = 0;  // numbers that the ledger on disk counts
  std::int64_t counted = 0;  // numbers that the finished attempt counts
  bool again = false;        // an answer was drawn again after something that depends on it had left
};

// When answers are written down.
enum class Writing {
  late,  // in the last moment, when something waits for them
  soon,  // before the next step
};

// What leaves without waiting until the answers that it depends on are durable: all is well as long as nobody dies.
enum class Hasty { nothing, report, checkpoint, settlement };

class ChargeWorld {
 public:
  static constexpr int kSteps = 6, kRows = 3, kClasses = 4, kBlock = 2;

  // `saves_first`: a checkpoint before the first step, as the real runner writes, so that a damaged one always has one
  // before it.
  explicit ChargeWorld(ChargeFault fault = ChargeFault::none, Writing writing = Writing::late,
                       Hasty hasty = Hasty::nothing, bool saves_first = false);
  ~ChargeWorld();

  // From where the last life ended until `kill` or the trial's end; true when it was killed. Without a kill
  // in reach the trial is finished.
  [[nodiscard]] bool Live(const Kill& kill);
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] ChargeFault fault() const { return fault_; }
  // Why a life ended that nobody killed and that did not finish; empty otherwise.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // Flips a byte of the newest checkpoint; false when there is none.
  [[nodiscard]] bool DamageCheckpoint();
  // As any other process would read it from the orchestrator's disk.
  [[nodiscard]] ChargeTruth Truth();

 private:
  class Life;
  class LeavingHost;
  [[nodiscard]] Status LiveOn();
  void Bury(const Kill& kill);

  ChargeFault fault_;
  Writing writing_;
  Hasty hasty_;
  bool saves_first_;
  Points points_;
  FaultInjectionEnv worker_disk_, host_disk_;
  std::unique_ptr<ChargeHost> host_;
  std::int64_t drawn_ = 0, counted_ = 0;
  int answered_ = 0, left_ = 0;  // steps: with an answer in this life; that something which has left depends on
  bool again_ = false, finished_ = false;
  std::string trouble_;
};

}  // namespace retort::testing
