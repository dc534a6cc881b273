#include "orchestrator/journal/folder_lock.h"

#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "orchestrator/journal/journal.h"
#include "storage/files/path_status.h"

namespace retort::orchestrator {
namespace {

constexpr int kTries = 5;  // `retort status` holds the lock for an instant
constexpr auto kPause = std::chrono::milliseconds(50);

// Whether a process of this host holds the file, as the kernel says of files that may not be opened, too.
bool IsHeld(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return false;
  const std::string inode = ":" + std::to_string(status.st_ino);
  std::ifstream locks("/proc/locks");
  // "1: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF"; a second word "->" waits for one.
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access, process, file;
    words >> number >> kind >> advisory >> access >> process >> file;
    if (kind == "FLOCK" && file.ends_with(inode)) return true;
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<storage::FileLock>> LockFolder(storage::Env& env, const std::string& results) {
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(results));
  for (int tried = 1;; ++tried) {
    Result<std::unique_ptr<storage::FileLock>> lock = env.Lock(LockPath(results));
    if (lock.ok() || tried == kTries) return lock;
    std::this_thread::sleep_for(kPause);
  }
}

bool IsFolderLocked(storage::Env& env, const std::string& results) {
  const std::string path = LockPath(results);
  const Result<bool> there = storage::PathExists(env, path);
  if (!there.ok() || !*there) return false;
  const Result<bool> locked = env.IsLocked(path);
  return locked.ok() ? *locked : IsHeld(path);
}

}  // namespace retort::orchestrator
