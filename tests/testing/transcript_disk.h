// A file system whose syncs of transcripts can be held up, or acknowledged and not done. It knows of which steps the
// released answers are durable.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/files/env.h"
#include "storage/log/attempt_logs.h"

namespace retort::testing {

class TranscriptDisk final : public storage::Env {
 public:
  // Over another file system, which outlives it.
  explicit TranscriptDisk(storage::Env& real) : real_(real) {}

  // Called before a whole file is put under this path.
  std::function<void(const std::string& path)> publishing;

  // Between the two, syncs of transcripts wait.
  void Hold() {
    Change([this] { held_ = true; });
  }
  void LetGo() {
    Change([this] { held_ = false; });
  }
  // From now on syncs of transcripts return at once, and nothing becomes durable.
  void Forget() {
    Change([this] { forgets_ = true; });
  }
  // From now on syncs of transcripts fail.
  void Break(Status error) {
    Change([this, &error] { error_ = std::move(error); });
  }
  // Each takes so long from now on.
  void Delay(std::chrono::milliseconds delay) {
    Change([this, delay] { delay_ = delay; });
  }
  // Waits until no transcript is open.
  void AwaitClosed() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_ == 0; });
  }
  // Steps of answers that a sync has covered; records of another name are none.
  [[nodiscard]] std::set<std::int64_t> DurableSteps() {
    const std::lock_guard lock(mutex_);
    return durable_;
  }
  // Syncs of transcripts that were done.
  [[nodiscard]] int syncs() {
    const std::lock_guard lock(mutex_);
    return syncs_;
  }

  Result<std::unique_ptr<storage::AppendFile>> OpenAppend(const std::string& path) override {
    RETORT_ASSIGN_OR_RETURN(std::unique_ptr<storage::AppendFile> file, real_.OpenAppend(path));
    if (!storage::IsTranscriptName(path.substr(path.find_last_of('/') + 1))) return file;
    Change([this] { ++open_; });
    return std::unique_ptr<storage::AppendFile>(std::make_unique<Transcript>(*this, path, std::move(file)));
  }
  Result<std::string> ReadFile(const std::string& path) override { return real_.ReadFile(path); }
  Status WriteFileAtomically(const std::string& path, std::string_view bytes) override {
    if (publishing) publishing(path);
    return real_.WriteFileAtomically(path, bytes);
  }
  Status PublishFile(const std::string& path, const std::function<Status(const std::string&)>& write) override {
    if (publishing) publishing(path);
    return real_.PublishFile(path, write);
  }
  Status Remove(const std::string& path) override { return real_.Remove(path); }
  Status CreateDirectories(const std::string& path) override { return real_.CreateDirectories(path); }
  Result<std::vector<std::string>> List(const std::string& directory) override { return real_.List(directory); }
  bool Exists(const std::string& path) override { return real_.Exists(path); }
  Result<std::unique_ptr<storage::FileLock>> Lock(const std::string& path) override { return real_.Lock(path); }
  Result<bool> IsLocked(const std::string& path) override { return real_.IsLocked(path); }

 private:
  class Transcript final : public storage::AppendFile {
   public:
    Transcript(TranscriptDisk& disk, std::string path, std::unique_ptr<storage::AppendFile> file)
        : disk_(disk), path_(std::move(path)), file_(std::move(file)) {}
    ~Transcript() override {
      disk_.Change([this] { --disk_.open_; });
    }
    Status Append(std::string_view bytes) override { return file_->Append(bytes); }
    Status Sync() override { return disk_.SyncTranscript(path_, *file_); }
    Status Truncate(std::uint64_t size) override { return file_->Truncate(size); }

   private:
    TranscriptDisk& disk_;
    std::string path_;
    std::unique_ptr<storage::AppendFile> file_;
  };

  template <typename Do>
  void Change(const Do& change) {
    const std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }

  Status SyncTranscript(const std::string& path, storage::AppendFile& file) {
    std::unique_lock lock(mutex_);
    if (delay_.count() > 0) changed_.wait_for(lock, delay_, [] { return false; });
    changed_.wait(lock, [this] { return !held_; });
    RETORT_RETURN_IF_ERROR(error_);
    if (forgets_) return {};
    RETORT_RETURN_IF_ERROR(file.Sync());
    ++syncs_;
    RETORT_ASSIGN_OR_RETURN(const storage::LogContents contents,
                            storage::ReadRecordLog(real_, path, storage::LogKind::transcript));
    RETORT_ASSIGN_OR_RETURN(const std::vector<storage::TranscriptRecord> records,
                            storage::ReplayTranscript(contents, 0, path));
    for (const storage::TranscriptRecord& record : records)
      if (record.released.at(0).name == "released") durable_.insert(record.step);
    return {};
  }

  storage::Env& real_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  bool held_ = false, forgets_ = false;
  Status error_;
  std::chrono::milliseconds delay_{0};
  int open_ = 0, syncs_ = 0;
  std::set<std::int64_t> durable_;
};

}  // namespace retort::testing
