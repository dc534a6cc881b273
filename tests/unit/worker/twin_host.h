// TrialHost without an agent: grants, records, and stops or breaks when told.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "worker/sleep/trial_host.h"

namespace retort::worker {

class FakeTrialHost final : public TrialHost {
 public:
  struct Grant {
    privacy::PrivacyEvent event;
    std::int64_t count = 0;
    std::int64_t used = -1;  // -1 while reserved
  };

  // Stops politely when asked the n-th time; vanishes at the n-th report of a step; refuses the n-th reservation.
  // Counted from 1; 0 = never.
  std::int64_t stop_at = 0, vanish_at = 0, refuse_at = 0;
  bool save = true;           // when it stops
  bool before_steps = false;  // vanishes at the n-th report, be it of a step or not

  std::map<std::uint64_t, Grant> grants;
  std::vector<privacy::PrivacyEvent> charged_again;  // since the order knew nothing of them
  std::vector<cluster::Progress> progress;
  std::vector<cluster::CheckpointCommitted> checkpoints;

  Result<std::uint64_t> Reserve(const privacy::PrivacyEvent& event, std::int64_t count) override {
    if (++reservations_ == refuse_at) return Refused("The budget of data set 'tiny' is spent.");
    grants[++last_id_] = {event, count, -1};
    return last_id_;
  }
  Status ChargeDrawn(const privacy::PrivacyEvent& event, std::int64_t count) override {
    charged_again.push_back(event);
    charged_again.back().count = count;
    return {};
  }
  Status Settle(std::uint64_t id, std::int64_t used) override {
    grants.at(id).used = used;
    return {};
  }
  Status Report(const cluster::Progress& report) override {
    progress.push_back(report);
    if (report.total_steps == 0 && !before_steps) return {};
    return ++steps_told_ == vanish_at ? EnvironmentError("The agent is gone.") : Status();
  }
  Status Report(const cluster::CheckpointCommitted& committed) override {
    checkpoints.push_back(committed);
    return {};
  }
  Status AnnounceGang(const std::string&) override { return {}; }
  Result<std::string> AwaitGang(std::chrono::milliseconds) override {
    return EnvironmentError("This host knows no gang.");
  }
  std::optional<cluster::Stop> StopRequested() override {
    if (stop_at == 0 || ++asked_ < stop_at) return std::nullopt;
    return cluster::Stop{save, 10};
  }

 private:
  std::int64_t reservations_ = 0, asked_ = 0, steps_told_ = 0;
  std::uint64_t last_id_ = 0;
};

}  // namespace retort::worker
