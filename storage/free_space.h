// A write that would fill the disk is refused before it begins: what is left keeps the logs going.
#pragma once

#include <cstdint>
#include <string>

#include "experiments/spec/status.h"
#include "storage/env.h"

namespace retort::storage {

inline constexpr std::uint64_t kSpareBytes = std::uint64_t{8} << 20;

// "0.2 MiB".
[[nodiscard]] std::string MebibytesText(std::uint64_t bytes);

// Error: environment, when the file system of `directory` has not `bytes` and kSpareBytes left. `what` is to
// be written: "a checkpoint".
[[nodiscard]] Status CheckFreeSpace(Env& env, const std::string& directory, std::uint64_t bytes,
                                    const std::string& what);

}  // namespace retort::storage
