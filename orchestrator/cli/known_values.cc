#include "orchestrator/cli/known_values.h"

#include "experiments/privacy/calculator_rules.h"
#include "experiments/spec/data_readers.h"
#include "experiments/spec/networks.h"
#include "orchestrator/cli/command_line.h"

namespace retort::orchestrator::cli {

std::vector<std::string> KnownValues(const std::string& path, const std::string& name) {
  if (path == "data check" || path == "data clients")
    return name == "NAME" ? DataReaderNames() : std::vector<std::string>();
  if (path == "model check" && name == "ARCH") {
    std::vector<std::string> networks;
    for (const NamedNetwork& network : kNamedNetworks) networks.emplace_back(network.name);
    networks.emplace_back("torchscript");
    return networks;
  }
  if (path == "export" && name == "WHAT") return ExportedParts();
  if (path == "export" && name == "--format") return ExportFormats();
  if (path == "man" && name == "COMMAND") return CommandNames();
  if (name == "--method") return privacy::PaperMethodNames();
  if (name == "--accountant") return {"rdp", "pld"};
  return {};
}

}  // namespace retort::orchestrator::cli
