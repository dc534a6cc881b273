#include "worker/environment.h"

#include <unistd.h>

#include <array>
#include <climits>
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
  // By its own path, which `ps` and `pkill` then show; the link's name would be "exe".
  std::array<char, PATH_MAX> program{};
  const ssize_t length = ::readlink("/proc/self/exe", program.data(), program.size() - 1);
  if (length > 0) ::execv(program.data(), arguments);
}

}  // namespace retort::worker
