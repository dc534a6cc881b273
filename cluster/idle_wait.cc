#include "cluster/idle_wait.h"

#include <poll.h>

#include <algorithm>
#include <vector>

#include "experiments/spec/status.h"

namespace retort::cluster {

IdleWait::IdleWait(Duration shortest, Duration longest)
    : shortest_(shortest), longest_(longest), pause_(shortest) {
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

}  // namespace retort::cluster
