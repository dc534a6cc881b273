#include "orchestrator/cli/commands/output_file.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "storage/files/atomic_file.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::uint64_t kMarkWithin = 512;  // bytes

Result<bool> HasMark(storage::Env& env, const std::string& path, std::string_view mark) {
  RETORT_ASSIGN_OR_RETURN(const auto file, env.OpenInput(path));
  if (file->size() == 0) return true;
  std::string begins(static_cast<std::size_t>(std::min(file->size(), kMarkWithin)), '\0');
  RETORT_RETURN_IF_ERROR(file->ReadAt(0, begins.size(), begins.data()));
  return begins.find(mark) != std::string::npos;
}

Status Taken(const std::string& path, const OutputRule& rule) {
  std::string message = path + " is there already";
  if (!rule.mark.empty()) message += " and is no " + std::string(rule.kind) + " of retort's";
  return UsageError(message + (rule.can_force ? "; --force writes over it." : "; give another name with --out."));
}

}  // namespace

Status CheckOutput(storage::Env& env, const std::string& path, const OutputRule& rule) {
  if (path.ends_with('/')) return UsageError(path + " names a folder; a file is written.");
  if (std::string obstacle = storage::DescribeObstacle(path); !obstacle.empty()) return UsageError(std::move(obstacle));
  if (rule.force || !env.Exists(path)) return {};
  if (rule.mark.empty()) return Taken(path, rule);
  RETORT_ASSIGN_OR_RETURN(const bool ours, HasMark(env, path, rule.mark));
  return ours ? Status() : Taken(path, rule);
}

Status WriteOutput(storage::Env& env, const std::string& path, std::string_view bytes, const OutputRule& rule) {
  RETORT_RETURN_IF_ERROR(CheckOutput(env, path, rule));
  if (env.Exists(path)) return env.WriteFileAtomically(path, bytes);
  return storage::WriteNewFile(path, bytes);
}

}  // namespace retort::orchestrator::cli
