#include "orchestrator/system_clock.h"

#include <chrono>

namespace retort::orchestrator {

Now ReadClocks() {
  const auto seconds = [](auto point) {
    return std::chrono::duration<double>(point.time_since_epoch()).count();
  };
  return {seconds(std::chrono::steady_clock::now()), seconds(std::chrono::system_clock::now())};
}

}  // namespace retort::orchestrator
