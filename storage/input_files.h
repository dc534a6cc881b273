// Files that are read in pieces, and what tells their states apart.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "storage/env.h"

namespace retort::storage {

// `bytes` as a file; `path` is for messages.
[[nodiscard]] std::unique_ptr<InputFile> FileInMemory(std::string path, std::string bytes);
// `count` bytes at `offset`. Errors: of InputFile::ReadAt; nothing is allocated for bytes behind its end.
[[nodiscard]] Result<std::string> ReadBytes(const InputFile& file, std::uint64_t offset, std::uint64_t count);
// All of a file that must be a plain one: a pipe is not waited for, a device is not read. Error: environment.
[[nodiscard]] Result<std::string> ReadPlainFile(Env& env, const std::string& path);
// As Env::Stamp, of the real file system.
[[nodiscard]] Result<FileStamp> PosixStamp(const std::string& path);

}  // namespace retort::storage
