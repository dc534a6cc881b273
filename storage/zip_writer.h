// A zip archive of stored entries, made in memory or piece by piece; zip64 where sizes ask for it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "experiments/spec/status.h"

namespace retort::storage {

// The bytes depend on what was added alone: times are those of 1980-01-01.
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
