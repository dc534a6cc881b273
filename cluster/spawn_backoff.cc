#include "cluster/spawn_backoff.h"

#include <algorithm>

namespace retort::cluster {

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
