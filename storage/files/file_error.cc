#include "storage/files/file_error.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace retort::storage {
namespace {

const char* FindRemedy(int error) {
  switch (error) {
    case ENOSPC:
      return "The disk is full: free some space and run the same command again, or choose another folder "
             "with --results DIR.";
    case EDQUOT:
      return "The disk quota is used up: free some space and run the same command again, or choose another "
             "folder with --results DIR.";
    case EROFS:
      return "The file system is mounted read-only: choose a writable folder with --results DIR, or remount "
             "it.";
    case EACCES:
    case EPERM:
      return "Change the owner or the mode, or choose another place.";
    case ENOENT:
      return "A part of the path does not exist: check the spelling.";
    case ENAMETOOLONG:
      return "A file name has 255 bytes at most, and a path 4095: choose a shorter one.";
    case ENOTDIR:
      return "A part of the path is a file and not a folder: check the spelling.";
    case EISDIR:
      return "A file was expected and a folder is there: move the folder away.";
    case EMFILE:
    case ENFILE:
      return "Too many files are open: raise the limit (ulimit -n).";
    case EIO:
      return "The device reported an error: check the disk (dmesg).";
    case ENOLCK:
    case EOPNOTSUPP:
      return "This file system has no file locks: keep the results on a local disk, or mount it with locks.";
    default:
      return "";
  }
}

std::string UserText(uid_t user) {
  passwd entry{}, *found = nullptr;
  char names[4096];
  if (::getpwuid_r(user, &entry, names, sizeof(names), &found) == 0 && found != nullptr) return entry.pw_name;
  return "user " + std::to_string(user);
}

// Of what keeps this user out: the first folder on the way that may not be entered, else the thing itself, or the
// folder that it would be made in.
std::string DescribeOwner(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path part, seen;
  struct stat status {
  }, newest{};
  for (const std::filesystem::path& name : std::filesystem::absolute(path, ignored)) {
    part /= name;
    if (::stat(part.c_str(), &newest) != 0) break;
    seen = part;
    status = newest;
    if (S_ISDIR(status.st_mode) && ::faccessat(AT_FDCWD, part.c_str(), X_OK, AT_EACCESS) != 0) break;
  }
  if (seen.empty()) return "";
  char mode[8];
  std::snprintf(mode, sizeof(mode), "%o", static_cast<unsigned>(status.st_mode & 07777));
  return "'" + seen.string() + "' belongs to " + UserText(status.st_uid) + " and has mode " + mode + ", and this is " +
         UserText(::geteuid()) + ".";
}

// What is free where `path` lies or would lie, as a sentence; empty where that cannot be told.
std::string DescribeFreeSpace(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::absolute(path, ignored).parent_path();
  struct statvfs space {};
  while (::statvfs(folder.c_str(), &space) != 0) {
    if (folder.empty() || folder == folder.root_path()) return "";
    folder = folder.parent_path();
  }
  return FormatMebibytes(std::uint64_t{space.f_bavail} * space.f_frsize) + " are free in '" + folder.string() + "'.";
}

}  // namespace

Status FileError(int error, const std::string& doing, const std::string& path) {
  std::string message =
      "Cannot " + doing + " '" + path + "': " + std::error_code(error, std::generic_category()).message() + ".";
  if (error == EACCES || error == EPERM)
    if (const std::string whose = DescribeOwner(path); !whose.empty()) message += " " + whose;
  if (const std::string remedy = FindRemedy(error); !remedy.empty()) message += " " + remedy;
  if (error == ENOSPC)
    if (const std::string free = DescribeFreeSpace(path); !free.empty()) message += " " + free;
  return EnvironmentError(std::move(message));
}

std::string FormatMebibytes(std::uint64_t bytes) {
  char text[32] = {};
  std::snprintf(text, sizeof(text), "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

Status CheckFreeSpace(Env& env, const std::string& directory, std::uint64_t bytes, const std::string& what) {
  RETORT_ASSIGN_OR_RETURN(const std::uint64_t free, env.FreeBytes(directory.empty() ? "." : directory));
  if (free >= kSpareBytes && free - kSpareBytes >= bytes) return {};
  return EnvironmentError("The disk is full: " + what + " of " + FormatMebibytes(bytes) + " does not fit into the " +
                          FormatMebibytes(free) + " that are left for '" + directory + "' (" +
                          FormatMebibytes(kSpareBytes) +
                          " stay free for the logs). Free some space and run the same command again, or choose "
                          "another folder with --results DIR.");
}

}  // namespace retort::storage
