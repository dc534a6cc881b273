#include "orchestrator/journal/cost_cache.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "experiments/base/json.h"
#include "orchestrator/core/fleet.h"
#include "orchestrator/process/environment.h"
#include "storage/files/path_status.h"

namespace retort::orchestrator {
namespace {

using nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr std::size_t kFields = 7;  // the last was not always there

ordered_json SampleJson(const CostSample& sample) {
  return {sample.trial,         sample.at,         sample.unit_seconds,
          sample.start_seconds, sample.file_bytes, sample.checkpoint_bytes,
          sample.share};
}

bool ReadSample(const ordered_json& json, CostSample& sample) {
  if (!json.is_array() || json.size() > kFields || json.size() + 1 < kFields || !json[0].is_string()) return false;
  sample.trial = json[0].get<std::string>();
  double* const fields[] = {&sample.at,         &sample.unit_seconds,     &sample.start_seconds,
                            &sample.file_bytes, &sample.checkpoint_bytes, &sample.share};
  for (std::size_t i = 1; i < json.size(); ++i) {
    if (!json[i].is_number()) return false;
    *fields[i - 1] = json[i].get<double>();
    if (!std::isfinite(*fields[i - 1]) || *fields[i - 1] < 0) return false;
  }
  return sample.unit_seconds > 0 && sample.share > 0 && sample.share <= 1;
}

}  // namespace

std::string EncodeCosts(const MachineCosts& costs) {
  ordered_json document;
  document["retort_costs"] = kVersion;
  document["machines"] = ordered_json::object();
  for (const auto& [machine, model] : costs) {
    ordered_json& shapes = document["machines"][machine] = ordered_json::object();
    for (const auto& [shape, samples] : model.samples())
      for (const CostSample& sample : samples) shapes[shape].push_back(SampleJson(sample));
  }
  return DumpJson(document, 1) + "\n";
}

Result<MachineCosts> DecodeCosts(std::string_view text) {
  const ordered_json document = TryParseOrderedJson(text);
  const Status broken = DamageError("it does not hold measured costs of this version of retort");
  if (!document.is_object() || !document.contains("retort_costs") || document["retort_costs"] != kVersion ||
      !document.contains("machines") || !document["machines"].is_object())
    return broken;
  MachineCosts costs;
  for (const auto& [machine, shapes] : document["machines"].items()) {
    if (!shapes.is_object()) return broken;
    for (const auto& [shape, samples] : shapes.items()) {
      if (!samples.is_array()) return broken;
      for (const ordered_json& entry : samples) {
        CostSample sample;
        if (!ReadSample(entry, sample)) return broken;
        costs[machine].Add(shape, sample);
      }
    }
  }
  return costs;
}

namespace {

// Returns no costs where there is no file.
Result<MachineCosts> ReadCosts(storage::Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, path));
  if (!there) return MachineCosts();
  RETORT_ASSIGN_OR_RETURN(const std::string text, env.ReadFile(path));
  return DecodeCosts(text);
}

}  // namespace

CostCache OpenCostCache(storage::Env& env, const std::vector<std::string>& environment) {
  CostCache cache;
  cache.machine = FindMachineKind(environment);
  const std::string directory = FindCacheDirectory(environment);
  if (directory.empty()) return cache;
  cache.path = directory + "/costs.json";
  Result<MachineCosts> known = ReadCosts(env, cache.path);
  if (known.ok())
    cache.costs = std::move((*known)[cache.machine]);
  else
    cache.warning = cache.path + " is left out of estimates: " + known.status().message() +
                    "; it is written anew when a trial ends, and may be deleted";
  return cache;
}

Status SaveCosts(storage::Env& env, const CostCache& cache, const CostModel& costs) {
  if (cache.path.empty() || costs.samples().empty()) return {};
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(std::filesystem::path(cache.path).parent_path().string()));
  const auto lock = env.Lock(cache.path + ".lock");
  if (!lock.ok()) return {};
  Result<MachineCosts> known = ReadCosts(env, cache.path);
  MachineCosts all = known.ok() ? *std::move(known) : MachineCosts();
  all[cache.machine].Merge(costs);
  return env.WriteFileAtomically(cache.path, EncodeCosts(all));
}

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
  if (agent == core.fleet.agents().end() || GetHostKey(agent->second.registration) != host_) return;
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
