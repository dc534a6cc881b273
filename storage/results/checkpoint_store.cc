#include "storage/results/checkpoint_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <future>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "experiments/base/digests.h"
#include "experiments/base/number_text.h"
#include "storage/files/env.h"
#include "storage/files/path_status.h"
#include "storage/files/read_limits.h"
#include "storage/log/attempt_logs.h"
#include "storage/results/hdf5_conventions.h"
#include "storage/results/hdf5_reader.h"
#include "storage/results/hdf5_writer.h"

namespace retort::storage {
namespace {

constexpr std::int64_t kBeforeAll = -1;  // a rewind to it voids every point

bool IsCheckpointName(const std::string& name) { return name.rfind("checkpoint-", 0) == 0; }

bool IsTemporary(const std::string& name) {
  return name.size() > kTemporarySuffix.size() &&
         name.compare(name.size() - kTemporarySuffix.size(), kTemporarySuffix.size(), kTemporarySuffix) == 0;
}

bool IsLive(const std::vector<CommittedCheckpoint>& live, const std::string& file) {
  return std::any_of(live.begin(), live.end(), [&](const CommittedCheckpoint& known) { return known.file == file; });
}

// Of what is about to be written, but for a few kilobytes around the tensors.
std::uint64_t EstimateSize(const Checkpoint& checkpoint) {
  std::uint64_t bytes = 0;
  for (const TensorBlob& tensor : checkpoint.tensors) bytes += tensor.bytes.size();
  for (const auto& [name, value] : checkpoint.attributes) bytes += name.size() + value.size();
  return bytes;
}

// Files of an attempt are removed and written anew: never where a link leads.
Status CheckNoLink(const std::string& directory) {
  std::error_code ignored;
  if (!std::filesystem::is_symlink(directory, ignored)) return {};
  return EnvironmentError("'" + directory +
                          "' is a link, and an attempt's files are not removed or written through one: " +
                          "put the folder itself there, or remove the link.");
}

}  // namespace

CheckpointStore::CheckpointStore(Env& env, std::string directory, std::size_t kept, const TranscriptLimits& limits)
    : env_(env), directory_(std::move(directory)), kept_(kept), limits_(limits) {
  RETORT_CHECK(kept_ >= 1);
}

CheckpointStore::~CheckpointStore() = default;

Result<std::unique_ptr<CheckpointStore>> CheckpointStore::Open(Env& env, const std::string& trial_directory,
                                                               std::uint32_t attempt, std::size_t kept,
                                                               const TranscriptLimits& limits) {
  std::unique_ptr<CheckpointStore> store(
      new CheckpointStore(env, GetAttemptDirectory(trial_directory, attempt), kept, limits));
  RETORT_RETURN_IF_ERROR(CheckNoLink(store->directory_));
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(store->directory_));
  const std::string path = store->Path("manifest.log");
  LogContents contents;
  RETORT_ASSIGN_OR_RETURN(store->manifest_, RecordLog::Open(env, path, LogKind::manifest, &contents));
  RETORT_ASSIGN_OR_RETURN(ManifestState state, ReplayManifest(contents, path));
  store->live_ = std::move(state.live);
  store->trial_directory_ = trial_directory;
  store->attempt_ = attempt;
  if (state.begun) {
    RETORT_RETURN_IF_ERROR(store->Recover(state.ever_committed && store->live_.empty()));
  } else {
    RETORT_RETURN_IF_ERROR(store->Begin());
  }
  return store;
}

// The manifest is empty, so whatever else lies here is half an import: it is made anew.
Status CheckpointStore::Begin() {
  RETORT_RETURN_IF_ERROR(RemoveOrphans());
  RETORT_RETURN_IF_ERROR(env_.Remove(Path("series.log")));
  RETORT_ASSIGN_OR_RETURN(series_, RecordLog::Open(env_, Path("series.log"), LogKind::series));
  RETORT_ASSIGN_OR_RETURN(const EarlierState earlier, FindEarlierState(env_, trial_directory_, attempt_));
  const std::int64_t base = earlier.checkpoint ? earlier.checkpoint->step : 0;
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<TranscriptLog> transcript,
                          TranscriptLog::Begin(env_, directory_, base, earlier.transcript));
  StartTranscript(std::move(transcript));
  if (earlier.checkpoint) AppendCurves(*series_, earlier.curves, earlier.checkpoint->step);
  RETORT_RETURN_IF_ERROR(series_->Sync());
  if (!earlier.checkpoint) {
    AppendBegun(*manifest_, earlier.from);
    return manifest_->Sync();
  }
  CommittedCheckpoint imported = *earlier.checkpoint;
  imported.from = earlier.from;
  RETORT_RETURN_IF_ERROR(env_.WriteFileAtomically(Path(imported.file), earlier.bytes));
  AppendCommitted(*manifest_, imported);
  RETORT_RETURN_IF_ERROR(manifest_->Sync());
  live_.push_back(std::move(imported));
  return {};
}

// This very attempt was open before. A damaged newest checkpoint is given up; releases that do not go on from the one
// before it are removed first; and all of them where the attempt had `finished` and removed its checkpoints.
Status CheckpointStore::Recover(bool finished) {
  RETORT_RETURN_IF_ERROR(RemoveOrphans());
  RETORT_ASSIGN_OR_RETURN(series_, RecordLog::Open(env_, Path("series.log"), LogKind::series));
  std::vector<std::string> damaged;
  while (!live_.empty()) {
    RETORT_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, ReadIfIntact(env_, directory_, live_.back()));
    if (bytes) break;
    damaged.push_back(live_.back().file);
    live_.pop_back();
  }
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<TranscriptLog> transcript,
                          finished ? TranscriptLog::Begin(env_, directory_, 0, {})
                                   : TranscriptLog::Resume(env_, directory_, CompletedSteps(), damaged.empty()));
  StartTranscript(std::move(transcript));
  if (!damaged.empty()) {
    for (const std::string& file : damaged) AppendRemoved(*manifest_, file);
    RETORT_RETURN_IF_ERROR(manifest_->Sync());
    for (const std::string& file : damaged) RETORT_RETURN_IF_ERROR(env_.Remove(Path(file)));
  }
  AppendRewind(*series_, live_.empty() ? kBeforeAll : live_.back().step);
  return {};
}

// Checkpoints without a manifest record, and temporary files.
Status CheckpointStore::RemoveOrphans() {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env_.List(directory_));
  for (const std::string& name : names) {
    if (IsTemporary(name) || (IsCheckpointName(name) && !IsLive(live_, name))) {
      RETORT_RETURN_IF_ERROR(env_.Remove(Path(name)));
    }
  }
  return {};
}

void CheckpointStore::StartTranscript(std::unique_ptr<TranscriptLog> log) {
  transcript_ = std::make_unique<TranscriptWriter>(std::move(log), limits_);
}

std::int64_t CheckpointStore::CompletedSteps() const { return live_.empty() ? 0 : live_.back().step; }

Result<std::optional<Checkpoint>> CheckpointStore::Latest() {
  if (live_.empty()) return std::optional<Checkpoint>();
  const std::string path = Path(live_.back().file);
  RETORT_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, ReadIfIntact(env_, directory_, live_.back()));
  if (!bytes) return DamageError("'" + path + "' is gone or changed since it was checked: start the attempt again.");
  RETORT_ASSIGN_OR_RETURN(Checkpoint checkpoint, DecodeCheckpoint(*bytes, path));
  return std::optional<Checkpoint>(std::move(checkpoint));
}

Result<std::vector<TranscriptRecord>> CheckpointStore::Transcript() {
  RETORT_RETURN_IF_ERROR(AwaitReleased());
  return ReadTranscript(env_, directory_, CompletedSteps(), true);
}

Status CheckpointStore::CheckReleasedStep(std::int64_t step) const {
  if (step >= CompletedSteps()) return {};
  return Refused("A release of step " + std::to_string(step) + " cannot follow a checkpoint of " +
                 std::to_string(CompletedSteps()) + " completed steps.");
}

Status CheckpointStore::AppendReleased(const TranscriptRecord& record) {
  RETORT_RETURN_IF_ERROR(CheckReleasedStep(record.step));
  return transcript_->Append(record);
}

Status CheckpointStore::QueueReleased(std::int64_t step, std::size_t bytes, TranscriptWriter::MakeRecord make) {
  RETORT_RETURN_IF_ERROR(CheckReleasedStep(step));
  return transcript_->Queue(bytes, std::move(make));
}

Status CheckpointStore::AwaitReleased() { return transcript_->Await(); }

void CheckpointStore::AppendSeries(std::int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  AppendPoints(*series_, step, values);
}

// Curves are computed from what was released.
Status CheckpointStore::FlushSeries() {
  RETORT_RETURN_IF_ERROR(AwaitReleased());
  return series_->Sync();
}

// A name that no live checkpoint has: a second commit of one step must not overwrite the first.
std::string CheckpointStore::NewName(std::int64_t step) const {
  const std::string stem = "checkpoint-" + std::to_string(step);
  std::string name = stem + ".h5";
  for (int repeat = 1; IsLive(live_, name); ++repeat) name = stem + "." + std::to_string(repeat) + ".h5";
  return name;
}

Result<bool> CheckpointStore::IsCommitted(const Checkpoint& checkpoint) {
  if (live_.empty() || live_.back().step != checkpoint.step) return false;
  RETORT_ASSIGN_OR_RETURN(const std::optional<Checkpoint> latest, Latest());
  return latest->tensors == checkpoint.tensors && latest->attributes == checkpoint.attributes;
}

Result<std::string> CheckpointStore::Commit(const Checkpoint& checkpoint) {
  if (checkpoint.step < CompletedSteps()) {
    return Refused("A checkpoint of " + std::to_string(checkpoint.step) + " completed steps cannot follow one of " +
                   std::to_string(CompletedSteps()) + ".");
  }
  CommittedCheckpoint committed;
  committed.step = checkpoint.step;
  committed.file = NewName(checkpoint.step);
  RETORT_RETURN_IF_ERROR(FlushSeries());
  RETORT_ASSIGN_OR_RETURN(const bool committed_already, IsCommitted(checkpoint));
  if (committed_already) return live_.back().sha256;
  RETORT_RETURN_IF_ERROR(CheckFreeSpace(env_, directory_, EstimateSize(checkpoint), "a checkpoint"));
  RETORT_ASSIGN_OR_RETURN(committed.sha256, WriteCheckpoint(env_, Path(committed.file), checkpoint));
  AppendCommitted(*manifest_, committed);
  std::vector<std::string> superseded;
  for (std::size_t i = 0; i + kept_ <= live_.size(); ++i) superseded.push_back(live_[i].file);
  for (const std::string& file : superseded) AppendRemoved(*manifest_, file);
  RETORT_RETURN_IF_ERROR(manifest_->Sync());
  live_.erase(live_.begin(), live_.begin() + static_cast<std::ptrdiff_t>(superseded.size()));
  live_.push_back(committed);
  RETORT_RETURN_IF_ERROR(transcript_->Committed(checkpoint.step, live_.front().step));
  for (const std::string& file : superseded) RETORT_RETURN_IF_ERROR(env_.Remove(Path(file)));
  return committed.sha256;
}

Result<Curves> CheckpointStore::Series() {
  RETORT_RETURN_IF_ERROR(FlushSeries());
  const std::string path = Path("series.log");
  RETORT_ASSIGN_OR_RETURN(const LogContents contents, ReadRecordLog(env_, path, LogKind::series));
  return ReplaySeries(contents, path);
}

Status CheckpointStore::RemoveCheckpoints() {
  RETORT_RETURN_IF_ERROR(RemoveLive(*manifest_, directory_, live_));
  live_.clear();
  RETORT_RETURN_IF_ERROR(TrimTranscript(env_, directory_));
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> attempts,
                          ListEarlierAttempts(env_, trial_directory_, attempt_));
  for (const std::uint32_t number : attempts) {
    const Status removed = RemoveCheckpointsIn(GetAttemptDirectory(trial_directory_, number));
    // One whose manifest is damaged was passed over all along, and is for `retort repair`.
    if (!removed.ok() && removed.code() != StatusCode::damage) return removed;
  }
  return {};
}

Status CheckpointStore::RemoveCheckpointsIn(const std::string& directory) {
  const std::string path = directory + "/manifest.log";
  RETORT_ASSIGN_OR_RETURN(const bool there, PathExists(env_, path));
  if (!there) return {};
  LogContents contents;
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<RecordLog> manifest,
                          RecordLog::Open(env_, path, LogKind::manifest, &contents));
  RETORT_ASSIGN_OR_RETURN(const ManifestState state, ReplayManifest(contents, path));
  RETORT_RETURN_IF_ERROR(RemoveLive(*manifest, directory, state.live));
  return TrimTranscript(env_, directory);
}

Status CheckpointStore::RemoveLive(RecordLog& manifest, const std::string& directory,
                                   const std::vector<CommittedCheckpoint>& live) {
  for (const CommittedCheckpoint& checkpoint : live) AppendRemoved(manifest, checkpoint.file);
  RETORT_RETURN_IF_ERROR(manifest.Sync());
  for (const CommittedCheckpoint& checkpoint : live) {
    RETORT_RETURN_IF_ERROR(env_.Remove(directory + "/" + checkpoint.file));
  }
  return {};
}

namespace {

// Closes its descriptor quietly; a failed write is seen by the fsync that follows.
class OpenedFile {
 public:
  explicit OpenedFile(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC)) {}
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;
  ~OpenedFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

Status WriteTensor(int fd, const TensorExtent& room, const std::string& path) {
  for (std::uint64_t done = 0; done < room.bytes.size();) {
    const ssize_t wrote =
        ::pwrite(fd, room.bytes.data() + done, room.bytes.size() - done, static_cast<off_t>(room.offset + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return FileError(errno, "write", path);
    done += static_cast<std::uint64_t>(wrote);
  }
  return {};
}

// What HDF5 wrote between the rooms.
Result<std::string> ReadGap(int fd, std::uint64_t begin, std::uint64_t end, const std::string& path) {
  std::string bytes(end - begin, '\0');
  for (std::uint64_t done = 0; done < bytes.size();) {
    const ssize_t got = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return FileError(got < 0 ? errno : EIO, "read back", path);
    done += static_cast<std::uint64_t>(got);
  }
  return bytes;
}

Result<std::string> ComputeExtentsDigest(int fd, std::uint64_t size, const std::vector<TensorExtent>& rooms,
                                         const std::string& path) {
  Sha256 digest;
  std::uint64_t at = 0;
  for (const TensorExtent& room : rooms) {
    RETORT_ASSIGN_OR_RETURN(const std::string between, ReadGap(fd, at, room.offset, path));
    digest.Update(between);
    digest.Update(room.bytes);
    at = room.offset + room.bytes.size();
  }
  RETORT_ASSIGN_OR_RETURN(const std::string rest, ReadGap(fd, at, std::max(at, size), path));
  digest.Update(rest);
  return digest.FinishHex();
}

// Writes every tensor into its room in the closed file at `path`; rooms do not overlap. Synced. Returns
// the SHA-256 hex of the whole file. Error: environment.
Result<std::string> FillTensors(const std::string& path, std::vector<TensorExtent> rooms) {
  const OpenedFile file(path);
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return FileError(errno, "open", path);
  std::sort(rooms.begin(), rooms.end(),
            [](const TensorExtent& a, const TensorExtent& b) { return a.offset < b.offset; });
  std::future<Result<std::string>> digest = std::async(std::launch::async, [&] {
    return ComputeExtentsDigest(file.get(), static_cast<std::uint64_t>(status.st_size), rooms, path);
  });
  Status written;
  for (const TensorExtent& room : rooms)
    if (written.ok()) written = WriteTensor(file.get(), room, path);
  // The digest is computed while the disk is busy; whoever publishes the file has nothing left to sync.
  if (written.ok() && ::fsync(file.get()) != 0 && errno != EINTR) written = FileError(errno, "sync", path);
  Result<std::string> hex = digest.get();
  RETORT_RETURN_IF_ERROR(written);
  return hex;
}

Result<std::string> WriteAt(const std::string& temporary, const Checkpoint& checkpoint, const std::string& name) {
  Hdf5Writer writer(name, temporary);
  writer.Attribute("/", "Conventions", std::string_view(kConventions));
  writer.Attribute("/", "step", checkpoint.step);
  writer.Group("/attributes");
  for (const auto& [key, value] : checkpoint.attributes) writer.Attribute("/attributes", key, value);
  writer.Group("/tensors");
  WriteTensors(writer, "/tensors", checkpoint.tensors);
  RETORT_ASSIGN_OR_RETURN(std::vector<TensorExtent> rooms, writer.Close());
  return FillTensors(temporary, std::move(rooms));
}

}  // namespace

Result<std::string> WriteCheckpoint(Env& env, const std::string& path, const Checkpoint& checkpoint) {
  std::string sha256;
  RETORT_RETURN_IF_ERROR(env.PublishFile(path, [&](const std::string& temporary) -> Status {
    RETORT_ASSIGN_OR_RETURN(sha256, WriteAt(temporary, checkpoint, path));
    return {};
  }));
  return sha256;
}

namespace {

Result<Checkpoint> Decode(std::string_view bytes, const std::string& name) {
  RETORT_ASSIGN_OR_RETURN(const Hdf5Reader reader, Hdf5Reader::OpenView(bytes, name));
  RETORT_RETURN_IF_ERROR(CheckConventions(reader));
  Checkpoint checkpoint;
  RETORT_ASSIGN_OR_RETURN(checkpoint.step, reader.IntegerAttribute("/", "step"));
  RETORT_ASSIGN_OR_RETURN(checkpoint.attributes, reader.TextAttributes("/attributes"));
  RETORT_ASSIGN_OR_RETURN(checkpoint.tensors, ReadTensors(reader, "/tensors", {""}));
  return checkpoint;
}

}  // namespace

Result<Checkpoint> DecodeCheckpoint(std::string_view bytes, const std::string& name) {
  return ReadWithinMemory("'" + name + "'", [&] { return Decode(bytes, name); });
}

namespace {

constexpr std::string_view kAttemptPrefix = "attempt-";

std::optional<std::uint32_t> AttemptNumber(const std::string& name) {
  if (!name.starts_with(kAttemptPrefix)) return std::nullopt;
  const auto number =
      ParseWholeNumber(std::string_view(name).substr(kAttemptPrefix.size()), std::numeric_limits<std::uint32_t>::max());
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

Result<ManifestState> ReadManifest(Env& env, const std::string& directory) {
  const std::string path = directory + "/manifest.log";
  RETORT_ASSIGN_OR_RETURN(const LogContents contents, ReadRecordLog(env, path, LogKind::manifest));
  return ReplayManifest(contents, path);
}

Status ReadEarlierCurves(Env& env, const std::string& directory, EarlierState& state) {
  const std::string series = directory + "/series.log";
  RETORT_ASSIGN_OR_RETURN(const LogContents points, ReadRecordLog(env, series, LogKind::series));
  RETORT_ASSIGN_OR_RETURN(state.curves, ReplaySeries(points, series));
  return {};
}

// from == 0 when the attempt has no checkpoint that holds.
Result<EarlierState> FindCheckpoint(Env& env, const std::string& directory, std::uint32_t attempt) {
  RETORT_ASSIGN_OR_RETURN(const ManifestState manifest, ReadManifest(env, directory));
  EarlierState state;
  for (auto candidate = manifest.live.rbegin(); candidate != manifest.live.rend(); ++candidate) {
    RETORT_ASSIGN_OR_RETURN(std::optional<std::string> bytes, ReadIfIntact(env, directory, *candidate));
    if (!bytes) continue;
    const bool newest = candidate == manifest.live.rbegin();
    RETORT_RETURN_IF_ERROR(ReadEarlierCurves(env, directory, state));
    RETORT_ASSIGN_OR_RETURN(state.transcript, ReadTranscript(env, directory, candidate->step, newest));
    state.from = attempt;
    state.checkpoint = *candidate;
    state.bytes = std::move(*bytes);
    return state;
  }
  return state;
}

// from == 0 when no transcript of the attempt continues the beginning, or it released nothing.
Result<EarlierState> FindBeginning(Env& env, const std::string& directory, std::uint32_t attempt) {
  RETORT_ASSIGN_OR_RETURN(const ManifestState manifest, ReadManifest(env, directory));
  EarlierState state;
  const bool finished = manifest.ever_committed && manifest.live.empty();
  if (!manifest.begun || finished) return state;
  RETORT_RETURN_IF_ERROR(ReadEarlierCurves(env, directory, state));
  RETORT_ASSIGN_OR_RETURN(state.transcript, ReadTranscript(env, directory, 0, !manifest.ever_committed));
  state.from = state.transcript.empty() ? 0 : attempt;
  return state;
}

// A later attempt that began from a copy of the checkpoint and lost the copy knows what was released after it, too.
Status TakeLaterReleases(Env& env, const std::string& trial_directory, const std::vector<std::uint32_t>& attempts,
                         EarlierState& state) {
  for (const std::uint32_t number : attempts) {
    if (number <= state.from) break;
    const std::string directory = GetAttemptDirectory(trial_directory, number);
    const Result<ManifestState> manifest = ReadManifest(env, directory);
    if (!manifest.ok() && manifest.status().code() != StatusCode::damage) return manifest.status();
    if (!manifest.ok() || !manifest->imported || manifest->imported->sha256 != state.checkpoint->sha256) continue;
    RETORT_ASSIGN_OR_RETURN(std::vector<TranscriptRecord> later,
                            ReadTranscript(env, directory, state.checkpoint->step, false));
    if (later.size() <= state.transcript.size()) continue;
    state.transcript = std::move(later);
    return {};
  }
  return {};
}

}  // namespace

std::string GetAttemptDirectory(const std::string& trial_directory, std::uint32_t attempt) {
  return trial_directory + "/" + std::string(kAttemptPrefix) + std::to_string(attempt);
}

Result<std::vector<std::uint32_t>> ListEarlierAttempts(Env& env, const std::string& trial_directory,
                                                       std::uint32_t attempt) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(trial_directory));
  std::vector<std::uint32_t> attempts;
  for (const std::string& name : names) {
    if (const std::optional<std::uint32_t> number = AttemptNumber(name); number && *number < attempt) {
      attempts.push_back(*number);
    }
  }
  std::sort(attempts.rbegin(), attempts.rend());
  return attempts;
}

Result<EarlierState> FindEarlierState(Env& env, const std::string& trial_directory, std::uint32_t attempt) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> attempts,
                          ListEarlierAttempts(env, trial_directory, attempt));
  for (const auto& look : {FindCheckpoint, FindBeginning}) {
    for (const std::uint32_t number : attempts) {
      Result<EarlierState> state = look(env, GetAttemptDirectory(trial_directory, number), number);
      if (!state.ok() && state.status().code() == StatusCode::damage) continue;
      if (state.ok() && state->from == 0) continue;
      if (state.ok() && state->checkpoint)
        RETORT_RETURN_IF_ERROR(TakeLaterReleases(env, trial_directory, attempts, *state));
      return state;
    }
  }
  return EarlierState();
}

}  // namespace retort::storage
