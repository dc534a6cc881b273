// What workers wrote to their logs while a trial was theirs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/core.h"

namespace retort::orchestrator {

// stderr and stdout of the workers of one seat, all trials after each other.
[[nodiscard]] std::string WorkerLogPath(const std::string& results, int rank, int slot);

struct LogTail {
  std::string path;
  std::vector<std::string> lines;  // without control characters
};

// The last lines of the file from byte `from` on, at most `most`; none where nothing was written since.
[[nodiscard]] LogTail TailOf(const std::string& path, std::uint64_t from, std::size_t most);

class AttemptLogs {
 public:
  static constexpr std::size_t kLines = 10;   // of one worker
  static constexpr std::size_t kMembers = 3;  // of a gang

  // The attempt has its seats and its workers do not know yet.
  void Leased(const Core& core, TrialId trial);
  // It is over: forgets it, and returns what its workers wrote, the first kMembers of those who wrote. `read`:
  // false when nobody wants to know.
  [[nodiscard]] std::vector<LogTail> Ended(TrialId trial, bool read);

 private:
  std::map<TrialId, std::vector<std::pair<std::string, std::uint64_t>>> begun_;  // (path, size at the lease)
};

}  // namespace retort::orchestrator
