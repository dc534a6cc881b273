// The records of manifest.log: which checkpoints of an attempt exist.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "storage/files/env.h"
#include "storage/log/record_log.h"

namespace retort::storage {

// Append only: in manifests on disk.
enum class ManifestRecord : std::uint16_t {
  committed = 1,  // {"step","file","sha256","from"}: the checkpoint exists
  removed = 2,    // {"file"}: it is about to be deleted
  begun = 3,      // {"from"}: the folder is complete and has no checkpoint yet
};

struct CommittedCheckpoint {
  std::int64_t step = 0;
  std::string file;        // name in the attempt's folder
  std::string sha256;      // of the file's bytes, hex
  std::uint32_t from = 0;  // attempt it was imported from; 0 = written by this one
};

struct ManifestState {
  std::vector<CommittedCheckpoint> live;  // oldest first
  bool begun = false;                     // any record: the folder's import is complete
  bool ever_committed = false;
  std::optional<CommittedCheckpoint> imported;  // what the attempt began from
};

// Buffered; the caller syncs.
void AppendCommitted(RecordLog& manifest, const CommittedCheckpoint& checkpoint);
void AppendRemoved(RecordLog& manifest, const std::string& file);
void AppendBegun(RecordLog& manifest, std::uint32_t from);

// Error: damage, with the offset.
[[nodiscard]] Result<ManifestState> ReplayManifest(const LogContents& contents, const std::string& path);

// Returns the bytes of the checkpoint's file, or nothing when it is gone or its digest is not the recorded one.
// Error: environment.
[[nodiscard]] Result<std::optional<std::string>> ReadIfIntact(Env& env, const std::string& directory,
                                                              const CommittedCheckpoint& checkpoint);

}  // namespace retort::storage
