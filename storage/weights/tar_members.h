// The members of a plain tar archive (ustar, GNU, pax), where small ones of known names are looked for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "experiments/spec/status.h"
#include "storage/env.h"

namespace retort::storage {

struct TarMember {
  std::uint64_t offset = 0, size = 0;  // of its bytes, in the file
};

// Regular files by name, without a leading "./". At most 4096 headers are read.
// Errors, naming file and offset: damage (checksum of a header, cut short), refused (more members, two of one
// name).
[[nodiscard]] Result<std::map<std::string, TarMember>> ReadTarMembers(const InputFile& file,
                                                                      const std::string& name);

// Do these first bytes hold a tar header whose checksum fits?
[[nodiscard]] bool LooksLikeTar(std::string_view head);

}  // namespace retort::storage
