#include "orchestrator/doctor/control_group.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace retort::orchestrator::doctor {
namespace {

constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;  // version 1 writes a number near 2^63

std::optional<std::int64_t> NumberIn(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

// Of the line "<name> <number>".
std::int64_t FieldIn(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  for (std::int64_t value = 0; file >> word >> value;)
    if (word == name) return value;
  return 0;
}

void Lower(std::optional<double>& least, double value) { least = std::min(least.value_or(value), value); }

void TakeProcessors(const std::string& folder, ControlGroup& group) {
  std::ifstream file(folder + "/cpu.max");  // "max 100000", "150000 100000"
  double quota = 0, period = 0;
  if (file >> quota >> period && period > 0) Lower(group.processors, quota / period);
  const auto old_quota = NumberIn(folder + "/cpu.cfs_quota_us"),
             old_period = NumberIn(folder + "/cpu.cfs_period_us");
  if (old_quota && old_period && *old_quota > 0 && *old_period > 0)
    Lower(group.processors, static_cast<double>(*old_quota) / static_cast<double>(*old_period));
}

void TakeMemory(const std::string& folder, const char* limit, const char* used, const char* droppable,
                ControlGroup& group) {
  const auto most = NumberIn(folder + "/" + limit);
  if (!most || *most >= kNoLimit || (group.memory && *most >= *group.memory)) return;
  group.memory = most;
  group.memory_used = NumberIn(folder + "/" + used).value_or(0) - FieldIn(folder + "/memory.stat", droppable);
}

// The folder `path` below `top` and each above it, `top` included.
void Take(const std::string& top, std::string path, ControlGroup& group) {
  for (;;) {
    const std::string folder = path == "/" ? top : top + path;
    TakeProcessors(folder, group);
    TakeMemory(folder, "memory.max", "memory.current", "inactive_file", group);
    TakeMemory(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", group);
    if (path.empty() || path == "/") return;
    path.erase(path.rfind('/'));
  }
}

}  // namespace

ControlGroup ReadControlGroup(const std::string& group_file, const std::string& mount) {
  ControlGroup group;
  std::ifstream file(group_file);
  for (std::string line; std::getline(file, line);) {  // "0::/a/b"; version 1: "4:cpu,cpuacct:/a/b"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path.empty() || path.front() != '/' || path.find("/..") != std::string::npos) path = "/";
    Take(controllers.empty() ? mount : mount + "/" + controllers, path, group);
    std::istringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');)
      if (name != controllers) Take(mount + "/" + name, path, group);
  }
  return group;
}

}  // namespace retort::orchestrator::doctor
