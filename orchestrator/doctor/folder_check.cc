#include "orchestrator/doctor/folder_check.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <system_error>

#include "cluster/launch_environment.h"
#include "experiments/base/number_text.h"
#include "orchestrator/journal/folder_lock.h"
#include "storage/files/env.h"

namespace retort::orchestrator::doctor {
namespace {

// The kernel writes a space as \040.
std::string Unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool Holds(const std::string& folder, const std::string& path) {
  return folder == "/" || path == folder || path.starts_with(folder + "/");
}

}  // namespace

// "36 35 98:0 /root /mnt rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=continue"
FileSystem FindFileSystem(const std::string& path, const std::string& mounts) {
  FileSystem found;
  std::ifstream file(mounts);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string number, parent, device, root, folder, mount_options, word, type, source, own_options;
    words >> number >> parent >> device >> root >> folder >> mount_options;
    while (words >> word && word != "-") {
    }
    if (!(words >> type >> source >> own_options)) continue;
    folder = Unescaped(folder);
    // The longest folder that holds it; of equal ones the last was mounted over the others.
    if (!Holds(folder, path) || folder.size() < found.mounted_at.size()) continue;
    found = {type, folder, "," + mount_options + "," + own_options + ","};
  }
  return found;
}

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFolderMiB = std::uint64_t{1} << 20;
constexpr double kSlowSync = 0.1;
constexpr double kClockTolerance = 2;  // some file systems keep whole seconds, FAT even ones
constexpr const char* kElsewhere = "--results DIR on another file system";

template <std::size_t N>
bool IsOneOf(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

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

// A file made, synced, locked and renamed, to see whether a folder can hold results.
// In a folder of its own below `facts.tried`, which is removed again. Fills what that showed: trouble,
// sync_*, lock_*, rename_trouble and clock_ahead_seconds.
void TryFolder(FolderFacts& facts) {
  std::string own = facts.tried + "/.retort-doctor-XXXXXX";
  if (::mkdtemp(own.data()) == nullptr) {
    const int error = errno;
    facts.trouble = "nothing can be made in " + facts.tried + " (" + std::generic_category().message(error) + ")";
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

}  // namespace

FolderFacts ReadFolderFacts(const std::string& folder, const std::vector<std::string>& environment) {
  FolderFacts facts;
  facts.folder = folder;
  facts.hdf5_locking = cluster::FindVariable(environment, "HDF5_USE_FILE_LOCKING").value_or("");
  std::error_code error;
  fs::path place = fs::absolute(folder, error).lexically_normal();
  while (!fs::exists(fs::symlink_status(place, error)) && place.has_relative_path()) place = place.parent_path();
  const fs::path real = fs::canonical(place, error);
  facts.tried = error ? place.string() : real.string();
  facts.file_system = FindFileSystem(facts.tried);
  if (error) {
    facts.trouble = facts.tried + ": " + error.message();
    return facts;
  }
  if (!fs::is_directory(real, error)) {
    facts.trouble = facts.tried + " is no folder";
    return facts;
  }
  facts.running = IsFolderLocked(storage::PosixEnv(), facts.tried);
  struct statvfs room {};
  if (::statvfs(facts.tried.c_str(), &room) == 0) {
    facts.free_bytes = std::uint64_t{room.f_bavail} * room.f_frsize;
    if (room.f_files > 0) facts.free_files = room.f_favail;
  }
  TryFolder(facts);
  return facts;
}

Finding CheckFolder(const FolderFacts& facts) {
  const std::string where =
      facts.tried == facts.folder ? facts.folder : fmt::format("{} (in {})", facts.folder, facts.tried);
  if (!facts.trouble.empty())
    return {"results folder", Level::problem,
            fmt::format("{} cannot be made or written to: {}", facts.folder, facts.trouble),
            facts.file_system.Has("ro") ? std::string(kElsewhere) + ": this one is mounted read-only"
                                        : "--results DIR where this user may write, or chown it"};
  if (!facts.sync_trouble.empty())
    return {"results folder", Level::problem, where + ": what was written cannot be synced: " + facts.sync_trouble,
            kElsewhere};
  if (!facts.rename_trouble.empty())
    return {"results folder", Level::problem,
            where + ": a file cannot take the place of another: " + facts.rename_trouble, kElsewhere};
  if (facts.sync_seconds > kSlowSync)
    return {"results folder", Level::warning,
            fmt::format("{}: syncing one record takes {:.0f} ms, and every release waits for one", where,
                        facts.sync_seconds * 1e3),
            std::string(kElsewhere) + ", or a larger trial.reserve_block"};
  const std::string how = fmt::format("written, synced ({:.1f} ms) and renamed in", facts.sync_seconds * 1e3);
  if (facts.running)
    return {"results folder", Level::note, where + ": " + how + "; a run has it now", "retort status shows it"};
  return {"results folder", Level::ok, where + ": " + how};
}

Finding CheckFreeSpace(const FolderFacts& facts) {
  std::string what = FormatBytes(facts.free_bytes) + " free";
  const std::string remedy = "remove what is not needed there, or " + std::string(kElsewhere);
  if (facts.free_bytes < 16 * kFolderMiB)
    return {"disk", Level::problem, what + ": too little for one checkpoint", remedy};
  if (facts.free_files && *facts.free_files < 100)
    return {"disk", Level::problem, fmt::format("{}, but room for {} files only", what, *facts.free_files), remedy};
  if (facts.free_bytes < 1024 * kFolderMiB)
    return {"disk", Level::warning, what + "; `retort plan SWEEP` says what a sweep needs", remedy};
  return {"disk", Level::ok, what};
}

Finding CheckFileSystem(const FolderFacts& facts) {
  static constexpr std::array<std::string_view, 3> kMemory = {"tmpfs", "ramfs", "devtmpfs"};
  static constexpr std::array<std::string_view, 6> kLoose = {"cifs", "smb3", "9p", "afs", "vboxsf", "fuse.sshfs"};
  const FileSystem& system = facts.file_system;
  const std::string what = fmt::format("{} at {}", system.type, system.mounted_at);
  if (system.type.empty()) return {"file system", Level::note, "of an unknown kind", ""};
  if (IsOneOf(system.type, kMemory))
    return {"file system", Level::warning, what + " is memory: results are lost when the host stops", kElsewhere};
  if (IsOneOf(system.type, kLoose))
    return {"file system", Level::warning, what + " promises neither that synced bytes stay nor that a lock holds",
            kElsewhere};
  if (system.type == "overlay")
    return {"file system", Level::note, what + " is a container's own: results end with it", "mount a volume for them"};
  const bool lustre = system.type == "lustre", nfs = system.type.starts_with("nfs");
  const bool local = system.Has("localflock") || system.Has("nolock") || system.Has("local_lock=all") ||
                     system.Has("local_lock=flock");
  if ((lustre || nfs) && local)
    return {"file system", Level::warning, what + " is mounted with locks that hold on one host only",
            lustre ? "mount it with -o flock" : "mount it without nolock and local_lock"};
  if (lustre || nfs) return {"file system", Level::ok, what + ", with locks that hold on every host"};
  return {"file system", Level::ok, what};
}

Finding CheckLocks(const FolderFacts& facts) {
  const std::string remedy =
      facts.file_system.type == "lustre" ? "mount it with -o flock, or " + std::string(kElsewhere) : kElsewhere;
  if (!facts.lock_trouble.empty())
    return {"file locks", Level::problem, "a lock cannot be had: " + facts.lock_trouble, remedy};
  if (!facts.lock_excludes)
    return {"file locks", Level::problem,
            "two locks on one file are both granted: nothing would keep two runs from writing the same results",
            remedy};
  return {"file locks", Level::ok, "one is granted, a second refused"};
}

std::optional<Finding> CheckHdf5Locking(const FolderFacts& facts) {
  static constexpr std::array<std::string_view, 5> kKnown = {"TRUE", "FALSE", "BEST_EFFORT", "0", "1"};
  const std::string& value = facts.hdf5_locking;
  if (value.empty()) return std::nullopt;
  const std::string set = "HDF5_USE_FILE_LOCKING=" + value;
  if (!IsOneOf(value, kKnown))
    return Finding{"HDF5", Level::warning, set + " means nothing to HDF5",
                   "one of TRUE, FALSE and BEST_EFFORT, or unset it"};
  return Finding{"HDF5", Level::note, set + "; Retort publishes HDF5 files by rename and needs no such lock", ""};
}

Finding CheckFileClock(const FolderFacts& facts) {
  if (!facts.clock_ahead_seconds) return {"file times", Level::note, "a new file has no time stamp", ""};
  const double ahead = *facts.clock_ahead_seconds;
  if (std::abs(ahead) > kClockTolerance)
    return {"file times", Level::warning,
            fmt::format("the clock of {} is {} {} that of this host", facts.file_system.mounted_at,
                        FormatDuration(std::abs(ahead)), ahead > 0 ? "ahead of" : "behind"),
            "set both by NTP (timedatectl, chronyc tracking)"};
  return {"file times", Level::ok, "agree with this host's clock"};
}

}  // namespace retort::orchestrator::doctor
