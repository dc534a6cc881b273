// Caps on what a results folder may use.
#pragma once

#include <cstdint>
#include <string>

namespace retort {

struct TomlNode;
struct ReadContext;

// Caps on what a results folder may use; 0 = no cap. What is spent is read from the journal.
struct Quota {
  std::int64_t trials = 0;       // begun: those with an attempt
  double wall_seconds = 0;       // of runs, summed
  std::int64_t concurrency = 0;  // trials at once
  double device_hours = 0;       // of attempts, ended ones in full, summed over their devices
  bool operator==(const Quota&) const = default;
};

// Reads [sweep] quota into the document of `context`.
void ReadQuota(const TomlNode& quota, ReadContext& context);

// Returns the quota in the resolved text of a sweep; none where there is none, or the text is not a sweep.
[[nodiscard]] Quota ParseQuota(const std::string& resolved_toml);

}  // namespace retort
