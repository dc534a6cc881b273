#include "storage/attempt_logs.h"

#include <algorithm>
#include <map>

#include "storage/byte_codec.h"

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

}  // namespace

void AppendTranscript(RecordLog& transcript, const TranscriptRecord& record) {
  ByteWriter payload;
  payload.I64(record.step);
  payload.U32(static_cast<std::uint32_t>(record.released.size()));
  for (const TensorBlob& tensor : record.released) payload.Tensor(tensor);
  transcript.Append(static_cast<std::uint16_t>(TranscriptType::released), payload.bytes());
}

void AppendClosed(RecordLog& transcript, std::int64_t end) {
  ByteWriter payload;
  payload.I64(end);
  transcript.Append(static_cast<std::uint16_t>(TranscriptType::closed), payload.bytes());
}

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

std::vector<TranscriptRecord> Effective(std::vector<TranscriptRecord> written, std::int64_t first_step) {
  std::vector<TranscriptRecord> records;
  for (TranscriptRecord& record : written) {
    if (!records.empty() && record.step < records.back().step) {
      records.erase(
          std::find_if(records.begin(), records.end(),
                       [&](const TranscriptRecord& earlier) { return earlier.step >= record.step; }),
          records.end());
    }
    records.push_back(std::move(record));
  }
  std::erase_if(records, [&](const TranscriptRecord& record) { return record.step < first_step; });
  return records;
}

Result<std::vector<TranscriptRecord>> ReplayTranscript(const LogContents& contents, std::int64_t first_step,
                                                       const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(TranscriptPiece piece, DecodeTranscript(contents, path));
  return Effective(std::move(piece.records), first_step);
}

void AppendPoints(RecordLog& series, std::int64_t step,
                  const std::vector<std::pair<std::string, double>>& values) {
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

}  // namespace retort::storage
