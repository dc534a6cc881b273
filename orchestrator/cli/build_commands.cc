#include <nlohmann/json.hpp>

#include "experiments/spec/sweep.h"
#include "orchestrator/cli/claim_json.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/version.h"

namespace retort::orchestrator::cli {

int SchemaCommand(const Invocation& call) {
  std::string schema = SweepJsonSchema();
  if (call.line.global.json) {
    nlohmann::ordered_json document;
    document["schema_version"] = kSchemaVersion;
    document["schema"] = nlohmann::ordered_json::parse(schema, nullptr, false);
    schema = DocumentText(document);
  }
  if (!schema.ends_with('\n')) schema += '\n';
  call.console.Data(schema);
  return 0;
}

int VersionCommand(const Invocation& call) {
  if (call.line.global.json) {
    nlohmann::ordered_json document;
    document["schema_version"] = kSchemaVersion;
    for (const auto& [name, value] : BuildFacts()) document[name] = value;
    call.console.Data(DocumentText(document));
    return 0;
  }
  call.console.Text("retort " + VersionText() + "\n");
  if (!call.line.verbose) return 0;
  for (const auto& [name, value] : BuildFacts()) call.console.Text("  " + name + ": " + value + "\n");
  return 0;
}

}  // namespace retort::orchestrator::cli
