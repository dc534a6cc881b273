#include "worker/environment.h"

#include <unistd.h>

#include <cstdlib>

namespace retort::worker {
namespace {

constexpr const char* kVariable = "GOMP_SPINCOUNT";
// Some tens of microseconds: longer than the gap between two operations, shorter than a time slice.
constexpr const char* kSpins = "1000";

}  // namespace

void LimitSpinning(char** arguments) {
  if (std::getenv(kVariable) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  if (::setenv(kVariable, kSpins, 0) != 0) return;
  ::execv("/proc/self/exe", arguments);
}

}  // namespace retort::worker
