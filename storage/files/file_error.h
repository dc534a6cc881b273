// System errors as sentences with a remedy, and the check that a large write leaves room on the disk.
#pragma once

#include <cstdint>
#include <string>

#include "experiments/base/status.h"
#include "storage/files/env.h"

namespace retort::storage {

// `error` is an errno value; `doing` a verb phrase ("write", "create"). Code: environment.
// A full disk, a read-only file system and a missing permission each have a message of their own.
[[nodiscard]] Status FileError(int error, const std::string& doing, const std::string& path);

inline constexpr std::uint64_t kSpareBytes = std::uint64_t{8} << 20;

// "0.2 MiB".
[[nodiscard]] std::string FormatMebibytes(std::uint64_t bytes);

// Error: environment, when the file system of `directory` has not `bytes` and kSpareBytes left. `what` is to
// be written: "a checkpoint".
[[nodiscard]] Status CheckFreeSpace(Env& env, const std::string& directory, std::uint64_t bytes,
                                    const std::string& what);

}  // namespace retort::storage
