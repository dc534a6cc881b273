// Finds what is torn, missing or left over in a results folder, and repairs it. Nothing is deleted: files that are
// moved aside lie in RESULTS/quarantine-<n>/ under the same name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "storage/files/env.h"
#include "storage/results/attempt_account.h"

namespace retort::orchestrator {

enum class RepairAction : std::uint8_t {
  rewrite,     // the file is replaced by `content`, or gets `account`; as it was, it is kept aside
  move_aside,  // the file is kept aside
  make_anew,   // results.h5, from journal and ledger; as it was, it is kept aside
  none,        // beyond repair: only the user can do something
};
[[nodiscard]] std::string_view GetActionName(RepairAction action);  // "rewrite", "move-aside", "make-anew", "none"

struct RepairItem {
  std::string where;   // below the results folder
  std::string what;    // is wrong
  std::string remedy;  // what the action does; for `none`, what the user can do
  RepairAction action = RepairAction::none;
  std::string content;  // of rewrite
  // Of rewrite, where the file is an attempt.h5 whose ledger and claims are not those of its trial: what they become.
  std::optional<storage::TrialAccount> account = std::nullopt;
};

struct RepairPlan {
  std::vector<RepairItem> items;
  std::vector<std::string> notes;  // harmless
  [[nodiscard]] std::size_t BeyondRepair() const;
};

// Reads only; the caller holds the folder's lock. Error: environment when there is no journal or a file
// cannot be read; usage for a folder of another format version.
[[nodiscard]] Result<RepairPlan> PlanRepair(storage::Env& env, const std::string& directory);

// Does what the plan says and makes results.h5 anew. Returns the quarantine folder's name; empty when nothing
// was kept aside. A stop in between loses nothing: repair again. Error: environment.
[[nodiscard]] Result<std::string> ApplyRepair(storage::Env& env, const std::string& directory, const RepairPlan& plan);

}  // namespace retort::orchestrator
