#include "storage/transcript.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "storage/attempt_logs.h"
#include "storage/presence.h"

namespace retort::storage {
namespace {

constexpr std::string_view kUnnumbered = "transcript.log";
constexpr std::string_view kPrefix = "transcript-", kSuffix = ".log";

std::string NameOf(std::int64_t base) {
  return std::string(kPrefix) + std::to_string(base) + std::string(kSuffix);
}

// The base of transcript-<base>.log; nothing for any other name.
std::optional<std::int64_t> BaseOf(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  std::int64_t base = 0;
  const char* end = name.data() + name.size() - kSuffix.size();
  const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, base);
  if (parsed.ec != std::errc() || parsed.ptr != end || base < 0 || NameOf(base) != name) return std::nullopt;
  return base;
}

// Of the numbered logs, ascending.
Result<std::vector<std::int64_t>> BasesIn(Env& env, const std::string& directory) {
  std::vector<std::int64_t> bases;
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(directory));
  for (const std::string& name : names)
    if (const std::optional<std::int64_t> base = BaseOf(name)) bases.push_back(*base);
  std::sort(bases.begin(), bases.end());
  return bases;
}

// `base`: of the log.
Result<TranscriptPiece> ReadPiece(Env& env, const std::string& path, std::int64_t base) {
  RETORT_ASSIGN_OR_RETURN(const LogContents contents, ReadRecordLog(env, path, LogKind::transcript));
  RETORT_ASSIGN_OR_RETURN(TranscriptPiece piece, DecodeTranscript(contents, path));
  if (piece.end && *piece.end <= base)
    return DamageError("'" + path + "' is damaged: it ends before it begins, at step " + std::to_string(*piece.end) + ".");
  return piece;
}

// The logs that go on from a checkpoint without a gap.
struct Chain {
  std::vector<std::int64_t> bases;        // ascending; the first is at or below the checkpoint's step
  std::vector<TranscriptRecord> written;  // in all of them
  std::optional<std::int64_t> end;        // where the last was closed
  Status damage;                          // of the log that would be next
};

Result<Chain> FollowFrom(Env& env, const std::string& directory, std::int64_t step) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::int64_t> bases, BasesIn(env, directory));
  Chain chain;
  auto next = std::upper_bound(bases.begin(), bases.end(), step);
  if (next == bases.begin()) return chain;
  for (--next; next != bases.end() && (chain.bases.empty() || chain.end == *next); ++next) {
    Result<TranscriptPiece> piece = ReadPiece(env, directory + "/" + NameOf(*next), *next);
    if (!piece.ok() && piece.status().code() != StatusCode::damage) return piece.status();
    chain.damage = piece.status();
    if (!piece.ok()) break;
    chain.bases.push_back(*next);
    std::move(piece->records.begin(), piece->records.end(), std::back_inserter(chain.written));
    chain.end = piece->end;
  }
  return chain;
}

// What an older version wrote, if it goes on from the checkpoint. Error: damage or environment.
Result<std::vector<TranscriptRecord>> ReadUnnumbered(Env& env, const std::string& directory, std::int64_t step,
                                                     bool newest) {
  const std::string path = directory + "/" + std::string(kUnnumbered);
  RETORT_ASSIGN_OR_RETURN(const bool there, IsThere(env, path));
  if (!newest || !there) return std::vector<TranscriptRecord>();
  RETORT_ASSIGN_OR_RETURN(TranscriptPiece piece, ReadPiece(env, path, 0));
  return Effective(std::move(piece.records), step);
}

}  // namespace

bool IsTranscriptName(const std::string& name) { return name == kUnnumbered || BaseOf(name).has_value(); }

Result<std::vector<std::string>> TranscriptNames(Env& env, const std::string& directory) {
  std::vector<std::string> names;
  RETORT_ASSIGN_OR_RETURN(const bool unnumbered, IsThere(env, directory + "/" + std::string(kUnnumbered)));
  if (unnumbered) names.emplace_back(kUnnumbered);
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::int64_t> bases, BasesIn(env, directory));
  for (const std::int64_t base : bases) names.push_back(NameOf(base));
  return names;
}

Result<std::vector<TranscriptRecord>> ReadTranscript(Env& env, const std::string& directory, std::int64_t step,
                                                     bool newest) {
  RETORT_ASSIGN_OR_RETURN(const bool unnumbered, IsThere(env, directory + "/" + std::string(kUnnumbered)));
  if (unnumbered) {
    Result<std::vector<TranscriptRecord>> records = ReadUnnumbered(env, directory, step, newest);
    if (!records.ok() && records.status().code() == StatusCode::damage) return std::vector<TranscriptRecord>();
    return records;
  }
  RETORT_ASSIGN_OR_RETURN(Chain chain, FollowFrom(env, directory, step));
  return Effective(std::move(chain.written), step);
}

Status TrimTranscript(Env& env, const std::string& directory) {
  RETORT_ASSIGN_OR_RETURN(std::vector<std::string> names, TranscriptNames(env, directory));
  if (!names.empty()) names.pop_back();
  for (const std::string& name : names) RETORT_RETURN_IF_ERROR(env.Remove(directory + "/" + name));
  return {};
}

Result<std::unique_ptr<TranscriptLog>> TranscriptLog::Begin(Env& env, const std::string& directory,
                                                            std::int64_t base,
                                                            const std::vector<TranscriptRecord>& records) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, TranscriptNames(env, directory));
  for (const std::string& name : names)
    if (name != kUnnumbered) RETORT_RETURN_IF_ERROR(env.Remove(directory + "/" + name));
  std::unique_ptr<TranscriptLog> transcript(new TranscriptLog(env, directory));
  RETORT_RETURN_IF_ERROR(transcript->Open(base));
  for (const TranscriptRecord& record : records) AppendTranscript(*transcript->log_, record);
  if (!records.empty()) transcript->end_ = records.back().step + 1;
  RETORT_RETURN_IF_ERROR(transcript->log_->Sync());
  // The last to go: until then it is what counts.
  RETORT_RETURN_IF_ERROR(env.Remove(directory + "/" + std::string(kUnnumbered)));
  return transcript;
}

Result<std::unique_ptr<TranscriptLog>> TranscriptLog::Resume(Env& env, const std::string& directory,
                                                             std::int64_t step, bool newest) {
  RETORT_ASSIGN_OR_RETURN(const bool unnumbered, IsThere(env, directory + "/" + std::string(kUnnumbered)));
  if (unnumbered) {
    RETORT_ASSIGN_OR_RETURN(const std::vector<TranscriptRecord> records,
                            ReadUnnumbered(env, directory, step, newest));
    return Begin(env, directory, step, records);
  }
  RETORT_ASSIGN_OR_RETURN(const Chain chain, FollowFrom(env, directory, step));
  RETORT_RETURN_IF_ERROR(chain.damage);
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::int64_t> bases, BasesIn(env, directory));
  for (auto base = bases.rbegin(); base != bases.rend(); ++base) {
    if (!chain.bases.empty() && *base <= chain.bases.back()) break;
    RETORT_RETURN_IF_ERROR(env.Remove(directory + "/" + NameOf(*base)));
  }
  std::unique_ptr<TranscriptLog> transcript(new TranscriptLog(env, directory));
  const std::int64_t last = chain.bases.empty() ? step : chain.end.value_or(chain.bases.back());
  RETORT_RETURN_IF_ERROR(transcript->Open(last));
  return transcript;
}

// Leaves the log of `base` ready to append.
Status TranscriptLog::Open(std::int64_t base) {
  const std::string path = directory_ + "/" + NameOf(base);
  LogContents contents;
  RETORT_ASSIGN_OR_RETURN(log_, RecordLog::Open(env_, path, LogKind::transcript, &contents));
  RETORT_ASSIGN_OR_RETURN(const TranscriptPiece piece, DecodeTranscript(contents, path));
  base_ = base;
  end_ = piece.records.empty() ? 0 : piece.records.back().step + 1;
  return {};
}

Status TranscriptLog::Append(const TranscriptRecord& record) {
  AppendTranscript(*log_, record);
  RETORT_RETURN_IF_ERROR(log_->Sync());
  end_ = record.step + 1;
  return {};
}

Status TranscriptLog::Committed(std::int64_t step, std::int64_t oldest) {
  if (end_ > 0 && end_ <= step && step > base_) {
    AppendClosed(*log_, step);
    RETORT_RETURN_IF_ERROR(log_->Sync());
    RETORT_RETURN_IF_ERROR(Open(step));
  }
  return Prune(oldest);
}

// A log is needed while some checkpoint lies below the base of the next.
Status TranscriptLog::Prune(std::int64_t oldest) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::int64_t> bases, BasesIn(env_, directory_));
  for (std::size_t i = 0; i + 1 < bases.size() && bases[i + 1] <= oldest; ++i)
    RETORT_RETURN_IF_ERROR(env_.Remove(directory_ + "/" + NameOf(bases[i])));
  return {};
}

}  // namespace retort::storage
