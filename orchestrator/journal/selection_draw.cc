#include "orchestrator/journal/selection_draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <utility>

#include "experiments/base/digests.h"
#include "experiments/base/json.h"
#include "experiments/base/number_text.h"
#include "experiments/methods/canonical_encoding.h"
#include "storage/files/path_status.h"

namespace retort::orchestrator {
namespace {

constexpr int kDrawVersion = 1;
constexpr const char* kMark = "hidden-trials";
constexpr const char* kStands = "stands";  // in TrialSpec::draw of the trial that stands for a selection
constexpr std::uint64_t kSeeds = std::uint64_t{1} << 53;

std::string DrawPath(const std::string& results) { return GetHiddenFolder(results) + "/draw.json"; }

std::string FormatHex(std::uint64_t bits) { return TrialId(bits).Hex(); }

std::uint64_t FirstBits(const std::array<std::uint8_t, 32>& digest) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 8; ++i) bits = (bits << 8) | digest[i];
  return bits;
}

double FindScore(const storage::ResultRow& row, const std::string& metric) {
  constexpr double kLowest = -std::numeric_limits<double>::infinity();
  if (row.state != GetStateName(TrialState::succeeded)) return kLowest;
  for (const auto& [name, value] : row.metrics)
    if (name == metric) return std::isnan(value) ? kLowest : value;
  return kLowest;
}

Result<Pick> DecodePick(const nlohmann::json& json) {
  Pick pick;
  pick.candidate = json.at(0).get<std::size_t>();
  pick.seed = json.at(1).get<std::uint64_t>();
  pick.nonce = json.at(2).get<std::string>();
  if (pick.seed >= kSeeds || !TrialId::FromHex(pick.nonce)) return DamageError("a draw holds what none draws");
  return pick;
}

}  // namespace

std::string GetHiddenFolder(const std::string& results) { return results + "/hidden"; }

std::string GetHiddenResults(const std::string& results) { return GetHiddenFolder(results) + "/run"; }

std::string DescribeHidden(storage::Env& env, const std::string& results) {
  if (!storage::MayExist(env, results + "/" + kMark)) return "";
  return results +
         " holds the trials that a private selection has drawn: its claim holds only while nobody sees how many there "
         "are, or anything of those that are not chosen. They are destroyed when it has ended; then the released trial "
         "is in the folder of the sweep";
}

Status MarkHidden(storage::Env& env, const std::string& results) {
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(results));
  return env.WriteFileAtomically(results + "/" + kMark, "");
}

TrialSpec MakeSelectionTrial(const SweepPlan& plan) {
  const SelectSpec& select = *plan.select;
  std::string all = select.score + '\n' + select.distribution + '\n' + FormatExactNumber(select.mean) + '\n' +
                    (select.eta ? FormatExactNumber(*select.eta) : "") + '\n';
  if (select.score_noise > 0) all += FormatExactNumber(select.score_noise) + '\n';
  for (const TrialSpec& candidate : plan.trials) all += candidate.id.Hex() + '\n';
  TrialSpec spec = plan.trials.front();
  spec.score = select.score;
  spec.score_noise = select.score_noise;
  spec.draw = kStands + (" " + ComputeSha256Hex(all));
  spec.axes.clear();
  spec.name = "selection" + (spec.data ? "-" + spec.data->name : "");
  spec.id = ComputeTrialId(spec);
  return spec;
}

SelectionDraw DrawSelection(TrialId selection, const privacy::DrawLaw& law, std::size_t candidates,
                            const privacy::BitSource& bits) {
  SelectionDraw draw{selection, {}};
  const std::int64_t count = privacy::DrawCandidateCount(law, bits);
  for (std::int64_t i = 0; i < count; ++i) {
    Pick pick;
    pick.candidate = static_cast<std::size_t>(privacy::DrawBelow(static_cast<std::int64_t>(candidates), bits));
    pick.seed = bits() % kSeeds;
    pick.nonce = FormatHex(bits());
    draw.picks.push_back(std::move(pick));
  }
  return draw;
}

privacy::BitSource MakeDrawBits(const TrialSpec& selection) {
  if (selection.noise != NoiseMode::seeded) return privacy::DrawSystemBits;
  const auto counter = std::make_shared<std::uint64_t>(0);
  return [counter, key = "retort-draw " + selection.id.Hex()] {
    return FirstBits(ComputeSha256(key + " " + std::to_string((*counter)++)));
  };
}

Result<std::optional<SelectionDraw>> ReadDraw(storage::Env& env, const std::string& results) {
  const std::string path = DrawPath(results);
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, path));
  if (!there) return std::optional<SelectionDraw>();
  RETORT_ASSIGN_OR_RETURN(const std::string text, env.ReadFile(path));
  return ReadJson<std::optional<SelectionDraw>>(
      text, "'" + path + "'", [](const nlohmann::json& json) -> Result<std::optional<SelectionDraw>> {
        if (json.at("version").get<int>() != kDrawVersion) return UsageError("a draw of another version of retort");
        const std::optional<TrialId> id = TrialId::FromHex(json.at("selection").get<std::string>());
        if (!id) return DamageError("a draw of no selection");
        SelectionDraw draw{*id, {}};
        for (const nlohmann::json& one : json.at("picks")) {
          RETORT_ASSIGN_OR_RETURN(Pick pick, DecodePick(one));
          draw.picks.push_back(std::move(pick));
        }
        return std::optional<SelectionDraw>(std::move(draw));
      });
}

Status WriteDraw(storage::Env& env, const std::string& results, const SelectionDraw& draw) {
  nlohmann::json picks = nlohmann::json::array();
  for (const Pick& pick : draw.picks) picks.push_back({pick.candidate, pick.seed, pick.nonce});
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(GetHiddenFolder(results)));
  return env.WriteFileAtomically(
      DrawPath(results),
      DumpJson({{"version", kDrawVersion}, {"selection", draw.selection.Hex()}, {"picks", std::move(picks)}}) + "\n");
}

std::vector<TrialSpec> MakeDrawnTrials(const SweepPlan& plan, const SelectionDraw& draw) {
  std::vector<TrialSpec> trials;
  trials.reserve(draw.picks.size());
  for (const Pick& pick : draw.picks) {
    TrialSpec spec = plan.trials.at(pick.candidate);
    spec.seed = pick.seed;
    spec.score = plan.select->score;
    spec.score_noise = plan.select->score_noise;
    spec.draw = draw.selection.Hex() + " " + pick.nonce;
    spec.id = ComputeTrialId(spec);
    if (const std::size_t tail = spec.name.rfind("-s0"); tail != std::string::npos) spec.name.resize(tail);
    spec.name += "-selected";
    trials.push_back(std::move(spec));
  }
  return trials;
}

bool IsDrawnBy(const TrialSpec& spec, TrialId selection) { return spec.draw.starts_with(selection.Hex() + " "); }

Result<std::size_t> ChooseBest(const Core& core, const std::vector<TrialSpec>& drawn) {
  std::size_t best = 0;
  double highest = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const Trial* trial = core.Find(drawn[i].id);
    if (trial == nullptr || !trial->row) return DamageError("a drawn trial has no row");
    RETORT_ASSIGN_OR_RETURN(const storage::ResultRow row, trial->row.Read(GetStateName(trial->state)));
    const double score = FindScore(row, drawn[i].score);
    if (score > highest) {
      best = i;
      highest = score;
    }
  }
  return best;
}

}  // namespace retort::orchestrator
