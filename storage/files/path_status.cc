#include "storage/files/path_status.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "storage/files/env.h"

namespace retort::storage {
namespace {

namespace fs = std::filesystem;

// Of a name that stat(2) finds nothing under: whether a link is to blame, or nothing is there.
Status CheckNoBrokenLink(const std::string& path) {
  for (fs::path part = path; !part.empty() && part != part.parent_path(); part = part.parent_path()) {
    struct stat named {
    }, meant{};
    if (::lstat(part.c_str(), &named) != 0) {
      if (errno != ENOENT) return FileError(errno, "look at", path);
      continue;
    }
    if (S_ISLNK(named.st_mode) && ::stat(part.c_str(), &meant) != 0)
      return EnvironmentError("'" + part.string() + "' is a link that leads nowhere: mend it, or remove it.");
    break;  // what is there has no entry of the next name
  }
  return {};
}

fs::path Plain(const std::string& path) { return (fs::path(path).lexically_normal() / "").lexically_normal(); }

}  // namespace

Result<bool> PathExists(Env& env, const std::string& path) {
  if (env.Exists(path)) return true;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return true;
  return InterpretStatError(errno, path);
}

Result<bool> InterpretStatError(int error, const std::string& path) {
  if (error != ENOENT) return FileError(error, "look at", path);
  RETORT_RETURN_IF_ERROR(CheckNoBrokenLink(path));
  return false;
}

bool MayExist(Env& env, const std::string& path) {
  const Result<bool> there = PathExists(env, path);
  return !there.ok() || *there;
}

Result<bool> IsFolder(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const bool there, PathExists(env, path));
  if (!there) return false;
  RETORT_ASSIGN_OR_RETURN(const FileStamp stamp, env.Stamp(path));
  return stamp.folder;
}

namespace {

constexpr int kDeepest = 16;

Status MayBeReadBelow(Env& env, const std::string& path, int depth) {
  RETORT_ASSIGN_OR_RETURN(const bool folder, IsFolder(env, path));
  if (!folder) return env.OpenInput(path).status();
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(path));
  for (const std::string& name : names)
    if (depth > 0 && !name.starts_with('.')) RETORT_RETURN_IF_ERROR(MayBeReadBelow(env, path + "/" + name, depth - 1));
  return {};
}

}  // namespace

Status CheckReadable(Env& env, const std::string& path) { return MayBeReadBelow(env, path, kDeepest); }

bool IsSameFile(const std::string& a, const std::string& b) {
  struct stat one {
  }, other{};
  if (::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0)
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
  return Plain(a) == Plain(b);
}

}  // namespace retort::storage
