#include "orchestrator/cli/shared_modes.h"

#include "orchestrator/journal.h"
#include "storage/file_modes.h"

namespace retort::orchestrator::cli {

mode_t ModesOf(const Invocation& call, const std::string& results) {
  return storage::OthersMayRead(JournalPath(results)) ? call.umask : storage::kPrivateUmask | call.umask;
}

}  // namespace retort::orchestrator::cli
