// A folder that is filled under a temporary name and then moved to its final one whole.
#pragma once

#include <string>
#include <string_view>

#include "experiments/base/status.h"

namespace retort::storage {

// A new, empty folder beside its final path, under a name that cannot be guessed. The destructor removes it with all
// that it holds unless it was published.
class TemporaryFolder {
 public:
  // Creates the folder that is to become `path`, with mode 777 less the umask. Error: environment, naming `path`.
  [[nodiscard]] static Result<TemporaryFolder> For(const std::string& path);
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] const std::string& path() const { return path_; }

  // Makes a folder below it, and those above; `name` is relative. Error: environment.
  [[nodiscard]] Status MakeFolder(const std::string& name) const;
  // Writes a new file below the folder, and makes the folders above it; `name` is relative. It is durable once the
  // folder is published. Error: environment, also where it is there already.
  [[nodiscard]] Status WriteFile(const std::string& name, std::string_view bytes) const;

  enum class Over { folder, nothing };
  // Syncs what the folder holds, renames it to its final path, and syncs the folder above. With Over::folder a folder
  // that is at the final path is exchanged for it and then removed. Errors: environment; usage, with Over::nothing,
  // when the final path exists by then.
  [[nodiscard]] Status Publish(Over over);

 private:
  TemporaryFolder(std::string path, std::string final_path);
  [[nodiscard]] Status Replace();

  std::string path_, final_path_;  // empty `path_`: there is none any more
};

}  // namespace retort::storage
