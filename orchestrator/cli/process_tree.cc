#include "orchestrator/cli/process_tree.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

namespace retort::orchestrator::cli {
namespace {

struct Entry {
  LiveProcess process;
  pid_t parent = 0;
};

// "pid (name) state parent ...": the name may hold blanks and parentheses. False when it is gone, or a
// zombie.
bool ReadEntry(const std::string& pid, Entry& entry) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  if (!std::getline(file, text)) return false;
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return false;
  entry.process.pid = static_cast<pid_t>(std::atoi(pid.c_str()));
  entry.process.name = text.substr(open + 1, close - open - 1);
  std::istringstream rest(text.substr(close + 1));
  char state = 'Z';
  rest >> state >> entry.parent;
  entry.process.state = state;
  return state != 'Z' && state != 'X';
}

}  // namespace

std::vector<LiveProcess> Descendants() {
  std::multimap<pid_t, LiveProcess> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  while (const dirent* item = folder != nullptr ? ::readdir(folder.get()) : nullptr) {
    const std::string name = item->d_name;
    Entry entry;
    if (name.find_first_not_of("0123456789") == std::string::npos && ReadEntry(name, entry))
      children.emplace(entry.parent, entry.process);
  }
  std::vector<LiveProcess> found;
  std::vector<pid_t> open = {::getpid()};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto child = first; child != last; ++child) {
      found.push_back(child->second);
      open.push_back(child->second.pid);
    }
  }
  std::sort(found.begin(), found.end(),
            [](const LiveProcess& a, const LiveProcess& b) { return a.pid < b.pid; });
  return found;
}

void AdoptOrphans() { static_cast<void>(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)); }

}  // namespace retort::orchestrator::cli
