#include "storage/results/attempt_import.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "storage/log/attempt_logs.h"

namespace retort::storage {
namespace {

constexpr std::string_view kAttemptPrefix = "attempt-";

std::optional<std::uint32_t> AttemptNumber(const std::string& name) {
  if (name.compare(0, kAttemptPrefix.size(), kAttemptPrefix) != 0) return std::nullopt;
  std::uint32_t number = 0;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + kAttemptPrefix.size(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return number;
}

Result<ManifestState> ReadManifest(Env& env, const std::string& directory) {
  const std::string path = directory + "/manifest.log";
  RETORT_ASSIGN_OR_RETURN(const LogContents contents, ReadRecordLog(env, path, LogKind::manifest));
  return ReplayManifest(contents, path);
}

Status ReadEarlierCurves(Env& env, const std::string& directory, EarlierState& state) {
  const std::string series = directory + "/series.log";
  RETORT_ASSIGN_OR_RETURN(const LogContents points, ReadRecordLog(env, series, LogKind::series));
  RETORT_ASSIGN_OR_RETURN(state.curves, ReplaySeries(points, series));
  return {};
}

// from == 0 when the attempt has no checkpoint that holds.
Result<EarlierState> FindCheckpoint(Env& env, const std::string& directory, std::uint32_t attempt) {
  RETORT_ASSIGN_OR_RETURN(const ManifestState manifest, ReadManifest(env, directory));
  EarlierState state;
  for (auto candidate = manifest.live.rbegin(); candidate != manifest.live.rend(); ++candidate) {
    RETORT_ASSIGN_OR_RETURN(std::optional<std::string> bytes, ReadIfIntact(env, directory, *candidate));
    if (!bytes) continue;
    const bool newest = candidate == manifest.live.rbegin();
    RETORT_RETURN_IF_ERROR(ReadEarlierCurves(env, directory, state));
    RETORT_ASSIGN_OR_RETURN(state.transcript, ReadTranscript(env, directory, candidate->step, newest));
    state.from = attempt;
    state.checkpoint = *candidate;
    state.bytes = std::move(*bytes);
    return state;
  }
  return state;
}

// from == 0 when no transcript of the attempt continues the beginning, or it released nothing.
Result<EarlierState> FindBeginning(Env& env, const std::string& directory, std::uint32_t attempt) {
  RETORT_ASSIGN_OR_RETURN(const ManifestState manifest, ReadManifest(env, directory));
  EarlierState state;
  const bool finished = manifest.ever_committed && manifest.live.empty();
  if (!manifest.begun || finished) return state;
  RETORT_RETURN_IF_ERROR(ReadEarlierCurves(env, directory, state));
  RETORT_ASSIGN_OR_RETURN(state.transcript, ReadTranscript(env, directory, 0, !manifest.ever_committed));
  state.from = state.transcript.empty() ? 0 : attempt;
  return state;
}

// A later attempt that began from a copy of the checkpoint and lost the copy knows what was released after it, too.
Status TakeLaterReleases(Env& env, const std::string& trial_directory, const std::vector<std::uint32_t>& attempts,
                         EarlierState& state) {
  for (const std::uint32_t number : attempts) {
    if (number <= state.from) break;
    const std::string directory = AttemptDirectory(trial_directory, number);
    const Result<ManifestState> manifest = ReadManifest(env, directory);
    if (!manifest.ok() && manifest.status().code() != StatusCode::damage) return manifest.status();
    if (!manifest.ok() || !manifest->imported || manifest->imported->sha256 != state.checkpoint->sha256) continue;
    RETORT_ASSIGN_OR_RETURN(std::vector<TranscriptRecord> later,
                            ReadTranscript(env, directory, state.checkpoint->step, false));
    if (later.size() <= state.transcript.size()) continue;
    state.transcript = std::move(later);
    return {};
  }
  return {};
}

}  // namespace

std::string AttemptDirectory(const std::string& trial_directory, std::uint32_t attempt) {
  return trial_directory + "/" + std::string(kAttemptPrefix) + std::to_string(attempt);
}

Result<std::vector<std::uint32_t>> ListEarlierAttempts(Env& env, const std::string& trial_directory,
                                                       std::uint32_t attempt) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(trial_directory));
  std::vector<std::uint32_t> attempts;
  for (const std::string& name : names) {
    if (const std::optional<std::uint32_t> number = AttemptNumber(name); number && *number < attempt) {
      attempts.push_back(*number);
    }
  }
  std::sort(attempts.rbegin(), attempts.rend());
  return attempts;
}

Result<EarlierState> FindEarlierState(Env& env, const std::string& trial_directory, std::uint32_t attempt) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> attempts,
                          ListEarlierAttempts(env, trial_directory, attempt));
  for (const auto& look : {FindCheckpoint, FindBeginning}) {
    for (const std::uint32_t number : attempts) {
      Result<EarlierState> state = look(env, AttemptDirectory(trial_directory, number), number);
      if (!state.ok() && state.status().code() == StatusCode::damage) continue;
      if (state.ok() && state->from == 0) continue;
      if (state.ok() && state->checkpoint)
        RETORT_RETURN_IF_ERROR(TakeLaterReleases(env, trial_directory, attempts, *state));
      return state;
    }
  }
  return EarlierState();
}

}  // namespace retort::storage
