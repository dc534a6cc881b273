#include "orchestrator/cli/exit_codes.h"

#include "orchestrator/cli/text_table.h"

namespace retort::orchestrator::cli {

const std::vector<ExitCodeMeaning>& ExitCodes() {
  static const std::vector<ExitCodeMeaning> codes = {
      {0, "done"},
      {1, "some trials failed, were left out by a quota, or leak more than is proven; or stored data are damaged"},
      {2, "usage or configuration"},
      {3, "environment: a file, the disk, the network, MPI or a library"},
      {75, "interrupted with state saved (run again)"},
      {130, "second Ctrl-C"}};
  return codes;
}

std::string ExitCodesText(std::size_t width) {
  std::string text = "Exit codes:";
  for (const ExitCodeMeaning& one : ExitCodes())
    text += (one.code == 0 ? " " : ", ") + std::to_string(one.code) + " " + std::string(one.meaning);
  return Wrap(text + ".", width, 0);
}

}  // namespace retort::orchestrator::cli
