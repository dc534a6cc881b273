// Checks that may hang: a file system whose server is gone, a driver, a launcher that asks a dead daemon.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "orchestrator/doctor/finding.h"

namespace retort::orchestrator::doctor {

struct Check {
  std::string name;
  Level late = Level::problem;  // of the finding that takes the place of those that did not come in time
  std::string late_remedy;
  std::function<Findings()> look;  // holds by value whatever it needs: it may outlive the call that began it
};

// Runs all at once, each in a thread of its own, for at most `limit` in all. A check that is not done then is
// left behind. In the order of `checks`.
[[nodiscard]] Findings RunChecks(const std::vector<Check>& checks, std::chrono::milliseconds limit);

}  // namespace retort::orchestrator::doctor
