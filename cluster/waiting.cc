#include "cluster/waiting.h"

#include <poll.h>

#include <algorithm>
#include <vector>

#include "experiments/base/status.h"

namespace retort::cluster {

IdleWait::IdleWait(Duration shortest, Duration longest) : shortest_(shortest), longest_(longest), pause_(shortest) {
  RETORT_CHECK(shortest.count() > 0 && longest >= shortest);
}

bool IdleWait::Wait(std::span<const int> readable, Duration at_most) {
  std::vector<pollfd> entries;
  entries.reserve(readable.size());
  for (const int fd : readable) {
    if (fd >= 0) entries.push_back({fd, POLLIN, 0});
  }
  const Duration pause = std::clamp(at_most, Duration(0), pause_);
  const int ready = ::poll(entries.data(), entries.size(), static_cast<int>(pause.count()));
  if (ready > 0) {
    Reset();
    return true;
  }
  pause_ = std::min(pause_ * 2, longest_);
  return false;
}

void SpawnBackoff::Ended(TimePoint now) {
  const bool early = !proved_ && now - spawned_at_ < policy_.settled;
  proved_ = false;
  if (!early) {
    early_deaths_ = 0;
    not_before_ = now;
    return;
  }
  ++early_deaths_;
  auto pause = policy_.first;
  for (int i = 1; i < early_deaths_ && pause < policy_.longest; ++i) pause *= 2;
  not_before_ = now + std::min(pause, policy_.longest);
}

}  // namespace retort::cluster
