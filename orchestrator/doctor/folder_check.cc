#include "orchestrator/doctor/folder_check.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cluster/launch_environment.h"
#include "orchestrator/cli/number_text.h"
#include "orchestrator/doctor/folder_trial.h"
#include "orchestrator/folder_lock.h"
#include "storage/env.h"

namespace retort::orchestrator::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr double kSlowSync = 0.1;
constexpr double kClockTolerance = 2;  // some file systems keep whole seconds, FAT even ones
constexpr const char* kElsewhere = "--results DIR on another file system";

template <std::size_t N>
bool OneOf(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

FolderFacts LookAtFolder(const std::string& folder, const std::vector<std::string>& environment) {
  FolderFacts facts;
  facts.folder = folder;
  facts.hdf5_locking = cluster::FindVariable(environment, "HDF5_USE_FILE_LOCKING").value_or("");
  std::error_code error;
  fs::path place = fs::absolute(folder, error).lexically_normal();
  while (!fs::exists(fs::symlink_status(place, error)) && place.has_relative_path())
    place = place.parent_path();
  const fs::path real = fs::canonical(place, error);
  facts.tried = error ? place.string() : real.string();
  facts.file_system = FileSystemOf(facts.tried);
  if (error) {
    facts.trouble = facts.tried + ": " + error.message();
    return facts;
  }
  if (!fs::is_directory(real, error)) {
    facts.trouble = facts.tried + " is no folder";
    return facts;
  }
  facts.running = FolderIsLocked(storage::PosixEnv(), facts.tried);
  struct statvfs room {};
  if (::statvfs(facts.tried.c_str(), &room) == 0) {
    facts.free_bytes = std::uint64_t{room.f_bavail} * room.f_frsize;
    if (room.f_files > 0) facts.free_files = room.f_favail;
  }
  TryFolder(facts);
  return facts;
}

Finding JudgeFolder(const FolderFacts& facts) {
  const std::string where =
      facts.tried == facts.folder ? facts.folder : fmt::format("{} (in {})", facts.folder, facts.tried);
  if (!facts.trouble.empty())
    return {"results folder", Level::problem,
            fmt::format("{} cannot be made or written to: {}", facts.folder, facts.trouble),
            facts.file_system.Has("ro") ? std::string(kElsewhere) + ": this one is mounted read-only"
                                        : "--results DIR where this user may write, or chown it"};
  if (!facts.sync_trouble.empty())
    return {"results folder", Level::problem,
            where + ": what was written cannot be synced: " + facts.sync_trouble, kElsewhere};
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
    return {"results folder", Level::note, where + ": " + how + "; a run has it now",
            "retort status shows it"};
  return {"results folder", Level::ok, where + ": " + how};
}

Finding JudgeRoom(const FolderFacts& facts) {
  std::string what = cli::BytesText(facts.free_bytes) + " free";
  const std::string remedy = "remove what is not needed there, or " + std::string(kElsewhere);
  if (facts.free_bytes < 16 * kMiB)
    return {"disk", Level::problem, what + ": too little for one checkpoint", remedy};
  if (facts.free_files && *facts.free_files < 100)
    return {"disk", Level::problem, fmt::format("{}, but room for {} files only", what, *facts.free_files),
            remedy};
  if (facts.free_bytes < 1024 * kMiB)
    return {"disk", Level::warning, what + "; `retort plan SWEEP` says what a sweep needs", remedy};
  return {"disk", Level::ok, what};
}

Finding JudgeFileSystem(const FolderFacts& facts) {
  static constexpr std::array<std::string_view, 3> kMemory = {"tmpfs", "ramfs", "devtmpfs"};
  static constexpr std::array<std::string_view, 6> kLoose = {"cifs", "smb3",   "9p",
                                                             "afs",  "vboxsf", "fuse.sshfs"};
  const FileSystem& system = facts.file_system;
  const std::string what = fmt::format("{} at {}", system.type, system.mounted_at);
  if (system.type.empty()) return {"file system", Level::note, "of an unknown kind", ""};
  if (OneOf(system.type, kMemory))
    return {"file system", Level::warning, what + " is memory: results are lost when the host stops",
            kElsewhere};
  if (OneOf(system.type, kLoose))
    return {"file system", Level::warning,
            what + " promises neither that synced bytes stay nor that a lock holds", kElsewhere};
  if (system.type == "overlay")
    return {"file system", Level::note, what + " is a container's own: results end with it",
            "mount a volume for them"};
  const bool lustre = system.type == "lustre", nfs = system.type.starts_with("nfs");
  const bool local = system.Has("localflock") || system.Has("nolock") || system.Has("local_lock=all") ||
                     system.Has("local_lock=flock");
  if ((lustre || nfs) && local)
    return {"file system", Level::warning, what + " is mounted with locks that hold on one host only",
            lustre ? "mount it with -o flock" : "mount it without nolock and local_lock"};
  if (lustre || nfs) return {"file system", Level::ok, what + ", with locks that hold on every host"};
  return {"file system", Level::ok, what};
}

Finding JudgeLocks(const FolderFacts& facts) {
  const std::string remedy = facts.file_system.type == "lustre"
                                 ? "mount it with -o flock, or " + std::string(kElsewhere)
                                 : kElsewhere;
  if (!facts.lock_trouble.empty())
    return {"file locks", Level::problem, "a lock cannot be had: " + facts.lock_trouble, remedy};
  if (!facts.lock_excludes)
    return {
        "file locks", Level::problem,
        "two locks on one file are both granted: nothing would keep two runs from writing the same results",
        remedy};
  return {"file locks", Level::ok, "one is granted, a second refused"};
}

std::optional<Finding> JudgeHdf5Locking(const FolderFacts& facts) {
  static constexpr std::array<std::string_view, 5> kKnown = {"TRUE", "FALSE", "BEST_EFFORT", "0", "1"};
  const std::string& value = facts.hdf5_locking;
  if (value.empty()) return std::nullopt;
  const std::string set = "HDF5_USE_FILE_LOCKING=" + value;
  if (!OneOf(value, kKnown))
    return Finding{"HDF5", Level::warning, set + " means nothing to HDF5",
                   "one of TRUE, FALSE and BEST_EFFORT, or unset it"};
  return Finding{"HDF5", Level::note, set + "; Retort publishes HDF5 files by rename and needs no such lock",
                 ""};
}

Finding JudgeFileClock(const FolderFacts& facts) {
  if (!facts.clock_ahead_seconds) return {"file times", Level::note, "a new file has no time stamp", ""};
  const double ahead = *facts.clock_ahead_seconds;
  if (std::abs(ahead) > kClockTolerance)
    return {"file times", Level::warning,
            fmt::format("the clock of {} is {} {} that of this host", facts.file_system.mounted_at,
                        cli::DurationText(std::abs(ahead)), ahead > 0 ? "ahead of" : "behind"),
            "set both by NTP (timedatectl, chronyc tracking)"};
  return {"file times", Level::ok, "agree with this host's clock"};
}

}  // namespace retort::orchestrator::doctor
