#include "orchestrator/agent/worker_log_tail.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "experiments/base/printable.h"

namespace retort::orchestrator {
namespace {

constexpr std::uint64_t kMaxTailBytes = 64 * 1024;

}  // namespace

std::uint64_t FindLogSize(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

std::string ReadLogEnd(const std::string& path, std::uint64_t from, std::uint64_t most_bytes) {
  const std::uint64_t end = FindLogSize(path);
  if (end <= from) return "";
  from = std::max(from, end - std::min(end, most_bytes));
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(from));
  std::string text(static_cast<std::size_t>(end - from), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

std::string GetWorkerLogPath(const std::string& results, int rank, int slot) {
  return results + "/workers/rank" + std::to_string(rank) + "-slot" + std::to_string(slot) + ".log";
}

LogTail ReadLogTail(const std::string& path, std::uint64_t from, std::size_t most) {
  LogTail tail{path, {}};
  const std::string text = ReadLogEnd(path, from, kMaxTailBytes);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t line = std::min(text.find('\n', at), text.size());
    tail.lines.push_back(MakeOneLine(std::string_view(text).substr(at, line - at)));
    at = line + 1;
  }
  std::erase_if(tail.lines, [](const std::string& line) { return line.find_first_not_of(' ') == std::string::npos; });
  if (tail.lines.size() > most)
    tail.lines.erase(tail.lines.begin(), tail.lines.end() - static_cast<std::ptrdiff_t>(most));
  return tail;
}

void AttemptLogs::Leased(const Core& core, TrialId trial) {
  const ActiveAttempt* attempt = core.fleet.Find(trial);
  if (attempt == nullptr) return;
  auto& logs = begun_[trial];
  logs.clear();
  for (const Seat& seat : attempt->seats) {
    const std::string path = GetWorkerLogPath(core.settings().results, seat.rank.value, seat.slot);
    logs.emplace_back(path, FindLogSize(path));
  }
}

std::vector<LogTail> AttemptLogs::Ended(TrialId trial, bool read) {
  std::vector<LogTail> tails;
  const auto begun = begun_.extract(trial);
  if (begun.empty() || !read) return tails;
  for (const auto& [path, size] : begun.mapped()) {
    if (tails.size() == kMembers) break;
    LogTail tail = ReadLogTail(path, size, kLines);
    if (!tail.lines.empty()) tails.push_back(std::move(tail));
  }
  return tails;
}

}  // namespace retort::orchestrator
