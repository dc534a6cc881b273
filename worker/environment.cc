#include "worker/environment.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

namespace retort::worker {
namespace {

// The program's own path, not the link's name. Empty when the system does not know.
std::string ProgramPath() {
  std::array<char, PATH_MAX> program{};
  const ssize_t length = ::readlink("/proc/self/exe", program.data(), program.size() - 1);
  return length > 0 ? std::string(program.data(), static_cast<std::size_t>(length)) : "";
}

}  // namespace

std::vector<std::string> ListCudaVariables() {
  std::vector<std::string> set;
  for (const char* const name : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"})
    if (const char* const value = std::getenv(name); value != nullptr) set.push_back(std::string(name) + "=" + value);
  return set;
}

std::string GetProgramDirectory() {
  const std::string program = ProgramPath();
  const std::size_t slash = program.rfind('/');
  return slash == std::string::npos ? "." : program.substr(0, slash);
}

void FixCublasWorkspace() { static_cast<void>(::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0)); }

}  // namespace retort::worker
