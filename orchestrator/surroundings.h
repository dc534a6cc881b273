// What a core cannot know by itself of the folder that it works in: what audits refute, and what the other sweeps of the
// results root have spent.
#pragma once

#include <optional>

#include "orchestrator/core.h"
#include "storage/env.h"

namespace retort::orchestrator {

// Fills refuted, charged_beside, other_budgets, root and root_trouble. Reads the other sweeps' folders: once a run.
void LearnSurroundings(storage::Env& env, Core& core);

// Sees audits that are stored while a run goes on.
class AuditWatch {
 public:
  static constexpr double kPauseSeconds = 5;
  static constexpr double kPauseFactor = 200;  // times what reading them took

  explicit AuditWatch(storage::Env& env) : env_(env) {}
  // Does something when it is due. Whether `core.refuted` has changed.
  [[nodiscard]] bool Look(Core& core, double monotonic);

 private:
  storage::Env& env_;
  std::optional<storage::FileStamp> seen_;  // of the mark that every audit leaves
  double next_ = 0;                         // monotonic
};

}  // namespace retort::orchestrator
