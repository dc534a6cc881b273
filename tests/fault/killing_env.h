// The real file system, with a place to die before and after everything that changes it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/files/env.h"

namespace retort::testing {

class KillingEnv final : public storage::Env {
 public:
  // `passed` is called at each place, on whatever thread comes to it, and need not return.
  explicit KillingEnv(std::function<void()> passed) : passed_(std::move(passed)) {}

  Result<std::unique_ptr<storage::AppendFile>> OpenAppend(const std::string& path) override {
    RETORT_ASSIGN_OR_RETURN(std::unique_ptr<storage::AppendFile> file, real_.OpenAppend(path));
    return std::unique_ptr<storage::AppendFile>(std::make_unique<Log>(passed_, std::move(file)));
  }
  Result<std::string> ReadFile(const std::string& path) override { return real_.ReadFile(path); }
  Status WriteFileAtomically(const std::string& path, std::string_view bytes) override {
    return Between([&] { return real_.WriteFileAtomically(path, bytes); });
  }
  Status PublishFile(const std::string& path, const std::function<Status(const std::string&)>& write) override {
    return Between([&] {
      return real_.PublishFile(path, [&](const std::string& temporary) {
        const Status status = write(temporary);
        passed_();
        return status;
      });
    });
  }
  Status Remove(const std::string& path) override {
    return Between([&] { return real_.Remove(path); });
  }
  Status CreateDirectories(const std::string& path) override { return real_.CreateDirectories(path); }
  Result<std::vector<std::string>> List(const std::string& directory) override { return real_.List(directory); }
  bool Exists(const std::string& path) override { return real_.Exists(path); }
  Result<std::unique_ptr<storage::FileLock>> Lock(const std::string& path) override { return real_.Lock(path); }
  Result<bool> IsLocked(const std::string& path) override { return real_.IsLocked(path); }

 private:
  class Log final : public storage::AppendFile {
   public:
    Log(const std::function<void()>& passed, std::unique_ptr<storage::AppendFile> file)
        : passed_(passed), file_(std::move(file)) {}
    Status Append(std::string_view bytes) override {
      passed_();
      return file_->Append(bytes);
    }
    Status Sync() override {
      passed_();
      const Status status = file_->Sync();
      passed_();
      return status;
    }
    Status Truncate(std::uint64_t size) override { return file_->Truncate(size); }

   private:
    const std::function<void()>& passed_;
    std::unique_ptr<storage::AppendFile> file_;
  };
  template <typename Change>
  Status Between(const Change& change) {
    passed_();
    const Status status = change();
    passed_();
    return status;
  }

  std::function<void()> passed_;
  storage::Env& real_ = storage::PosixEnv();
};

}  // namespace retort::testing
