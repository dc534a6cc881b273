// Tar archives: the fields of their headers, and the members of a plain one (ustar, GNU, pax), where small ones of
// known names are looked for. FileTree (storage/datasets) indexes the others. Written: ustar archives of small files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "experiments/base/status.h"
#include "storage/files/env.h"

namespace retort::storage {

inline constexpr std::size_t kTarBlock = 512;  // bytes; headers have as many, and members are padded to a multiple

// Up to the first NUL.
[[nodiscard]] std::string_view ReadTarText(std::string_view field);
// Octal digits, or, with the highest bit set, a big-endian number as GNU writes large ones. Error: damage, as a clause:
// "is no octal number".
[[nodiscard]] Result<std::uint64_t> ParseTarNumber(std::string_view field);
// Whether the checksum in a header of kTarBlock bytes is that of the header.
[[nodiscard]] bool TarChecksumFits(std::string_view block);

struct TarMember {
  std::uint64_t offset = 0, size = 0;  // of its bytes, in the file
};

// Regular files by name, without a leading "./". At most 4096 headers are read.
// Errors, naming file and offset: damage (checksum of a header, cut short), refused (more members, two of one
// name).
[[nodiscard]] Result<std::map<std::string, TarMember>> ReadTarMembers(const InputFile& file, const std::string& name);

// A regular file of an archive in the ustar format: header, contents, padding. Equal members give equal bytes: mode
// 644, no owner, all times 0. REQUIRES: a name of 1 to 100 bytes, and less than 8 GiB.
[[nodiscard]] std::string EncodeTarMember(const std::string& name, std::string_view contents);
// What follows the last member.
[[nodiscard]] std::string EncodeTarEnd();

// Do these first bytes hold a tar header whose checksum fits?
[[nodiscard]] bool LooksLikeTar(std::string_view head);

}  // namespace retort::storage
