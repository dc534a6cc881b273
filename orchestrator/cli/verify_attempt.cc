#include "orchestrator/cli/verify_attempt.h"

#include <optional>
#include <utility>

#include "storage/attempt_file.h"
#include "storage/presence.h"
#include "storage/tensor_digest.h"

namespace retort::orchestrator::cli {
namespace {

std::optional<double> MetricOf(const storage::ResultRow& row, const std::string& metric) {
  for (const auto& [name, value] : row.metrics)
    if (name == metric) return value;
  return std::nullopt;
}

}  // namespace

std::vector<std::string> AttemptDamage(storage::Env& env, const std::string& results,
                                       const storage::ResultRow& row, const storage::TrialAccount& account) {
  const std::string path = results + "/" + row.attempt_file;
  const Result<bool> there = storage::IsThere(env, path);
  if (!there.ok()) return {there.status().message()};
  if (!*there) return {"is missing"};
  const Result<storage::AttemptFile> file = storage::ReadAttemptFile(path);
  if (!file.ok()) return {file.status().message()};
  std::vector<std::string> damage;
  if (file->trial != row.trial) damage.push_back("belongs to trial " + file->trial + ", not to " + row.trial);
  const std::optional<double> accuracy = MetricOf(row, "test.accuracy");
  if (file->evaluation && accuracy && file->evaluation->accuracy != *accuracy)
    damage.emplace_back("holds another test.accuracy than its row");
  if (!file->parameters.empty() && storage::TensorDigest(file->parameters) != row.parameters_digest)
    damage.emplace_back("holds other parameters than its row was written for");
  for (std::string& what : storage::AccountDamage(*file, account)) damage.push_back(std::move(what));
  return damage;
}

Status CheckAgainstRow(const storage::AttemptFile& file, const storage::ResultRow& row) {
  const std::string where = "'" + row.attempt_file + "' ";
  if (row.row_digest != storage::RowDigest(row))
    return DamageError("The row of " + row.name + " in the journal is not what its digest says.");
  if (file.trial != row.trial)
    return DamageError(where + "belongs to trial " + file.trial + ", not to " + row.trial + ".");
  if (storage::TensorDigest(file.parameters) != row.parameters_digest)
    return DamageError(where + "holds other parameters than its row was written for.");
  storage::ResultRow held;
  held.spec_json = file.spec_json;
  held.metrics = file.metrics;
  held.parameters_digest = row.parameters_digest;
  if (storage::RowDigest(held) == row.row_digest) return {};
  return DamageError(where + "holds another specification or other metrics than its row was written for.");
}

}  // namespace retort::orchestrator::cli
