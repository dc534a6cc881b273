#include "storage/log/attempt_logs.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "experiments/base/number_text.h"
#include "storage/files/path_status.h"
#include "storage/formats/byte_codec.h"

namespace retort::storage {
namespace {

// Append only: on disk.
enum class TranscriptType : std::uint16_t { released = 1, closed = 2 };
enum class SeriesType : std::uint16_t { points = 1, rewind = 2 };

Status Undecodable(const Record& record, const std::string& path) {
  return DamageError("'" + path + "' is damaged at byte " + std::to_string(record.offset) +
                     ": a record does not decode.");
}

bool DecodeReleased(ByteReader& reader, TranscriptRecord& record) {
  record.step = reader.I64();
  const std::uint32_t count = reader.U32();
  for (std::uint32_t i = 0; i < count && reader.ok(); ++i) record.released.push_back(reader.Tensor());
  return reader.ok() && reader.AtEnd();
}

using Points = std::map<std::int64_t, double>;

bool ReplayPoints(ByteReader& reader, std::map<std::string, Points>& curves) {
  const std::int64_t step = reader.I64();
  const std::uint32_t count = reader.U32();
  for (std::uint32_t i = 0; i < count && reader.ok(); ++i) {
    const std::string name = reader.Text();
    const double value = reader.F64();
    if (reader.ok()) curves[name][step] = value;
  }
  return reader.ok() && reader.AtEnd();
}

bool ReplayRewind(ByteReader& reader, std::map<std::string, Points>& curves) {
  const std::int64_t step = reader.I64();
  for (auto& [name, points] : curves) points.erase(points.upper_bound(step), points.end());
  return reader.ok() && reader.AtEnd();
}

// A transcript record of step s belongs to the work done in step s; a checkpoint counts completed
// steps. So records with step < checkpoint.step are covered by it and dropped on reading.
void AppendTranscript(RecordLog& transcript, const TranscriptRecord& record) {
  ByteWriter payload;
  payload.I64(record.step);
  payload.U32(static_cast<std::uint32_t>(record.released.size()));
  for (const TensorBlob& tensor : record.released) payload.Tensor(tensor);
  transcript.Append(static_cast<std::uint16_t>(TranscriptType::released), payload.bytes());
}

// The log holds every release of the steps below `end`, and takes no more: another one goes on from there.
void AppendClosed(RecordLog& transcript, std::int64_t end) {
  ByteWriter payload;
  payload.I64(end);
  transcript.Append(static_cast<std::uint16_t>(TranscriptType::closed), payload.bytes());
}

struct TranscriptPiece {
  std::vector<TranscriptRecord> records;  // as they were written
  std::optional<std::int64_t> end;        // where it was closed
};

// Error: damage, with the offset.
Result<TranscriptPiece> DecodeTranscript(const LogContents& contents, const std::string& path) {
  TranscriptPiece piece;
  for (const Record& stored : contents.records) {
    ByteReader reader(stored.payload);
    bool decoded = false;
    if (!piece.end && stored.type == static_cast<std::uint16_t>(TranscriptType::released))
      decoded = DecodeReleased(reader, piece.records.emplace_back());
    if (!piece.end && stored.type == static_cast<std::uint16_t>(TranscriptType::closed)) {
      piece.end = reader.I64();
      decoded = reader.ok() && reader.AtEnd();
    }
    if (!decoded) return Undecodable(stored, path);
  }
  return piece;
}

// `written`, in one log or in several that follow each other, as ReplayTranscript gives it.
std::vector<TranscriptRecord> DropReplaced(std::vector<TranscriptRecord> written, std::int64_t first_step) {
  std::vector<TranscriptRecord> records;
  for (TranscriptRecord& record : written) {
    if (!records.empty() && record.step < records.back().step) {
      records.erase(std::find_if(records.begin(), records.end(),
                                 [&](const TranscriptRecord& earlier) { return earlier.step >= record.step; }),
                    records.end());
    }
    records.push_back(std::move(record));
  }
  std::erase_if(records, [&](const TranscriptRecord& record) { return record.step < first_step; });
  return records;
}

}  // namespace

Result<std::vector<TranscriptRecord>> ReplayTranscript(const LogContents& contents, std::int64_t first_step,
                                                       const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(TranscriptPiece piece, DecodeTranscript(contents, path));
  return DropReplaced(std::move(piece.records), first_step);
}

void AppendPoints(RecordLog& series, std::int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  ByteWriter payload;
  payload.I64(step);
  payload.U32(static_cast<std::uint32_t>(values.size()));
  for (const auto& [name, value] : values) {
    payload.Text(name);
    payload.F64(value);
  }
  series.Append(static_cast<std::uint16_t>(SeriesType::points), payload.bytes());
}

void AppendRewind(RecordLog& series, std::int64_t step) {
  ByteWriter payload;
  payload.I64(step);
  series.Append(static_cast<std::uint16_t>(SeriesType::rewind), payload.bytes());
}

Result<Curves> ReplaySeries(const LogContents& contents, const std::string& path) {
  std::map<std::string, Points> curves;
  for (const Record& record : contents.records) {
    ByteReader reader(record.payload);
    bool decoded = false;
    if (record.type == static_cast<std::uint16_t>(SeriesType::points)) decoded = ReplayPoints(reader, curves);
    if (record.type == static_cast<std::uint16_t>(SeriesType::rewind)) decoded = ReplayRewind(reader, curves);
    if (!decoded) return Undecodable(record, path);
  }
  Curves result;
  for (const auto& [name, points] : curves) {
    if (!points.empty()) result[name].assign(points.begin(), points.end());
  }
  return result;
}

void AppendCurves(RecordLog& series, const Curves& curves, std::int64_t last_step) {
  std::map<std::int64_t, std::vector<std::pair<std::string, double>>> by_step;
  for (const auto& [name, points] : curves) {
    for (const auto& [step, value] : points) {
      if (step <= last_step) by_step[step].emplace_back(name, value);
    }
  }
  for (const auto& [step, values] : by_step) AppendPoints(series, step, values);
}

namespace {

constexpr std::string_view kUnnumbered = "transcript.log";
constexpr std::string_view kPrefix = "transcript-", kSuffix = ".log";

std::string FormatPieceName(std::int64_t base) {
  return std::string(kPrefix) + std::to_string(base) + std::string(kSuffix);
}

// The base of transcript-<base>.log; nothing for any other name.
std::optional<std::int64_t> ParseLogName(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  const auto base = ParseWholeNumber(name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size()));
  return base && FormatPieceName(*base) == name ? base : std::nullopt;
}

// Of the numbered logs, ascending.
Result<std::vector<std::int64_t>> ListBases(Env& env, const std::string& directory) {
  std::vector<std::int64_t> bases;
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(directory));
  for (const std::string& name : names)
    if (const std::optional<std::int64_t> base = ParseLogName(name)) bases.push_back(*base);
  std::sort(bases.begin(), bases.end());
  return bases;
}

// `base`: of the log.
Result<TranscriptPiece> ReadPiece(Env& env, const std::string& path, std::int64_t base) {
  RETORT_ASSIGN_OR_RETURN(const LogContents contents, ReadRecordLog(env, path, LogKind::transcript));
  RETORT_ASSIGN_OR_RETURN(TranscriptPiece piece, DecodeTranscript(contents, path));
  if (piece.end && *piece.end <= base)
    return DamageError("'" + path + "' is damaged: it ends before it begins, at step " + std::to_string(*piece.end) +
                       ".");
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
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::int64_t> bases, ListBases(env, directory));
  Chain chain;
  auto next = std::upper_bound(bases.begin(), bases.end(), step);
  if (next == bases.begin()) return chain;
  for (--next; next != bases.end() && (chain.bases.empty() || chain.end == *next); ++next) {
    Result<TranscriptPiece> piece = ReadPiece(env, directory + "/" + FormatPieceName(*next), *next);
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
  RETORT_ASSIGN_OR_RETURN(const bool there, PathExists(env, path));
  if (!newest || !there) return std::vector<TranscriptRecord>();
  RETORT_ASSIGN_OR_RETURN(TranscriptPiece piece, ReadPiece(env, path, 0));
  return DropReplaced(std::move(piece.records), step);
}

}  // namespace

bool IsTranscriptName(const std::string& name) { return name == kUnnumbered || ParseLogName(name).has_value(); }

Result<std::vector<std::string>> ListTranscriptLogs(Env& env, const std::string& directory) {
  std::vector<std::string> names;
  RETORT_ASSIGN_OR_RETURN(const bool unnumbered, PathExists(env, directory + "/" + std::string(kUnnumbered)));
  if (unnumbered) names.emplace_back(kUnnumbered);
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::int64_t> bases, ListBases(env, directory));
  for (const std::int64_t base : bases) names.push_back(FormatPieceName(base));
  return names;
}

Result<std::vector<TranscriptRecord>> ReadTranscript(Env& env, const std::string& directory, std::int64_t step,
                                                     bool newest) {
  RETORT_ASSIGN_OR_RETURN(const bool unnumbered, PathExists(env, directory + "/" + std::string(kUnnumbered)));
  if (unnumbered) {
    Result<std::vector<TranscriptRecord>> records = ReadUnnumbered(env, directory, step, newest);
    if (!records.ok() && records.status().code() == StatusCode::damage) return std::vector<TranscriptRecord>();
    return records;
  }
  RETORT_ASSIGN_OR_RETURN(Chain chain, FollowFrom(env, directory, step));
  return DropReplaced(std::move(chain.written), step);
}

Status TrimTranscript(Env& env, const std::string& directory) {
  RETORT_ASSIGN_OR_RETURN(std::vector<std::string> names, ListTranscriptLogs(env, directory));
  if (!names.empty()) names.pop_back();
  for (const std::string& name : names) RETORT_RETURN_IF_ERROR(env.Remove(directory + "/" + name));
  return {};
}

Result<std::unique_ptr<TranscriptLog>> TranscriptLog::Begin(Env& env, const std::string& directory, std::int64_t base,
                                                            const std::vector<TranscriptRecord>& records) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListTranscriptLogs(env, directory));
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

Result<std::unique_ptr<TranscriptLog>> TranscriptLog::Resume(Env& env, const std::string& directory, std::int64_t step,
                                                             bool newest) {
  RETORT_ASSIGN_OR_RETURN(const bool unnumbered, PathExists(env, directory + "/" + std::string(kUnnumbered)));
  if (unnumbered) {
    RETORT_ASSIGN_OR_RETURN(const std::vector<TranscriptRecord> records, ReadUnnumbered(env, directory, step, newest));
    return Begin(env, directory, step, records);
  }
  RETORT_ASSIGN_OR_RETURN(const Chain chain, FollowFrom(env, directory, step));
  RETORT_RETURN_IF_ERROR(chain.damage);
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::int64_t> bases, ListBases(env, directory));
  for (auto base = bases.rbegin(); base != bases.rend(); ++base) {
    if (!chain.bases.empty() && *base <= chain.bases.back()) break;
    RETORT_RETURN_IF_ERROR(env.Remove(directory + "/" + FormatPieceName(*base)));
  }
  std::unique_ptr<TranscriptLog> transcript(new TranscriptLog(env, directory));
  const std::int64_t last = chain.bases.empty() ? step : chain.end.value_or(chain.bases.back());
  RETORT_RETURN_IF_ERROR(transcript->Open(last));
  return transcript;
}

// Leaves the log of `base` ready to append.
Status TranscriptLog::Open(std::int64_t base) {
  const std::string path = directory_ + "/" + FormatPieceName(base);
  LogContents contents;
  RETORT_ASSIGN_OR_RETURN(log_, RecordLog::Open(env_, path, LogKind::transcript, &contents));
  RETORT_ASSIGN_OR_RETURN(const TranscriptPiece piece, DecodeTranscript(contents, path));
  base_ = base;
  end_ = piece.records.empty() ? 0 : piece.records.back().step + 1;
  return {};
}

Status TranscriptLog::Append(const std::vector<TranscriptRecord>& records) {
  for (const TranscriptRecord& record : records) AppendTranscript(*log_, record);
  RETORT_RETURN_IF_ERROR(log_->Sync());
  if (!records.empty()) end_ = records.back().step + 1;
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
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::int64_t> bases, ListBases(env_, directory_));
  for (std::size_t i = 0; i + 1 < bases.size() && bases[i + 1] <= oldest; ++i)
    RETORT_RETURN_IF_ERROR(env_.Remove(directory_ + "/" + FormatPieceName(bases[i])));
  return {};
}

}  // namespace retort::storage
