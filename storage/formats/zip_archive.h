// Zip archives. Read: as torch.save and numpy.savez write them, stored or deflated entries, also beyond 4 GiB (zip64).
// Written: stored entries, zip64 where sizes ask for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "storage/files/env.h"

namespace retort::storage {

struct ZipEntry {
  std::string name;
  std::uint64_t header = 0;  // offset of the local header in the file
  std::uint64_t data = 0;    // offset of the first byte of contents as stored
  std::uint64_t stored = 0;  // bytes in the file
  std::uint64_t bytes = 0;   // bytes of contents
  std::uint32_t crc = 0;
  bool deflated = false;
};

// Receives the next piece of contents.
using TakeBytes = std::function<Status(std::string_view)>;

// Errors are damage, naming file and offset, except where said.
class ZipFile {
 public:
  // Reads the directory and every local header. `name` stands in messages. Refused are archives in several
  // parts, encrypted entries, other methods than stored and deflated, two entries of one name, entries that
  // overlap each other or the directory, and more than 2^18 entries.
  [[nodiscard]] static Result<ZipFile> Open(std::shared_ptr<const InputFile> file, std::string name);

  [[nodiscard]] const std::vector<ZipEntry>& entries() const { return entries_; }  // in the order of the file
  [[nodiscard]] const ZipEntry* Find(std::string_view entry) const;                // null: there is none
  // The contents in pieces of at most 256 KiB. Never more than `entry.bytes`; fewer, or a wrong checksum, is
  // an error at the end, after which the pieces must be thrown away. Error: also what `take` says.
  [[nodiscard]] Status Stream(const ZipEntry& entry, const TakeBytes& take) const;
  // Error: refused, before anything is read, for contents of more than `max_bytes`, or of more than their
  // packed bytes are unpacked to (storage/files/read_limits.h); environment when the memory does not suffice.
  [[nodiscard]] Result<std::string> Read(const ZipEntry& entry, std::uint64_t max_bytes) const;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const InputFile& file() const { return *file_; }

 private:
  ZipFile(std::shared_ptr<const InputFile> file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  [[nodiscard]] Status ReadDirectory();
  [[nodiscard]] Status LocateData(ZipEntry& entry) const;
  [[nodiscard]] Status CheckLayout(std::uint64_t directory);

  std::shared_ptr<const InputFile> file_;
  std::string name_;
  std::vector<ZipEntry> entries_;
  std::vector<std::size_t> by_name_;  // positions in entries_, sorted by name
};

// Whether the bytes begin as a zip archive does.
[[nodiscard]] bool LooksLikeZip(std::string_view head);

// Equal entries give equal bytes: all times are 1980-01-01.
class ZipWriter {
 public:
  // Contents begin at a multiple of `alignment` (1 = anywhere; at most 4096), by an extra field as torch.save
  // writes it.
  explicit ZipWriter(std::uint32_t alignment = 1) : alignment_(alignment) {}

  // Error: refused, for a name that is empty, longer than 65,535 bytes, or there already.
  [[nodiscard]] Status Add(const std::string& name, std::string_view contents);
  // The archive; nothing may be added after it.
  [[nodiscard]] std::string Finish() &&;

 private:
  std::uint32_t alignment_;
  std::string bytes_, directory_;
  std::uint64_t entries_ = 0;
  std::set<std::string> names_;
};

}  // namespace retort::storage
