// Append-only, checksummed record file: journal, ledger, series, transcript and manifest are all one.
// Bytes: storage/FORMAT.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "storage/files/env.h"

namespace retort::storage {

// Append only: in file headers.
enum class LogKind : std::uint16_t { journal = 1, ledger = 2, series = 3, transcript = 4, manifest = 5 };

inline constexpr std::uint16_t kLogFormatVersion = 1;

struct Record {
  std::uint16_t type = 0;    // meaning belongs to the log's kind
  std::string_view payload;  // in the bytes of its LogContents
  std::uint64_t offset = 0;  // of the record's first byte in the file
};

struct LogContents {
  std::shared_ptr<const std::string> bytes;  // of the file; empty when it is absent
  std::vector<Record> records;
  std::uint64_t valid_bytes = 0;  // prefix made of whole records
  std::uint64_t torn_bytes = 0;   // after it, cut by the next writer
};

// An absent file has no records. A torn tail is no error. Error: damage, with the offset, for anything
// wrong before the tail; usage for another kind or a newer format version.
[[nodiscard]] Result<LogContents> ReadRecordLog(Env& env, const std::string& path, LogKind kind);

// What can be saved of a log that may be damaged: its whole records from the front.
struct SalvagedLog {
  LogContents contents;          // valid_bytes and offsets as in `whole`
  std::string whole;             // a good header and these records: what a repaired file holds
  Status damage;                 // what ReadRecordLog would say; ok with a torn tail
  std::uint64_t lost_bytes = 0;  // behind these records, torn or damaged
};
// Error: environment; usage for another kind or format version, which is no damage.
[[nodiscard]] Result<SalvagedLog> SalvageRecordLog(Env& env, const std::string& path, LogKind kind);

// One writer per file. Not thread-safe.
class RecordLog {
 public:
  // Reads what is there, cuts a torn tail, and leaves the log ready to append. `contents`, when not
  // null, receives what was read.
  [[nodiscard]] static Result<std::unique_ptr<RecordLog>> Open(Env& env, const std::string& path, LogKind kind,
                                                               LogContents* contents = nullptr);
  // Buffered until Sync; the records of one Sync are one group commit.
  void Append(std::uint16_t type, std::string_view payload);
  // Writes and fdatasyncs everything appended. After an error the log refuses all further use: what
  // is on disk is a prefix of what was appended.
  [[nodiscard]] Status Sync();
  // Removes every record.
  [[nodiscard]] Status Reset();
  [[nodiscard]] std::uint64_t size() const { return size_; }  // bytes, synced and buffered

 private:
  RecordLog(std::unique_ptr<AppendFile> file, std::string path, std::uint64_t size);
  std::unique_ptr<AppendFile> file_;
  std::string path_;
  std::string buffer_;
  std::uint64_t size_ = 0;
  Status poisoned_;
};

}  // namespace retort::storage
