// Tells a core what it cannot know of its results folder: what audits refute, what the other sweeps of the results root
// have spent, and whether the folder is still there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "orchestrator/core/core.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

// Fills audit_voids, other_charges, other_budgets, root and root_trouble. Reads the other sweeps' folders: once a
// run.
void ReadSurroundings(storage::Env& env, Core& core);

// Notices audits that are stored while a run goes on.
class AuditWatch {
 public:
  static constexpr double kPauseSeconds = 5;
  static constexpr double kPauseFactor = 200;  // times what reading them took

  explicit AuditWatch(storage::Env& env) : env_(env) {}
  // Does something when it is due. Whether `core.audit_voids` has changed.
  [[nodiscard]] bool Look(Core& core, double monotonic);

 private:
  storage::Env& env_;
  std::optional<storage::FileStamp> seen_;  // of the mark that every audit leaves
  double next_ = 0;                         // monotonic
};

// Notices that a results folder is no longer where its run began. The logs follow a folder that is moved, since they
// are open, but all that is written by its name would go elsewhere.
class FolderWatch {
 public:
  static constexpr double kLookSeconds = 1;

  // What is at `results` now is the right one.
  FolderWatch(storage::Env& env, std::string results);
  // Does something when it is due. Error: environment, when another folder is there, or none.
  [[nodiscard]] Status Look(double monotonic);

 private:
  storage::Env& env_;
  std::string results_;
  bool telling_ = false;  // the file system tells folders apart
  std::uint64_t inode_ = 0;
  double next_ = 0;  // monotonic
};

}  // namespace retort::orchestrator
