// Finds by measuring how many trials may share one device. Pure: it is told which trials are where and how far they
// are.
//
// A device starts with as many trials as it has slots. Once their steps per second are known, one trial of
// the same shape joins; it stays if together they are at least kMinGain faster, and is evicted if not.
// Trying may cost at most kMaxLoss of the time that the trials that are left would take without it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/ids.h"
#include "orchestrator/core/events.h"

namespace retort::orchestrator {

inline constexpr int kMaxTrialsPerSlot = 8;  // trials at once, for each slot of a device
inline constexpr double kMinGain = 1.02;     // of the summed steps per second
inline constexpr double kMaxLoss = 0.02;     // of the time that one trial at a time would take
inline constexpr int kReportsPerTrial = 5;   // that make a measurement, with as many seconds as below
inline constexpr double kSecondsPerTrial = 0.5;

// What trials compete for: a GPU, or all CPU slots of a host.
struct Device {
  std::string host;           // its name
  std::string name;           // "cuda:0"; "cpu"
  std::string identity = {};  // of the host, as it registered
  [[nodiscard]] const std::string& HostKey() const { return identity.empty() ? host : identity; }
  auto operator<=>(const Device&) const = default;
};

// Times are monotonic seconds.
class Packing {
 public:
  // An attempt was leased; of a gang, for each of its members. `shape`: trials of one shape take equally long
  // for a step. `packable`: the trial asks for pack = "auto" and is no gang; `base`: slots of the device, of
  // no meaning when it is not.
  void Seated(TrialId trial, const Device& device, const std::string& shape, bool packable, int base, double now);
  // `step` of `total_steps` are complete, as its worker said.
  void Progressed(TrialId trial, std::int64_t step, std::int64_t total_steps, double now);
  // The attempt ended; `out_of_memory` says how.
  void Left(TrialId trial, bool out_of_memory, double now);
  // What the host (by its key) has left, and the most that one of its workers used, in bytes; 0 = not known.
  // Nothing is tried on a host before its memory is known.
  void SawMemory(const std::string& host, std::int64_t available, std::int64_t worker_peak);
  // Rejects a width that takes too long to measure.
  void Tick(double now);
  [[nodiscard]] double NextDeadline() const;  // of Tick; infinity when never

  // Whether some device could take more trials than it has slots.
  [[nodiscard]] bool empty() const { return packable_ == 0; }
  // Whether a trial may be added to those on the device, beside `joining` others that are about to be.
  // `queued`: trials of this shape that wait for this device, at least.
  [[nodiscard]] bool MayJoin(const Device& device, const std::string& shape, int joining, int queued) const;
  // Devices whose trials are all of one shape and may be packed, with that shape.
  [[nodiscard]] std::vector<std::pair<Device, std::string>> Candidates() const;
  // Of a slot of its device, how much the trial had since it was seated, in (0, 1]: less than 1 when more trials
  // than slots shared it. 1 for what may not be packed.
  [[nodiscard]] double ComputeMeanShare(TrialId trial, double now) const;
  // Whether the device of the trial holds more trials than it has slots.
  [[nodiscard]] bool IsCrowded(TrialId trial) const;

  // What was found since the last call, and the trials that are to be saved and stopped because of it.
  [[nodiscard]] std::vector<PackingMeasured> TakeFindings() { return std::exchange(findings_, {}); }
  [[nodiscard]] std::vector<TrialId> TakeEvictions() { return std::exchange(evictions_, {}); }

 private:
  struct Member {
    TrialId trial;
    std::string shape;
    bool packable = false;
    double seated_at = 0;
    double had = 0;  // slot-seconds, until `counted_at`
    double counted_at = 0;
    bool reported = false;
    std::int64_t step = 0;
    double at = 0;  // of the newest report
  };
  struct Load {
    int base = 1;
    double settled_at = 0;        // since then the same trials are at work
    std::vector<Member> members;  // in the order in which they came
    [[nodiscard]] int width() const { return static_cast<int>(members.size()); }
    [[nodiscard]] bool Uniform() const;
    [[nodiscard]] bool AllReported() const;
    [[nodiscard]] double Share() const { return width() > base ? static_cast<double>(base) / width() : 1; }
    // Before members come or go.
    void Count(double now);
  };
  // Of one width, over all trials; older observations fade.
  struct Pace {
    double steps = 0, seconds = 0;
    int reports = 0;
    void Add(double more_steps, double more_seconds, int width);
    [[nodiscard]] bool FindAll(int width) const;
    [[nodiscard]] double Sum(int width) const { return seconds > 0 ? width * steps / seconds : 0; }
  };
  struct Measurements {
    int base = 1;
    int width = 1;                 // trials at once that are known to be faster than fewer
    std::optional<int> limit;      // more were tried and rejected
    bool short_of_memory = false;  // a finding said so
    std::optional<double> since;   // one more than `width` is being tried
    double tried = 0;              // seconds of earlier tries of the same width
    double allowance = 0;          // seconds in all that this try may take
    double spent = 0;              // seconds of tries that were rejected
    std::int64_t steps = 0;        // of a trial, the fewest
    double startup = 0;            // from lease to first report; older ones fade
    std::map<int, Pace> paces;
    [[nodiscard]] double Allowance() const;
    [[nodiscard]] bool WorthTrying(double steps_left) const;
  };
  struct Memory {
    std::int64_t available = 0, peak = 0;
    [[nodiscard]] bool Fits() const { return available == 0 || (peak > 0 && peak <= available); }
  };
  using Key = std::pair<Device, std::string>;

  void Leave(const Device& device, TrialId trial, bool out_of_memory, double now);
  void EvaluateDevice(const Key& key, Load& load, double now);
  void EvaluateNextWidth(const Key& key, Measurements& known, Load& load, double now);
  void RejectWidth(const Key& key, Measurements& known, Load& load, const std::string& cause, double now);
  void EvictLast(const Load& load, int width);
  void AddFinding(const Key& key, const Measurements& known, int tried, int than, bool kept, const std::string& cause);

  std::map<Device, Load> loads_;
  std::map<Key, Measurements> known_;
  std::map<std::string, Memory> hosts_;
  std::map<TrialId, std::vector<Device>> places_;  // several of a gang
  int packable_ = 0;
  std::vector<PackingMeasured> findings_;
  std::vector<TrialId> evictions_;
};

}  // namespace retort::orchestrator
