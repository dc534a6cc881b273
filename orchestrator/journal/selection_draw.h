// The draw of a private selection: K, the candidates, and a seed of each. It lies in a folder that is hidden while the
// selection goes on, and is destroyed with it: whoever knows K, or which candidates were drawn, learns more than the
// selection's claim covers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "experiments/privacy/accountants/selection_draws.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/core/core.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

// What lies below a results folder while a selection goes on.
[[nodiscard]] std::string GetHiddenFolder(const std::string& results);
// The results folder of the drawn trials, in it; no command shows it.
[[nodiscard]] std::string GetHiddenResults(const std::string& results);
// Why a folder that holds drawn trials is not shown; empty for every other folder.
[[nodiscard]] std::string DescribeHidden(storage::Env& env, const std::string& results);
// Marks a results folder as one of drawn trials. Error: environment.
[[nodiscard]] Status MarkHidden(storage::Env& env, const std::string& results);

// Whether a trial was drawn by a selection, or stands for one.
[[nodiscard]] inline bool IsOfSelection(const TrialSpec& spec) { return !spec.draw.empty(); }

// The trial that stands for the selection of `plan` in its results folder until one is released: what the ledger
// charges, it charges to this one. Its id depends on every candidate, on the law and on the score. REQUIRES:
// plan.select and at least one trial.
[[nodiscard]] TrialSpec MakeSelectionTrial(const SweepPlan& plan);

struct Pick {
  std::size_t candidate = 0;  // index in the plan's trials
  std::uint64_t seed = 0;     // below 2^53, so that every reader of a row holds it
  std::string nonce;          // 16 hex digits: equal picks are two trials
  bool operator==(const Pick&) const = default;
};

struct SelectionDraw {
  TrialId selection;
  std::vector<Pick> picks;  // K of them, in the order of the draw
  bool operator==(const SelectionDraw&) const = default;
};

// Draws K, then so many candidates with replacement. REQUIRES: candidates >= 1.
[[nodiscard]] SelectionDraw DrawSelection(TrialId selection, const privacy::DrawLaw& law, std::size_t candidates,
                                          const privacy::BitSource& bits);
// The operating system's entropy; of a seeded sweep, whose claims are infinite, bits that follow from the selection.
[[nodiscard]] privacy::BitSource MakeDrawBits(const TrialSpec& selection);

// Nothing where none was stored. Error: damage, for what WriteDraw has not written.
[[nodiscard]] Result<std::optional<SelectionDraw>> ReadDraw(storage::Env& env, const std::string& results);
// Durable when it returns.
[[nodiscard]] Status WriteDraw(storage::Env& env, const std::string& results, const SelectionDraw& draw);

// The drawn trials, in the order of the draw. REQUIRES: the draw is of this plan.
[[nodiscard]] std::vector<TrialSpec> MakeDrawnTrials(const SweepPlan& plan, const SelectionDraw& draw);
// Whether `spec` was drawn by that selection.
[[nodiscard]] bool IsDrawnBy(const TrialSpec& spec, TrialId selection);

// The index of the trial with the best score, the first of several; one that failed has the lowest. `core` holds the
// rows of all of them. REQUIRES: at least one trial. Error: damage, for a row that cannot be read.
[[nodiscard]] Result<std::size_t> ChooseBest(const Core& core, const std::vector<TrialSpec>& drawn);

}  // namespace retort::orchestrator
