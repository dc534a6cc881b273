#include "orchestrator/service/cost_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "orchestrator/core/fleet.h"

namespace retort::orchestrator {
namespace {

// Returns 0 where there is no file.
double FindFileSize(const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<double>(bytes);
}

const TrialSpec* FindTeacher(const Core& core, const TrialSpec& spec) {
  const Trial* teacher = spec.parent ? core.Find(*spec.parent) : nullptr;
  return teacher == nullptr ? nullptr : &teacher->spec;
}

}  // namespace

CostRecorder::CostRecorder(storage::Env& env, CostCache cache, std::string host)
    : env_(env), cache_(std::move(cache)), host_(std::move(host)) {}

std::string CostRecorder::Events(Core& core, const std::vector<JournalEvent>& events, Now now) {
  for (const JournalEvent& event : events) {
    if (const auto* checkpoint = std::get_if<CheckpointNoted>(&event.event))
      NoteCheckpoint(core, *checkpoint);
    else if (const auto* ended = std::get_if<AttemptEnded>(&event.event))
      NoteEnd(core, *ended, event.at);
  }
  if (!unsaved_ || now.monotonic < next_save_) return "";
  next_save_ = now.monotonic + kSavePauseSeconds;
  return Finish();
}

void CostRecorder::NoteCheckpoint(const Core& core, const CheckpointNoted& event) {
  const double bytes =
      FindFileSize(fmt::format("{}/{}/attempt-{}/checkpoint-{}.h5", core.settings().results,
                               core.Get(event.attempt.trial).folder, event.attempt.number, event.step));
  double& largest = checkpoint_bytes_[event.attempt.trial];
  largest = std::max(largest, bytes);
}

void CostRecorder::NoteEnd(Core& core, const AttemptEnded& event, double unix_seconds) {
  const auto noted = checkpoint_bytes_.find(event.attempt.trial);
  const double checkpoint = noted == checkpoint_bytes_.end() ? 0 : noted->second;
  if (noted != checkpoint_bytes_.end()) checkpoint_bytes_.erase(noted);
  const Trial& trial = core.Get(event.attempt.trial);
  if (!event.succeeded || !trial.spec.data) return;  // what sleeps costs what it says
  std::optional<CostSample> sample = MakeSample(trial.spec, event.timings, static_cast<double>(trial.total_steps));
  if (!sample) return;
  sample->at = unix_seconds;
  sample->checkpoint_bytes = checkpoint;
  if (!event.file.empty()) sample->file_bytes = FindFileSize(core.settings().results + "/" + event.file);
  const std::string shape = ComputeCostShape(trial.spec, FindTeacher(core, trial.spec));
  core.costs.Add(shape, *sample);
  // Other hosts' machines may be of another kind: they count for this run alone.
  const auto agent = core.fleet.agents().find(WorldRank{trial.place.first});
  if (agent == core.fleet.agents().end() || HostKey(agent->second.registration) != host_) return;
  fresh_.Add(shape, *sample);
  unsaved_ = true;
}

std::string CostRecorder::Finish() {
  if (!unsaved_) return "";
  const Status saved = SaveCosts(env_, cache_, fresh_);
  unsaved_ = !saved.ok();
  if (saved.ok() || complained_) return "";
  complained_ = true;
  return "measured costs are not kept for the next sweep: " + saved.message();
}

}  // namespace retort::orchestrator
