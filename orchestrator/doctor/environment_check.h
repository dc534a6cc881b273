// Checks the environment variables, limits and ports that this process was given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/doctor/report.h"

namespace retort::orchestrator::doctor {

// The names that begin with RETORT_ in cluster/ENVIRONMENT.md; defined in a file that the build generates.
[[nodiscard]] const std::vector<std::string>& ListKnownVariables();

// A warning for every RETORT_ name in `environment` that nothing reads, with the nearest that something does.
// One `ok` where there is none.
[[nodiscard]] Findings CheckVariables(const std::vector<std::string>& environment,
                                      const std::vector<std::string>& known);

struct PlaceFacts {
  std::string data;          // RETORT_DATA
  bool data_there = false;   // and it is a folder
  std::string data_trouble;  // why it cannot be looked into, or be told to be there; empty otherwise
  std::string cache;         // where measured costs are kept; empty: nowhere
  bool cache_works = false;  // it can be written to, or made
  std::string temporary;     // TMPDIR
  bool temporary_works = false;
};
[[nodiscard]] PlaceFacts ReadPlaceFacts(const std::vector<std::string>& environment);
[[nodiscard]] Finding CheckDataFolder(const PlaceFacts& facts);
[[nodiscard]] std::optional<Finding> CheckCache(const PlaceFacts& facts);
[[nodiscard]] std::optional<Finding> CheckTemporary(const PlaceFacts& facts);

// Soft limits, but for the number of open files, which a run raises to the hard one; nothing = unlimited.
struct LimitFacts {
  int slots = 1;
  std::optional<std::uint64_t> open_files, processes, address_space, file_size, processor_seconds, core;
  bool root = false;  // the number of processes does not bind
};
[[nodiscard]] LimitFacts ReadLimitFacts(int slots);
[[nodiscard]] Finding CheckLimits(const LimitFacts& facts);

// Whether what is printed can hold every letter: UTF-8, by LC_ALL, LC_CTYPE and LANG.
[[nodiscard]] Finding CheckLocale(const std::vector<std::string>& environment);

struct PortFacts {
  std::uint16_t first = 0;  // that a run tries
  std::uint16_t free = 0;   // the first that is free on 127.0.0.1; 0 = none
  int tried = 0;
};
[[nodiscard]] PortFacts ReadPortFacts();
[[nodiscard]] Finding CheckPorts(const PortFacts& facts);

}  // namespace retort::orchestrator::doctor
