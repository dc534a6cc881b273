#include "cluster/oom_kills.h"

#include <fstream>

namespace retort::cluster {

std::uint64_t CountOomKills(const std::string& vmstat) {
  std::ifstream file(vmstat);
  std::string name;
  for (std::uint64_t value = 0; file >> name >> value;)
    if (name == "oom_kill") return value;
  return 0;
}

}  // namespace retort::cluster
