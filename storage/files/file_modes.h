// Who may read what Retort writes. Files have mode 600 and folders 700, for this program and the workers that it
// starts, unless the user shares them: then 644 and 755, less the umask. Nobody else may ever write.
#pragma once

#include <sys/types.h>

#include <string>

#include "experiments/base/status.h"

namespace retort::storage {

inline constexpr mode_t kPrivateUmask = 077;

// Makes what this process and its children create from now on private, or (`shared`) lets it follow the umask that the
// process was started with. Returns that umask. REQUIRES: no other thread runs yet.
mode_t ChooseFileModes(bool shared);

// Sets the umask while it lives, for files that the user asked for by their paths. The umask belongs to the whole
// process: no other thread may create files meanwhile.
class UmaskScope {
 public:
  explicit UmaskScope(mode_t umask);
  ~UmaskScope();
  UmaskScope(const UmaskScope&) = delete;
  UmaskScope& operator=(const UmaskScope&) = delete;

 private:
  mode_t before_;
};

// Lets others read `folder` and what is in it, as far as `umask` allows. Links, files of other users and lock files
// (who can open one could hold it) are skipped. Error: environment, naming what cannot be opened.
[[nodiscard]] Status ShareFolder(const std::string& folder, mode_t umask);

// Whether the file's mode lets anybody but its owner read it. False when it does not exist.
[[nodiscard]] bool IsReadableByOthers(const std::string& path);

// Gives the open file `fd`, which is about to become `path`, the mode and group of the file of this user that it
// replaces; where there is none, takes the right to write from everybody but the owner.
void SetModeFor(const std::string& path, int fd);

// Removes all rights of others from an open lock file of this user.
void KeepLockPrivate(int fd);

}  // namespace retort::storage
