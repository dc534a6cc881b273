#include "cluster/host_memory.h"

#include <fstream>
#include <sstream>

namespace retort::cluster {
namespace {

// Of the line "<name>: <number> kB", in bytes.
std::int64_t FieldOf(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    std::int64_t kilobytes = 0;
    if (words >> word >> kilobytes && word == name + ":") return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

std::int64_t AvailableMemory(const std::string& meminfo) { return FieldOf(meminfo, "MemAvailable"); }

std::int64_t PeakResident(pid_t process, const std::string& proc) {
  return FieldOf(proc + "/" + std::to_string(process) + "/status", "VmHWM");
}

}  // namespace retort::cluster
