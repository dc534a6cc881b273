// Checks whether a folder can hold results: its file system, free space, locks and clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/doctor/report.h"

namespace retort::orchestrator::doctor {

struct FileSystem {
  std::string type;  // as the kernel mounts it: "ext4", "nfs4", "lustre", "overlay"; empty when not known
  std::string mounted_at;
  std::string options;  // of the mount and of the file system, with commas at both ends: ",rw,noatime,"
  [[nodiscard]] bool Has(const std::string& option) const {
    return options.find("," + option + ",") != std::string::npos;
  }
};

// `path`: absolute, without links. `mounts`: as /proc/self/mountinfo.
[[nodiscard]] FileSystem FindFileSystem(const std::string& path, const std::string& mounts = "/proc/self/mountinfo");

// Whether results can be kept where they are to go: room, syncing, locks, renaming.

struct FolderFacts {
  std::string folder;   // as the user means it
  std::string tried;    // itself, or the nearest folder above it that exists: nothing is left behind in it
  std::string trouble;  // why nothing can be made there; empty when something could
  FileSystem file_system;
  std::uint64_t free_bytes = 0;
  std::optional<std::uint64_t> free_files;    // nothing where the file system does not count them
  std::string sync_trouble;                   // why a written file could not be synced
  double sync_seconds = 0;                    // the slowest of a few appends of one record
  std::string lock_trouble;                   // why a lock could not be had
  bool lock_excludes = false;                 // a second lock on the same file was refused
  std::string rename_trouble;                 // why a file could not take the place of another
  std::optional<double> clock_ahead_seconds;  // time stamp of a new file minus this host's clock
  bool running = false;                       // some process holds the folder's lock
  std::string hdf5_locking;                   // HDF5_USE_FILE_LOCKING, where it is set
};

// Makes a file or two in the folder, or in what will hold it, and removes them.
[[nodiscard]] FolderFacts ReadFolderFacts(const std::string& folder, const std::vector<std::string>& environment);

// It is there or can be made, written to, synced and renamed in.
[[nodiscard]] Finding CheckFolder(const FolderFacts& facts);
// Of a folder that can be written to:
[[nodiscard]] Finding CheckFreeSpace(const FolderFacts& facts);
[[nodiscard]] Finding CheckFileSystem(const FolderFacts& facts);
[[nodiscard]] Finding CheckLocks(const FolderFacts& facts);
[[nodiscard]] std::optional<Finding> CheckHdf5Locking(const FolderFacts& facts);
[[nodiscard]] Finding CheckFileClock(const FolderFacts& facts);

}  // namespace retort::orchestrator::doctor
