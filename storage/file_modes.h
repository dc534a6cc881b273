// Who may read what Retort writes. A file's mode is 600 and a folder's 700, for this program and the workers that it starts,
// unless the user shares them: then 644 and 755, less what their umask takes. Nobody else ever writes.
#pragma once

#include <sys/types.h>

#include <string>

#include "experiments/spec/status.h"

namespace retort::storage {

inline constexpr mode_t kPrivateUmask = 077;

// Makes what this process and its children create from now on private, or lets it follow the umask that the process was
// started with. Returns that umask. For the start of a program: no other thread runs yet.
mode_t ChooseFileModes(bool shared);

// While it lives, what is created follows `umask`: files that the user asked for by their paths. The umask is the whole
// process': no other thread may create files meanwhile.
class UmaskScope {
 public:
  explicit UmaskScope(mode_t umask);
  ~UmaskScope();
  UmaskScope(const UmaskScope&) = delete;
  UmaskScope& operator=(const UmaskScope&) = delete;

 private:
  mode_t before_;
};

// Lets others read what is in `folder`, and itself, as far as `umask` does. Links and what belongs to other users are passed
// over, and so are lock files: whoever can open one could hold it. Error: environment, naming what cannot be opened.
[[nodiscard]] Status ShareFolder(const std::string& folder, mode_t umask);

// Whether the file's mode lets anybody but its owner read it. False for what is not there.
[[nodiscard]] bool OthersMayRead(const std::string& path);

// For the open file `fd` that is about to become `path`: the mode and group of the file of this user's own that it replaces,
// so that whoever was let in stays so; else nobody but its owner writes, whatever made it.
void SetModeFor(const std::string& path, int fd);

// Takes from an open lock file of this user's own what others may do with it.
void KeepLockPrivate(int fd);

}  // namespace retort::storage
