#include "orchestrator/cli/verify_attempt.h"

#include <optional>
#include <utility>

#include "storage/attempt_file.h"
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
  if (!env.Exists(path)) return {"is missing"};
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

}  // namespace retort::orchestrator::cli
