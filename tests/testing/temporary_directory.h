// A folder of its own for a test, removed at its end.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace retort::testing {

// Memory is taken where there is plenty and nobody asks for another place, a disk otherwise.
enum class Place { disk, memory };

inline std::string TemporaryRoot(Place place) {
  static constexpr const char* kMemory = "/dev/shm";
  struct statvfs disk {};
  const bool plenty = ::statvfs(kMemory, &disk) == 0 && (disk.f_bavail * disk.f_frsize) >> 32U > 0 &&
                      (disk.f_flag & ST_NOEXEC) == 0 && ::access(kMemory, W_OK) == 0;
  const bool asked = ::getenv("TEST_TMPDIR") != nullptr || ::getenv("TMPDIR") != nullptr;
  return place == Place::memory && plenty && !asked ? kMemory : ::testing::TempDir();
}

class TemporaryDirectory {
 public:
  // Memory is for tests of trials, which take longer to sync a disk than to train.
  explicit TemporaryDirectory(Place place = Place::disk) : path_(TemporaryRoot(place) + "/retort-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "cannot create a folder like " << path_;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace retort::testing
