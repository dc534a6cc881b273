// Finds what workers wrote to their log files during one attempt of a trial.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/core/core.h"

namespace retort::orchestrator {

// The log file of one seat: stderr and stdout of its workers, trial after trial.
[[nodiscard]] std::string GetWorkerLogPath(const std::string& results, int rank, int slot);

// Size of the file in bytes; 0 where there is none.
[[nodiscard]] std::uint64_t FindLogSize(const std::string& path);
// Reads the last bytes of the file, at most `most_bytes` and nothing before byte `from`.
[[nodiscard]] std::string ReadLogEnd(const std::string& path, std::uint64_t from, std::uint64_t most_bytes);
struct LogTail {
  std::string path;
  std::vector<std::string> lines;  // without control characters
};

// Reads the last lines of the file from byte `from` on, at most `most`; none where nothing was written since.
[[nodiscard]] LogTail ReadLogTail(const std::string& path, std::uint64_t from, std::size_t most);

class AttemptLogs {
 public:
  static constexpr std::size_t kLines = 10;   // of one worker
  static constexpr std::size_t kMembers = 3;  // of a gang

  // Remembers how long the log files are. Call it when the attempt has its seats and before its workers are told.
  void Leased(const Core& core, TrialId trial);
  // Forgets the attempt and returns what its workers wrote, of at most kMembers workers. `read`: false returns nothing.
  [[nodiscard]] std::vector<LogTail> Ended(TrialId trial, bool read);

 private:
  std::map<TrialId, std::vector<std::pair<std::string, std::uint64_t>>> begun_;  // (path, size at the lease)
};

}  // namespace retort::orchestrator
