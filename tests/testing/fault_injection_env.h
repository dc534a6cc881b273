// A file system in memory whose operations can fail or be the last before a crash. It keeps apart what a
// program wrote and what would survive a loss of power.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/files/env.h"

namespace retort::testing {

// What the next process finds.
enum class Crash {
  process_killed,   // everything written
  power_lost,       // everything synced, nothing more
  power_lost_torn,  // everything synced, and half of what was appended after
};

// Counted are operations that change something: create, append, sync, truncate, rename, remove, make a
// folder. Reading is neither counted nor failed, except while stopped. Operations may come from several threads; the
// test's own calls may not, but for Stop.
class FaultInjectionEnv final : public storage::Env {
 public:
  // Operation number `operation` (from 0) is cut short: of bytes half are written, all else is not done;
  // it and everything after it fail until Restart.
  void StopAt(int operation) { stop_at_ = operation; }
  // Everything from now on fails until Restart.
  void Stop();
  // Called at a stop, and when a file is in place that was written under another name; they use no file.
  std::function<void()> on_stop;
  std::function<void(const std::string& path)> on_published;
  // From now on syncs of files whose name begins so are acknowledged and not done; the next that is done makes up for
  // them. Empty: none.
  void ForgetSyncs(std::string beginning) { forgotten_ = std::move(beginning); }
  // Operation number `operation` fails with `error`, an append after half of its bytes; later ones work.
  void FailAt(int operation, Status error);
  // Every operation from now on fails with `error` until ClearFaults.
  void FailAll(Status error) { standing_ = std::move(error); }
  void ClearFaults();
  // What FreeBytes says from now on.
  void SetFreeBytes(std::uint64_t bytes) { free_bytes_ = bytes; }
  [[nodiscard]] int operations() const { return operations_; }
  [[nodiscard]] bool stopped() const {
    const std::lock_guard lock(*mutex_);
    return stopped_;
  }
  // Ends the crash. Files open before it must not be used after it. Operations count from 0 again.
  void Restart(Crash crash);

  // Direct access for the test; the file must exist.
  [[nodiscard]] std::string& Bytes(const std::string& path);
  // Creates or overwrites, synced.
  void Put(const std::string& path, const std::string& bytes);

  Result<std::unique_ptr<storage::AppendFile>> OpenAppend(const std::string& path) override;
  Result<std::string> ReadFile(const std::string& path) override;
  Status WriteFileAtomically(const std::string& path, std::string_view bytes) override;
  // `write` is given a path in the real folder for temporary files.
  Status PublishFile(const std::string& path, const std::function<Status(const std::string&)>& write) override;
  Status Remove(const std::string& path) override;
  Status CreateDirectories(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& directory) override;
  Result<std::uint64_t> FreeBytes(const std::string&) override { return free_bytes_; }
  bool Exists(const std::string& path) override;
  Result<std::unique_ptr<storage::FileLock>> Lock(const std::string& path) override;
  Result<bool> IsLocked(const std::string& path) override;

 private:
  struct File {
    std::string live, synced;
  };
  using Entries = std::map<std::string, std::shared_ptr<File>>;
  // A copy of the environment has a mutex of its own.
  class OwnMutex {
   public:
    OwnMutex() = default;
    OwnMutex(const OwnMutex&) {}
    OwnMutex& operator=(const OwnMutex&) { return *this; }
    std::mutex& operator*() const { return mutex_; }

   private:
    mutable std::mutex mutex_;
  };
  class OpenFile;
  class HeldLock;

  [[nodiscard]] bool Forgets(const std::string& path) const;
  // ok: do it. Otherwise `half` says whether half of the bytes are still written. Holds the mutex, as what follows.
  Status Begin(bool* half = nullptr);
  Status SyncFolder(const std::string& path);
  Status WriteWhole(const std::string& path, std::string_view bytes);

  OwnMutex mutex_;
  Entries live_, durable_;
  std::set<std::string> folders_ = {"", ".", "/"};
  std::shared_ptr<std::set<std::string>> locked_ = std::make_shared<std::set<std::string>>();
  int operations_ = 0, stop_at_ = -1, fail_at_ = -1;
  Status failure_, standing_;
  std::string forgotten_;
  bool stopped_ = false;
  std::uint64_t free_bytes_ = std::uint64_t{1} << 50;
};

}  // namespace retort::testing
