// Whether there is something under a name, and whether two names mean the same. What cannot be looked at is not absent: only
// a name that is known not to be there counts as such.
#pragma once

#include <string>

#include "experiments/spec/status.h"
#include "storage/env.h"

namespace retort::storage {

// Links are followed. Error: environment, for all that is not known to be absent: a folder on the way that may not be
// entered or is a file, a link that leads nowhere or in a circle, a device that fails.
[[nodiscard]] Result<bool> IsThere(Env& env, const std::string& path);
// What an error of stat(2) on `path` says of it: false where nothing is there, which ENOENT alone may mean. Error: as IsThere.
[[nodiscard]] Result<bool> ThereBy(int error, const std::string& path);
// IsThere where doubt is to be treated as if something were there: what opens it says what is wrong.
[[nodiscard]] bool MayBeThere(Env& env, const std::string& path);
// A plain file is none, and neither is what is not there. Error: as IsThere.
[[nodiscard]] Result<bool> IsFolder(Env& env, const std::string& path);

// Whether everything at and below a path may be opened by this user, as far down as data sets go. Error: environment, for the
// first that may not.
[[nodiscard]] Status MayBeRead(Env& env, const std::string& path);

// Whether two names mean one file or folder: by device and inode once links are resolved. Names of nothing mean the same
// when they are spelled alike.
[[nodiscard]] bool SameFile(const std::string& a, const std::string& b);

}  // namespace retort::storage
