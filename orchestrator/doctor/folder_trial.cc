#include "orchestrator/doctor/folder_trial.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <system_error>

#include "storage/env.h"

namespace retort::orchestrator::doctor {
namespace {

constexpr int kAppends = 5;
constexpr std::size_t kRecord = 256;  // bytes: about what a record of the ledger has

// The first append also makes the file: it does not count.
void TrySync(storage::Env& env, const std::string& path, FolderFacts& facts) {
  Result<std::unique_ptr<storage::AppendFile>> file = env.OpenAppend(path);
  Status status = file.status();
  for (int i = 0; status.ok() && i <= kAppends; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    status = (*file)->Append(std::string(kRecord, 'x'));
    if (status.ok()) status = (*file)->Sync();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (i > 0) facts.sync_seconds = std::max(facts.sync_seconds, seconds);
  }
  facts.sync_trouble = status.message();
}

void TryLocks(storage::Env& env, const std::string& path, FolderFacts& facts) {
  const Result<std::unique_ptr<storage::FileLock>> first = env.Lock(path);
  facts.lock_trouble = first.status().message();
  if (first.ok()) facts.lock_excludes = !env.Lock(path).ok();
}

void TryRename(storage::Env& env, const std::string& path, FolderFacts& facts) {
  Status status = env.WriteFileAtomically(path, "old");
  if (status.ok()) status = env.WriteFileAtomically(path, "new");
  if (status.ok()) {
    const Result<std::string> bytes = env.ReadFile(path);
    status = bytes.status();
    if (bytes.ok() && *bytes != "new") facts.rename_trouble = "the old bytes are read after it";
  }
  if (!status.ok()) facts.rename_trouble = status.message();
}

void CompareClocks(const std::string& path, FolderFacts& facts) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  facts.clock_ahead_seconds = static_cast<double>(status.st_mtim.tv_sec - now.tv_sec) +
                              static_cast<double>(status.st_mtim.tv_nsec - now.tv_nsec) * 1e-9;
}

}  // namespace

void TryFolder(FolderFacts& facts) {
  std::string own = facts.tried + "/.retort-doctor-XXXXXX";
  if (::mkdtemp(own.data()) == nullptr) {
    const int error = errno;
    facts.trouble =
        "nothing can be made in " + facts.tried + " (" + std::generic_category().message(error) + ")";
    return;
  }
  storage::Env& env = storage::PosixEnv();
  TryRename(env, own + "/renamed", facts);
  CompareClocks(own + "/renamed", facts);
  TryLocks(env, own + "/locked", facts);
  TrySync(env, own + "/synced", facts);
  std::error_code ignored;
  std::filesystem::remove_all(own, ignored);
}

}  // namespace retort::orchestrator::doctor
