#include "storage/log/transcript_writer.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace retort::storage {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kGrace{1000};  // for the end of a thread that has met an error

using Makers = std::vector<TranscriptWriter::MakeRecord>;

// Makes the records and appends them in one group: those before the first that cannot be made.
Status AppendMade(Makers group, TranscriptLog& log) {
  std::vector<TranscriptRecord> records;
  Status made;
  for (TranscriptWriter::MakeRecord& make : group) {
    Result<TranscriptRecord> record = std::exchange(make, {})();
    made = record.status();
    if (!made.ok()) break;
    records.push_back(std::move(record).value());
  }
  RETORT_RETURN_IF_ERROR(log.Append(records));
  return made;
}

Status AppendGroup(Makers group, TranscriptLog& log) {
  try {
    return AppendMade(std::move(group), log);
  } catch (const std::bad_alloc&) {
    return EnvironmentError("There is not enough memory to write down what was released.");
  }
}

}  // namespace

// The log belongs to whoever holds the mutex while nothing is being written, and to the writing thread meanwhile.
struct TranscriptWriter::Shared {
  struct Handed {
    std::size_t bytes = 0;
    Clock::time_point at;
    MakeRecord make;
  };

  Shared(std::unique_ptr<TranscriptLog> transcript, const TranscriptLimits& allowed)
      : limits(allowed), log(std::move(transcript)) {}

  [[nodiscard]] bool IsDue(Clock::time_point now) const {
    return ended || wanted > durable || bytes > limits.bytes / 2 || now >= queue.front().at + limits.gathering;
  }
  // All that is queued, in order.
  [[nodiscard]] Makers TakeAll() {
    Makers group;
    writing = 0;
    for (Handed& each : queue) {
      group.push_back(std::move(each.make));
      writing += each.bytes;
    }
    queue.clear();
    return group;
  }
  void Finish(std::size_t records, const Status& status) {
    bytes -= writing;
    if (status.ok()) durable += records;
    if (!status.ok() && error.ok()) error = status;
    if (!error.ok()) queue.clear();
  }
  // Until `done` or an error; a disk that takes too long is one.
  template <typename Done>
  Status WaitFor(std::unique_lock<std::mutex>& lock, const Done& done) {
    if (!error.ok() || done()) return error;
    changed.notify_all();
    if (!changed.wait_for(lock, limits.patience, [&] { return !error.ok() || done(); }))
      error = EnvironmentError("The disk did not take what was released in " +
                               std::to_string(limits.patience.count() / 1000) + " s: see whether it answers.");
    return error;
  }

  const TranscriptLimits limits;
  std::mutex mutex;  // of all that follows
  std::condition_variable changed;
  std::unique_ptr<TranscriptLog> log;
  std::deque<Handed> queue;                           // not yet taken by the thread
  std::size_t writing = 0;                            // bytes that the thread has taken
  std::size_t bytes = 0;                              // handed over and not yet durable
  std::uint64_t handed = 0, wanted = 0, durable = 0;  // records: of all; that somebody waits for; that are on the disk
  bool ended = false, left = false;                   // nobody hands over any more; the thread is at its end
  Status error;
};

TranscriptWriter::TranscriptWriter(std::unique_ptr<TranscriptLog> log, const TranscriptLimits& limits)
    : shared_(std::make_shared<Shared>(std::move(log), limits)) {}

TranscriptWriter::~TranscriptWriter() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(shared_->mutex);
  shared_->ended = true;
  shared_->changed.notify_all();
  const auto patience = shared_->error.ok() ? shared_->limits.patience : std::min(shared_->limits.patience, kGrace);
  const bool left = shared_->changed.wait_for(lock, patience, [this] { return shared_->left; });
  lock.unlock();
  if (left)
    thread_.join();
  else
    thread_.detach();
}

void TranscriptWriter::Write(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->changed.wait(lock, [&] { return shared->ended || !shared->queue.empty(); });
    if (shared->queue.empty()) break;
    if (!shared->IsDue(Clock::now())) {
      shared->changed.wait_until(lock, shared->queue.front().at + shared->limits.gathering);
      continue;
    }
    Makers group = shared->TakeAll();
    const std::size_t records = group.size();
    lock.unlock();
    const Status written = AppendGroup(std::move(group), *shared->log);
    lock.lock();
    shared->Finish(records, written);
    shared->changed.notify_all();
  }
  shared->left = true;
  shared->changed.notify_all();
}

Status TranscriptWriter::Queue(std::size_t bytes, MakeRecord make) {
  Shared& shared = *shared_;
  std::unique_lock lock(shared.mutex);
  const auto fits = [&] { return shared.bytes == 0 || shared.bytes + bytes <= shared.limits.bytes; };
  if (!fits()) shared.wanted = shared.handed;
  RETORT_RETURN_IF_ERROR(shared.WaitFor(lock, fits));
  if (!thread_.joinable()) thread_ = std::thread([kept = shared_] { Write(kept); });
  shared.queue.push_back({bytes, Clock::now(), std::move(make)});
  shared.bytes += bytes;
  ++shared.handed;
  // Of a record that joins others the thread need not hear: it looks again when the first of them is due.
  if (shared.queue.size() == 1 || shared.bytes > shared.limits.bytes / 2) shared.changed.notify_all();
  return {};
}

Status TranscriptWriter::Await() {
  std::unique_lock lock(shared_->mutex);
  shared_->wanted = shared_->handed;
  return shared_->WaitFor(lock, [this] { return shared_->durable == shared_->handed; });
}

Status TranscriptWriter::Append(const TranscriptRecord& record) {
  RETORT_RETURN_IF_ERROR(Await());
  const std::lock_guard lock(shared_->mutex);
  shared_->error = shared_->log->Append({record});
  return shared_->error;
}

Status TranscriptWriter::Committed(std::int64_t step, std::int64_t oldest) {
  const std::lock_guard lock(shared_->mutex);
  RETORT_RETURN_IF_ERROR(shared_->error);
  RETORT_CHECK(shared_->durable == shared_->handed);
  shared_->error = shared_->log->Committed(step, oldest);
  return shared_->error;
}

Status TranscriptWriter::status() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->error;
}

}  // namespace retort::storage
