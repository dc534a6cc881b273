#include "orchestrator/results/synthetic_store.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "cluster/sample_order.h"
#include "experiments/base/json.h"
#include "storage/files/path_status.h"

namespace retort::orchestrator {
namespace {

constexpr std::int64_t kVersion = 2;  // of version 1 the FID is in other features
constexpr std::uint64_t kMaxSyntheticBytes = 1 << 16;
constexpr std::string_view kAccuracy = "synthetic.accuracy", kFid = "synthetic.fid";

std::string FindPath(const std::string& results, const std::string& folder) {
  return results + "/" + folder + "/synthetic.json";
}

std::string Encode(const storage::ResultRow& row, const SyntheticResult& result) {
  return DumpJson({{"format_version", kVersion},
                   {"trial", row.trial},
                   {"row_digest", row.row_digest},
                   {"count", result.count},
                   {"seed", std::to_string(result.seed)},
                   {"labels", result.labels},
                   {"network", result.network},
                   {"accuracy", MakeJsonNumber(result.accuracy)},
                   {"fid", MakeJsonNumber(result.frechet_distance)},
                   {"fid_features", cluster::kFrechetFeatures}});
}

Result<std::optional<SyntheticResult>> Decode(const std::string& text, const storage::ResultRow& row) {
  JsonFields fields(text, "evaluation of samples");
  const std::int64_t version = fields.Integer("format_version");
  if (version < 1 || version > kVersion) fields.Fail("format_version", "1 or 2");
  if (fields.String("trial") != row.trial) fields.Fail("trial", row.trial);
  const bool present = fields.String("row_digest") == row.row_digest;
  SyntheticResult result;
  result.count = fields.Count("count");
  const std::string seed = fields.String("seed");
  const auto [end, error] = std::from_chars(seed.data(), seed.data() + seed.size(), result.seed);
  if (error != std::errc() || end != seed.data() + seed.size()) fields.Fail("seed", "a whole number in digits");
  result.labels = fields.String("labels");
  result.network = fields.String("network");
  result.accuracy = fields.Number("accuracy");
  if (version == kVersion && fields.String("fid_features") == cluster::kFrechetFeatures)
    result.frechet_distance = fields.Number("fid");
  RETORT_RETURN_IF_ERROR(fields.status());
  return present ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace

Status StoreSynthetic(storage::Env& env, const std::string& results, const TrialView& trial,
                      const SyntheticResult& result) {
  RETORT_CHECK(trial.row.has_value());
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(results + "/" + trial.folder));
  return env.WriteFileAtomically(FindPath(results, trial.folder), Encode(*trial.row, result) + "\n");
}

Result<std::optional<SyntheticResult>> ReadSynthetic(storage::Env& env, const std::string& results,
                                                     const TrialView& trial) {
  if (!trial.row || trial.folder.empty()) return std::optional<SyntheticResult>();
  const std::string path = FindPath(results, trial.folder);
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, path));
  if (!there) return std::optional<SyntheticResult>();
  RETORT_ASSIGN_OR_RETURN(const std::string text, env.ReadSmallFile(path, kMaxSyntheticBytes));
  Result<std::optional<SyntheticResult>> result = Decode(text, *trial.row);
  if (!result.ok()) return DamageError(path + ": " + result.status().message());
  return result;
}

bool IsSynthetic(std::string_view metric) { return metric == kAccuracy || metric == kFid; }

std::optional<double> FindSynthetic(const SyntheticResult& result, std::string_view metric) {
  if (metric == kAccuracy) return result.accuracy;
  if (metric == kFid && std::isfinite(result.frechet_distance)) return result.frechet_distance;
  return std::nullopt;
}

}  // namespace retort::orchestrator
