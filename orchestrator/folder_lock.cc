#include "orchestrator/folder_lock.h"

#include <chrono>
#include <thread>

#include "orchestrator/journal.h"

namespace retort::orchestrator {
namespace {

constexpr int kTries = 5;  // `retort status` holds the lock for an instant
constexpr auto kPause = std::chrono::milliseconds(50);

}  // namespace

Result<std::unique_ptr<storage::FileLock>> LockFolder(storage::Env& env, const std::string& results) {
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(results));
  for (int tried = 1;; ++tried) {
    Result<std::unique_ptr<storage::FileLock>> lock = env.Lock(LockPath(results));
    if (lock.ok() || tried == kTries) return lock;
    std::this_thread::sleep_for(kPause);
  }
}

bool FolderIsLocked(storage::Env& env, const std::string& results) {
  const std::string path = LockPath(results);
  if (!env.Exists(path)) return false;
  const Result<std::unique_ptr<storage::FileLock>> lock = env.Lock(path);
  return !lock.ok() && lock.status().message().find("is locked by") != std::string::npos;
}

}  // namespace retort::orchestrator
