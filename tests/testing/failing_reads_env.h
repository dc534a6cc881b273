// The real file system, of which some paths cannot be read or looked at: a device that fails, a circle of links, a file
// where a folder should be.
#pragma once

#include <string>
#include <utility>

#include "storage/files/env.h"

namespace retort::testing {

class FailingReadsEnv final : public storage::Env {
 public:
  // Of every path that ends in `ending`: `error` (an errno value), as long as anybody asks.
  FailingReadsEnv(std::string ending, int error) : ending_(std::move(ending)), error_(error) {}

  Result<std::unique_ptr<storage::AppendFile>> OpenAppend(const std::string& path) override {
    return Fails(path) ? Failure("open", path) : real_.OpenAppend(path);
  }
  Result<std::string> ReadFile(const std::string& path) override {
    return Fails(path) ? Failure("read", path) : real_.ReadFile(path);
  }
  Result<std::string> ReadSmallFile(const std::string& path, std::uint64_t most_bytes) override {
    return Fails(path) ? Failure("read", path) : real_.ReadSmallFile(path, most_bytes);
  }
  Result<std::unique_ptr<storage::InputFile>> OpenInput(const std::string& path) override {
    return Fails(path) ? Failure("open", path) : real_.OpenInput(path);
  }
  Result<storage::FileStamp> Stamp(const std::string& path) override {
    return Fails(path) ? Failure("look at", path) : real_.Stamp(path);
  }
  Result<std::vector<std::string>> List(const std::string& directory) override {
    return Fails(directory) ? Failure("list folder", directory) : real_.List(directory);
  }
  bool Exists(const std::string& path) override { return !Fails(path) && real_.Exists(path); }

  Status WriteFileAtomically(const std::string& path, std::string_view bytes) override {
    return real_.WriteFileAtomically(path, bytes);
  }
  Status PublishFile(const std::string& path, const std::function<Status(const std::string&)>& write) override {
    return real_.PublishFile(path, write);
  }
  Status Remove(const std::string& path) override { return real_.Remove(path); }
  Status CreateDirectories(const std::string& path) override { return real_.CreateDirectories(path); }
  Result<std::unique_ptr<storage::FileLock>> Lock(const std::string& path) override { return real_.Lock(path); }
  Result<bool> IsLocked(const std::string& path) override { return real_.IsLocked(path); }

 private:
  [[nodiscard]] bool Fails(const std::string& path) const { return path.ends_with(ending_); }
  [[nodiscard]] Status Failure(const char* doing, const std::string& path) const {
    return storage::FileError(error_, doing, path);
  }

  std::string ending_;
  int error_;
  storage::Env& real_ = storage::PosixEnv();
};

}  // namespace retort::testing
