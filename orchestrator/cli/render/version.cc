#include "orchestrator/cli/render/version.h"

#include <fmt/core.h>

#include <CLI/Version.hpp>
#include <boost/version.hpp>
#include <nlohmann/json_fwd.hpp>

#include "cluster/messages.h"
#include "storage/log/record_log.h"

namespace retort::orchestrator::cli {

std::string FormatVersion() {
  const std::string commit = GetRevision();
  return std::string(RETORT_VERSION) + (commit.empty() ? "" : " (" + commit + ")");
}

std::vector<std::pair<std::string, std::string>> BuildFacts() {
  return {
      {"version", RETORT_VERSION},
      {"commit", GetRevision()},
      {"build_type", RETORT_BUILD_TYPE},
      {"compiler", RETORT_COMPILER},
      {"worker", RETORT_WITH_WORKER},
      {"mpi", RETORT_WITH_MPI},
      {"log_format", std::to_string(storage::kLogFormatVersion)},
      {"envelope_version", std::to_string(cluster::kEnvelopeVersion)},
      {"cli11", CLI11_VERSION},
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"nlohmann_json",
       fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
      {"boost", fmt::format("{}.{}.{}", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100)},
  };
}

}  // namespace retort::orchestrator::cli
