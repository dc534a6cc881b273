#include "storage/log/record_log.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "experiments/base/digests.h"
#include "storage/files/path_status.h"
#include "storage/formats/byte_codec.h"

namespace retort::storage {
namespace {

constexpr std::string_view kMagic("RETORTLG", 8);
constexpr std::size_t kHeaderBytes = 16;        // magic 8, version 2, kind 2, CRC-32C of those 12
constexpr std::size_t kRecordHeaderBytes = 10;  // length 4, CRC-32C 4, type 2
constexpr std::size_t kMaxPayloadBytes = std::size_t{1} << 30;
constexpr std::size_t kMaxSearchBytes = std::size_t{1} << 32;  // checksums of about a second

std::string EncodeHeader(LogKind kind) {
  ByteWriter header;
  header.Raw(kMagic);
  header.U16(kLogFormatVersion);
  header.U16(static_cast<std::uint16_t>(kind));
  header.U32(ComputeCrc32c(header.bytes()));
  return std::move(header).Take();
}

std::string KindName(std::uint16_t kind) {
  switch (static_cast<LogKind>(kind)) {
    case LogKind::journal:
      return "journal";
    case LogKind::ledger:
      return "ledger";
    case LogKind::series:
      return "series";
    case LogKind::transcript:
      return "transcript";
    case LogKind::manifest:
      return "manifest";
  }
  return "kind " + std::to_string(kind);
}

bool AllZero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == '\0'; });
}

// The checksum covers length, type and payload.
std::uint32_t RecordChecksum(std::uint32_t length, std::string_view type_and_payload) {
  ByteWriter prefix;
  prefix.U32(length);
  return ExtendCrc32c(ComputeCrc32c(prefix.bytes()), type_and_payload);
}

struct RecordHeader {
  std::uint32_t length = 0, checksum = 0;
};

RecordHeader HeaderAt(std::string_view bytes, std::size_t offset) {
  ByteReader reader(bytes.substr(offset, 8));
  RecordHeader header;
  header.length = reader.U32();
  header.checksum = reader.U32();
  return header;
}

// Whether the record at `offset` is whole if its length is `length`.
bool IsWhole(std::string_view bytes, std::size_t offset, std::size_t length) {
  if (length > kMaxPayloadBytes || bytes.size() - offset < kRecordHeaderBytes + length) return false;
  return HeaderAt(bytes, offset).checksum ==
         RecordChecksum(static_cast<std::uint32_t>(length), bytes.substr(offset + 8, 2 + length));
}

bool WholeRecordAt(std::string_view bytes, std::size_t offset) {
  return bytes.size() - offset >= kRecordHeaderBytes && IsWhole(bytes, offset, HeaderAt(bytes, offset).length);
}

// The bytes from `offset` are no whole record. An interrupted append leaves a prefix of one, or zeros
// where the file was grown and its data never reached the disk. Everything else is damage: a whole
// record further on, a record whose length alone is wrong, or one that fits and does not end in zeros. So is
// a tail in which so much looks like the beginning of a record that the search would not end in reasonable
// time.
bool IsTornTail(std::string_view bytes, std::size_t offset) {
  const std::size_t left = bytes.size() - offset;
  if (left < kRecordHeaderBytes) return true;
  if (AllZero(bytes.substr(offset))) return true;
  if (IsWhole(bytes, offset, left - kRecordHeaderBytes)) return false;
  std::size_t effort = kMaxSearchBytes;
  for (std::size_t next = offset + 1; next + kRecordHeaderBytes <= bytes.size(); ++next) {
    if (WholeRecordAt(bytes, next)) return false;
    const std::size_t checked = kRecordHeaderBytes + HeaderAt(bytes, next).length;
    if (checked > bytes.size() - next) continue;  // was not checked
    if (checked > effort) return false;
    effort -= checked;
  }
  const bool overruns = HeaderAt(bytes, offset).length > left - kRecordHeaderBytes;
  return overruns || bytes.back() == '\0';
}

Status Damaged(const std::string& path, std::size_t offset, const std::string& what) {
  return DamageError("'" + path + "' is damaged at byte " + std::to_string(offset) + ": " + what +
                     ". Restore the file from a copy, or run 'retort repair' to see what can be saved.");
}

// ok: the header is whole. Sets `torn` when nothing but the beginning of one is there.
Status CheckHeader(std::string_view bytes, const std::string& path, LogKind kind, bool& torn) {
  const std::string expected = EncodeHeader(kind);
  torn = false;
  if (bytes.substr(0, kHeaderBytes) == expected) return {};
  const std::string_view written = bytes.substr(0, bytes.find_last_not_of('\0') + 1);
  torn = written.size() < kHeaderBytes && expected.compare(0, written.size(), written) == 0;
  if (torn) return {};
  if (bytes.substr(0, kMagic.size()) != kMagic || bytes.size() < kHeaderBytes) {
    return Damaged(path, 0, "it does not begin with the header of a Retort log");
  }
  ByteReader reader(bytes.substr(kMagic.size(), 8));
  const std::uint16_t version = reader.U16();
  const std::uint16_t found = reader.U16();
  const bool intact = reader.U32() == ComputeCrc32c(bytes.substr(0, 12));
  const bool version_flipped = !intact && HeaderAt(bytes, 8).checksum == HeaderAt(expected, 8).checksum;
  if (version != kLogFormatVersion && !version_flipped) {
    return UsageError("'" + path + "' has log format version " + std::to_string(version) +
                      "; this retort reads version " + std::to_string(kLogFormatVersion) +
                      ". Use the retort that wrote it, or give this one another folder with --results DIR.");
  }
  if (!intact) return Damaged(path, 8, "the header's checksum does not hold");
  return UsageError("'" + path + "' is a Retort log of another kind (" + KindName(found) + ", expected " +
                    KindName(static_cast<std::uint16_t>(kind)) +
                    "): files of the results folder were mixed up; move it back.");
}

// From behind the header to the first record that is not whole.
void ReadWholeRecords(std::string_view bytes, LogContents& contents) {
  std::size_t offset = kHeaderBytes;
  while (offset < bytes.size() && WholeRecordAt(bytes, offset)) {
    const std::size_t length = HeaderAt(bytes, offset).length;
    Record record;
    record.type = ByteReader(bytes.substr(offset + 8, 2)).U16();
    record.payload = bytes.substr(offset + kRecordHeaderBytes, length);
    record.offset = offset;
    contents.records.push_back(record);
    offset += kRecordHeaderBytes + length;
  }
  contents.valid_bytes = offset;
  contents.torn_bytes = bytes.size() - offset;
}

Result<LogContents> ParseLog(std::shared_ptr<const std::string> file, const std::string& path, LogKind kind) {
  LogContents contents;
  const std::string_view bytes = *file;
  contents.bytes = std::move(file);
  bool torn_header = false;
  RETORT_RETURN_IF_ERROR(CheckHeader(bytes, path, kind, torn_header));
  if (torn_header) {
    contents.torn_bytes = bytes.size();
    return contents;
  }
  ReadWholeRecords(bytes, contents);
  if (contents.torn_bytes > 0 && !IsTornTail(bytes, contents.valid_bytes))
    return Damaged(path, contents.valid_bytes, "a record's checksum does not hold");
  return contents;
}

}  // namespace

Result<LogContents> ReadRecordLog(Env& env, const std::string& path, LogKind kind) {
  RETORT_ASSIGN_OR_RETURN(const bool there, PathExists(env, path));
  if (!there) return LogContents();
  RETORT_ASSIGN_OR_RETURN(std::string bytes, env.ReadFile(path));
  return ParseLog(std::make_shared<const std::string>(std::move(bytes)), path, kind);
}

Result<SalvagedLog> SalvageRecordLog(Env& env, const std::string& path, LogKind kind) {
  SalvagedLog salvaged;
  salvaged.whole = EncodeHeader(kind);
  RETORT_ASSIGN_OR_RETURN(const bool there, PathExists(env, path));
  if (!there) return salvaged;
  RETORT_ASSIGN_OR_RETURN(std::string read, env.ReadFile(path));
  const auto file = std::make_shared<const std::string>(std::move(read));
  const Result<LogContents> parsed = ParseLog(file, path, kind);
  if (!parsed.ok() && parsed.status().code() != StatusCode::damage) return parsed.status();
  salvaged.damage = parsed.status();
  salvaged.contents.bytes = file;
  salvaged.contents.valid_bytes = kHeaderBytes;
  salvaged.lost_bytes = file->size();
  if (file->size() < kHeaderBytes) return salvaged;
  ReadWholeRecords(*file, salvaged.contents);
  salvaged.lost_bytes = salvaged.contents.torn_bytes;
  salvaged.whole += file->substr(kHeaderBytes, salvaged.contents.valid_bytes - kHeaderBytes);
  return salvaged;
}

RecordLog::RecordLog(std::unique_ptr<AppendFile> file, std::string path, std::uint64_t size)
    : file_(std::move(file)), path_(std::move(path)), size_(size) {}

Result<std::unique_ptr<RecordLog>> RecordLog::Open(Env& env, const std::string& path, LogKind kind,
                                                   LogContents* contents) {
  RETORT_ASSIGN_OR_RETURN(LogContents found, ReadRecordLog(env, path, kind));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<AppendFile> file, env.OpenAppend(path));
  if (found.torn_bytes > 0) RETORT_RETURN_IF_ERROR(file->Truncate(found.valid_bytes));
  // What a killed process wrote need not be durable yet; what is read here others will build on.
  if (found.torn_bytes > 0 || found.valid_bytes > 0) RETORT_RETURN_IF_ERROR(file->Sync());
  if (found.valid_bytes == 0) {
    RETORT_RETURN_IF_ERROR(file->Append(EncodeHeader(kind)));
    found.valid_bytes = kHeaderBytes;
  }
  std::unique_ptr<RecordLog> log(new RecordLog(std::move(file), path, found.valid_bytes));
  if (contents != nullptr) *contents = std::move(found);
  return log;
}

void RecordLog::Append(std::uint16_t type, std::string_view payload) {
  RETORT_CHECK(payload.size() <= kMaxPayloadBytes);
  ByteWriter body;
  body.U16(type);
  body.Raw(payload);
  ByteWriter record;
  record.U32(static_cast<std::uint32_t>(payload.size()));
  record.U32(RecordChecksum(static_cast<std::uint32_t>(payload.size()), body.bytes()));
  record.Raw(body.bytes());
  buffer_ += record.bytes();
  size_ += record.bytes().size();
}

Status RecordLog::Sync() {
  RETORT_RETURN_IF_ERROR(poisoned_);
  if (buffer_.empty()) return {};
  Status status = file_->Append(buffer_);
  if (status.ok()) status = file_->Sync();
  if (!status.ok()) {
    poisoned_ = status;
    return status;
  }
  buffer_.clear();
  return {};
}

Status RecordLog::Reset() {
  RETORT_RETURN_IF_ERROR(poisoned_);
  if (buffer_.empty() && size_ == kHeaderBytes) return {};
  buffer_.clear();
  Status status = file_->Truncate(kHeaderBytes);
  if (status.ok()) status = file_->Sync();
  if (!status.ok()) {
    poisoned_ = status;
    return status;
  }
  size_ = kHeaderBytes;
  return {};
}

}  // namespace retort::storage
