#include "storage/log/checkpoint_manifest.h"

#include <algorithm>
#include <utility>

#include "experiments/base/digests.h"
#include "experiments/base/json.h"
#include "experiments/methods/spec_codec.h"
#include "storage/files/path_status.h"

namespace retort::storage {
namespace {

void AppendJson(RecordLog& manifest, ManifestRecord type, const nlohmann::json& json) {
  manifest.Append(static_cast<std::uint16_t>(type), DumpJson(json));
}

// `true` carries nothing: ReadJson needs a value.
Result<bool> Replay(const Record& record, const nlohmann::json& json, ManifestState& state) {
  state.begun = true;
  switch (static_cast<ManifestRecord>(record.type)) {
    case ManifestRecord::committed:
      state.ever_committed = true;
      state.live.push_back({RequireInteger<std::int64_t>(json.at("step")), json.at("file").get<std::string>(),
                            json.at("sha256").get<std::string>(), RequireInteger<std::uint32_t>(json.at("from"))});
      if (state.live.back().from != 0) state.imported = state.live.back();
      return true;
    case ManifestRecord::removed: {
      const auto file = json.at("file").get<std::string>();
      const auto gone = std::remove_if(state.live.begin(), state.live.end(),
                                       [&](const CommittedCheckpoint& checkpoint) { return checkpoint.file == file; });
      state.live.erase(gone, state.live.end());
      return true;
    }
    case ManifestRecord::begun:
      return true;
  }
  return DamageError("a record of unknown type " + std::to_string(record.type));
}

}  // namespace

void AppendCommitted(RecordLog& manifest, const CommittedCheckpoint& checkpoint) {
  AppendJson(
      manifest, ManifestRecord::committed,
      {{"step", checkpoint.step}, {"file", checkpoint.file}, {"sha256", checkpoint.sha256}, {"from", checkpoint.from}});
}

void AppendRemoved(RecordLog& manifest, const std::string& file) {
  AppendJson(manifest, ManifestRecord::removed, {{"file", file}});
}

void AppendBegun(RecordLog& manifest, std::uint32_t from) {
  AppendJson(manifest, ManifestRecord::begun, {{"from", from}});
}

Result<ManifestState> ReplayManifest(const LogContents& contents, const std::string& path) {
  ManifestState state;
  for (const Record& record : contents.records) {
    const Result<bool> replayed = ReadJson<bool>(
        record.payload, "a manifest record", [&](const nlohmann::json& json) { return Replay(record, json, state); });
    if (!replayed.ok()) {
      return DamageError("'" + path + "' is damaged at byte " + std::to_string(record.offset) + ": " +
                         replayed.status().message());
    }
  }
  return state;
}

Result<std::optional<std::string>> ReadIfIntact(Env& env, const std::string& directory,
                                                const CommittedCheckpoint& checkpoint) {
  const std::string path = directory + "/" + checkpoint.file;
  RETORT_ASSIGN_OR_RETURN(const bool there, PathExists(env, path));
  if (!there) return std::optional<std::string>();
  RETORT_ASSIGN_OR_RETURN(std::string bytes, env.ReadFile(path));
  if (ComputeSha256Hex(bytes) != checkpoint.sha256) return std::optional<std::string>();
  return std::optional<std::string>(std::move(bytes));
}

}  // namespace retort::storage
