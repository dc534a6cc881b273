#include "experiments/sweep/quota.h"

#include "experiments/base/number_text.h"
#include "experiments/sweep/sweep_document.h"
#include "experiments/sweep/value_reader.h"

namespace retort {
namespace {

// REQUIRES: a table that passed CheckSection.
Quota QuotaFrom(const TomlNode& node) {
  Quota quota;
  if (const TomlEntry* trials = node.Find("trials")) quota.trials = trials->value.integer;
  if (const TomlEntry* wall = node.Find("wall")) quota.wall_seconds = ParseDuration(wall->value.text).value_or(0);
  if (const TomlEntry* concurrency = node.Find("concurrency")) quota.concurrency = concurrency->value.integer;
  if (const TomlEntry* hours = node.Find("device_hours")) {
    const TomlNode& value = hours->value;
    quota.device_hours = value.kind == TomlKind::real ? value.real : static_cast<double>(value.integer);
  }
  return quota;
}

}  // namespace

void ReadQuota(const TomlNode& quota, ReadContext& context) {
  const std::string path = context.prefix + "sweep.quota";
  if (!CheckSection(quota, "sweep.quota", path, context.partial, context.diagnostics)) return;
  context.document.quota = QuotaFrom(quota);
}

Quota ParseQuota(const std::string& resolved_toml) {
  SourceTexts sources;
  DiagnosticCollector diagnostics(&sources);
  TomlNode root;
  Diagnostic syntax;
  if (!ParseToml(resolved_toml, sources.Add("sweep.toml", resolved_toml), sources, root, syntax)) return {};
  const TomlEntry* sweep = root.Find("sweep");
  const TomlEntry* quota =
      sweep != nullptr && sweep->value.kind == TomlKind::table ? sweep->value.Find("quota") : nullptr;
  if (quota == nullptr || quota->value.kind != TomlKind::table) return {};
  const bool good = CheckSection(quota->value, "sweep.quota", "sweep.quota", false, diagnostics);
  return good ? QuotaFrom(quota->value) : Quota{};
}

}  // namespace retort
