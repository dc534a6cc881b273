#include "orchestrator/doctor/timed_checks.h"

#include <fmt/format.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace retort::orchestrator::doctor {
namespace {

// Shared by the thread that looks and the one that waits for it.
struct Place {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  Findings findings;
};

std::shared_ptr<Place> Begin(const Check& check) {
  auto place = std::make_shared<Place>();
  const auto look = [place, run = check.look] {
    Findings found = run();
    const std::lock_guard lock(place->mutex);
    place->findings = std::move(found);
    place->done = true;
    place->changed.notify_all();
  };
  try {
    std::thread(look).detach();
  } catch (const std::system_error&) {
    look();  // no room for a thread
  }
  return place;
}

}  // namespace

Findings RunChecks(const std::vector<Check>& checks, std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  std::vector<std::shared_ptr<Place>> places;
  for (const Check& check : checks) places.push_back(Begin(check));
  Findings all;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    std::unique_lock lock(places[i]->mutex);
    if (places[i]->changed.wait_until(lock, until, [&] { return places[i]->done; })) {
      all.insert(all.end(), places[i]->findings.begin(), places[i]->findings.end());
    } else {
      const double seconds = std::chrono::duration<double>(limit).count();
      all.push_back({checks[i].name, checks[i].late, fmt::format("gave no answer within {:g} s", seconds),
                     checks[i].late_remedy});
    }
  }
  return all;
}

}  // namespace retort::orchestrator::doctor
