// What is at a path, and whether two paths mean the same file. A path that cannot be looked at is not taken for absent:
// that is an error.
#pragma once

#include <string>

#include "experiments/base/status.h"
#include "storage/files/env.h"

namespace retort::storage {

// Links are followed. Error: environment, when it cannot be said whether the path exists: a folder on the way may not
// be entered or is a file, a link leads nowhere or in a circle, a device fails.
[[nodiscard]] Result<bool> PathExists(Env& env, const std::string& path);
// Interprets the errno of a failed stat(2) on `path`: false when the path does not exist, which ENOENT alone may mean.
// Error: as PathExists.
[[nodiscard]] Result<bool> InterpretStatError(int error, const std::string& path);
// PathExists, and true when that is an error: opening the path then says what is wrong.
[[nodiscard]] bool MayExist(Env& env, const std::string& path);
// False for a plain file and for a path that does not exist. Error: as PathExists.
[[nodiscard]] Result<bool> IsFolder(Env& env, const std::string& path);

// Checks that this user may open everything at and below a path, as deep as data sets go. Error: environment, for the
// first that may not be opened.
[[nodiscard]] Status CheckReadable(Env& env, const std::string& path);

// Whether two paths mean one file or folder, by device and inode after links are resolved. Paths that do not exist mean
// the same when they are spelled alike.
[[nodiscard]] bool IsSameFile(const std::string& a, const std::string& b);

}  // namespace retort::storage
