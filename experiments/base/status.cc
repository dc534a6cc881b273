#include "experiments/base/status.h"

#include <cstdio>
#include <cstdlib>

namespace retort {

int GetExitCode(StatusCode code) {
  switch (code) {
    case StatusCode::ok:
      return 0;
    case StatusCode::usage:
      return 2;
    case StatusCode::environment:
      return 3;
    case StatusCode::damage:
    case StatusCode::refused:
      return 1;
    case StatusCode::cancelled:
      return 75;
  }
  return 3;
}

void CheckFailed(const char* condition, const char* file, int line, std::string_view detail) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s %.*s\n", file, line, condition, static_cast<int>(detail.size()),
               detail.data());
  std::abort();
}

}  // namespace retort
