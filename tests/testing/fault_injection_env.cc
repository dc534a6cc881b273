#include "tests/testing/fault_injection_env.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "storage/files/env.h"
#include "tests/testing/temporary_directory.h"

namespace retort::testing {
namespace {

std::string GetFolder(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

Status Stopped() { return EnvironmentError("the process was stopped here"); }

}  // namespace

class FaultInjectionEnv::OpenFile final : public storage::AppendFile {
 public:
  OpenFile(FaultInjectionEnv& env, std::string path, std::shared_ptr<File> file)
      : env_(env), path_(std::move(path)), file_(std::move(file)) {}

  Status Append(std::string_view bytes) override {
    const std::lock_guard lock(*env_.mutex_);
    bool half = false;
    const Status status = env_.Begin(&half);
    if (status.ok()) file_->live += bytes;
    if (half) file_->live += bytes.substr(0, bytes.size() / 2);
    return status;
  }
  Status Sync() override {
    const std::lock_guard lock(*env_.mutex_);
    RETORT_RETURN_IF_ERROR(env_.Begin());
    if (!env_.Forgets(path_)) file_->synced = file_->live;
    return {};
  }
  Status Truncate(std::uint64_t size) override {
    const std::lock_guard lock(*env_.mutex_);
    RETORT_RETURN_IF_ERROR(env_.Begin());
    file_->live.resize(size);
    return {};
  }

 private:
  FaultInjectionEnv& env_;
  std::string path_;
  std::shared_ptr<File> file_;
};

class FaultInjectionEnv::HeldLock final : public storage::FileLock {
 public:
  HeldLock(std::shared_ptr<std::set<std::string>> locked, std::string path)
      : locked_(std::move(locked)), path_(std::move(path)) {}
  ~HeldLock() override { locked_->erase(path_); }

 private:
  std::shared_ptr<std::set<std::string>> locked_;
  std::string path_;
};

void FaultInjectionEnv::FailAt(int operation, Status error) {
  fail_at_ = operation;
  failure_ = std::move(error);
}

void FaultInjectionEnv::ClearFaults() {
  standing_ = Status();
  fail_at_ = -1;
}

void FaultInjectionEnv::Stop() {
  const std::lock_guard lock(*mutex_);
  stopped_ = true;
}

bool FaultInjectionEnv::Forgets(const std::string& path) const {
  return !forgotten_.empty() && path.substr(path.find_last_of('/') + 1).starts_with(forgotten_);
}

Status FaultInjectionEnv::Begin(bool* half) {
  if (stopped_) return Stopped();
  const int operation = operations_++;
  if (operation == stop_at_) {
    stopped_ = true;
    if (on_stop) on_stop();
    if (half != nullptr) *half = true;
    return Stopped();
  }
  if (operation == fail_at_) {
    if (half != nullptr) *half = true;
    return failure_;
  }
  return standing_;
}

void FaultInjectionEnv::Restart(Crash crash) {
  stopped_ = false;
  operations_ = 0;
  stop_at_ = fail_at_ = -1;
  locked_->clear();
  if (crash == Crash::process_killed) return;
  live_ = durable_;
  for (auto& [path, file] : live_) {
    const bool appended =
        file->live.size() > file->synced.size() && file->live.compare(0, file->synced.size(), file->synced) == 0;
    const std::size_t extra =
        crash == Crash::power_lost_torn && appended ? (file->live.size() - file->synced.size()) / 2 : 0;
    file->live = extra > 0 ? file->live.substr(0, file->synced.size() + extra) : file->synced;
    file->synced = file->live;
  }
}

std::string& FaultInjectionEnv::Bytes(const std::string& path) { return live_.at(path)->live; }

void FaultInjectionEnv::Put(const std::string& path, const std::string& bytes) {
  auto file = std::make_shared<File>(File{bytes, bytes});
  live_[path] = file;
  durable_[path] = file;
}

Status FaultInjectionEnv::SyncFolder(const std::string& path) {
  RETORT_RETURN_IF_ERROR(Begin());
  const std::string folder = GetFolder(path);
  std::erase_if(durable_, [&](const auto& entry) { return GetFolder(entry.first) == folder; });
  for (const auto& [name, file] : live_) {
    if (GetFolder(name) == folder) durable_[name] = file;
  }
  return {};
}

Result<std::unique_ptr<storage::AppendFile>> FaultInjectionEnv::OpenAppend(const std::string& path) {
  const std::lock_guard lock(*mutex_);
  if (stopped_) return Stopped();
  if (live_.count(path) == 0) {
    RETORT_RETURN_IF_ERROR(Begin());
    if (folders_.count(GetFolder(path)) == 0) return storage::FileError(ENOENT, "create", path);
    live_[path] = std::make_shared<File>();
    RETORT_RETURN_IF_ERROR(SyncFolder(path));
  }
  return std::unique_ptr<storage::AppendFile>(std::make_unique<OpenFile>(*this, path, live_.at(path)));
}

Result<std::string> FaultInjectionEnv::ReadFile(const std::string& path) {
  const std::lock_guard lock(*mutex_);
  if (stopped_) return Stopped();
  const auto found = live_.find(path);
  if (found == live_.end()) return storage::FileError(ENOENT, "open", path);
  return found->second->live;
}

Status FaultInjectionEnv::WriteFileAtomically(const std::string& path, std::string_view bytes) {
  const std::lock_guard lock(*mutex_);
  return WriteWhole(path, bytes);
}

Status FaultInjectionEnv::WriteWhole(const std::string& path, std::string_view bytes) {
  const std::string temporary = path + std::string(storage::kTemporarySuffix);
  if (folders_.count(GetFolder(path)) == 0) return storage::FileError(ENOENT, "create", path);
  auto file = std::make_shared<File>();
  bool half = false;
  Status status = Begin(&half);
  if (status.ok() || half) live_[temporary] = file;
  if (status.ok()) file->live = bytes;
  if (half) file->live = bytes.substr(0, bytes.size() / 2);
  if (status.ok()) status = Begin();
  if (status.ok()) {
    file->synced = file->live;
    status = Begin();
  }
  if (!status.ok()) {
    if (!stopped_) live_.erase(temporary);
    return status;
  }
  live_.erase(temporary);
  live_[path] = file;
  if (on_published) on_published(path);
  return SyncFolder(path);
}

Status FaultInjectionEnv::PublishFile(const std::string& path, const std::function<Status(const std::string&)>& write) {
  if (stopped()) return Stopped();
  // The syncs that count are those of WriteFileAtomically: a real disk would only be waited for.
  const std::filesystem::path real =
      std::filesystem::path(TemporaryRoot(Place::memory)) / ("published-" + std::to_string(::getpid()));
  Status status = write(real.string());
  std::ifstream stream(real, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  stream.close();
  std::error_code ignored;
  std::filesystem::remove(real, ignored);
  RETORT_RETURN_IF_ERROR(status);
  return WriteFileAtomically(path, bytes);
}

Status FaultInjectionEnv::Remove(const std::string& path) {
  const std::lock_guard lock(*mutex_);
  RETORT_RETURN_IF_ERROR(Begin());
  live_.erase(path);
  return {};
}

Status FaultInjectionEnv::CreateDirectories(const std::string& path) {
  const std::lock_guard lock(*mutex_);
  if (folders_.count(path) != 0) return stopped_ ? Stopped() : Status();
  RETORT_RETURN_IF_ERROR(Begin());
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    folders_.insert(path.substr(0, end));
    if (end == std::string::npos) return {};
  }
}

Result<std::vector<std::string>> FaultInjectionEnv::List(const std::string& directory) {
  const std::lock_guard lock(*mutex_);
  if (stopped_) return Stopped();
  if (folders_.count(directory) == 0) return storage::FileError(ENOENT, "list folder", directory);
  std::set<std::string> names;
  for (const auto& [path, file] : live_) {
    if (GetFolder(path) == directory) names.insert(path.substr(directory.size() + 1));
  }
  for (const std::string& folder : folders_) {
    if (folder != directory && folder.find('/') != std::string::npos && GetFolder(folder) == directory) {
      names.insert(folder.substr(directory.size() + 1));
    }
  }
  return std::vector<std::string>(names.begin(), names.end());
}

bool FaultInjectionEnv::Exists(const std::string& path) {
  const std::lock_guard lock(*mutex_);
  return live_.count(path) != 0 || folders_.count(path) != 0;
}

Result<std::unique_ptr<storage::FileLock>> FaultInjectionEnv::Lock(const std::string& path) {
  const std::lock_guard lock(*mutex_);
  if (stopped_) return Stopped();
  if (!locked_->insert(path).second) return EnvironmentError("'" + path + "' is locked by another process");
  return std::unique_ptr<storage::FileLock>(std::make_unique<HeldLock>(locked_, path));
}

Result<bool> FaultInjectionEnv::IsLocked(const std::string& path) {
  const std::lock_guard lock(*mutex_);
  if (stopped_) return Stopped();
  return locked_->contains(path);
}

}  // namespace retort::testing
