// Files of the real file system that are read anywhere in, by any thread.
#pragma once

#include <memory>
#include <string>

#include "storage/env.h"

namespace retort::storage {

// As Env::OpenRandom; a pipe is not waited for.
[[nodiscard]] Result<std::unique_ptr<RandomAccessFile>> OpenPosixRandom(const std::string& path);
// As Env::Stamp.
[[nodiscard]] Result<FileStamp> PosixStamp(const std::string& path);

}  // namespace retort::storage
