# cmake -D SOURCE=DIR -D OUT=FILE -P WriteRevision.cmake: defines retort::orchestrator::cli::GetRevision() as the commit
# of DIR at the time of the build, with "-dirty" where tracked files differ from it; empty where DIR is not the top of
# a work tree. FILE is written only when that has changed.
set(REVISION "")
execute_process(COMMAND git -C "${SOURCE}" rev-parse --show-toplevel
                OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
file(REAL_PATH "${SOURCE}" source)
if(status STREQUAL "0" AND top STREQUAL source)
  execute_process(COMMAND git -C "${SOURCE}" rev-parse --short=8 HEAD
                  OUTPUT_VARIABLE REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND git -C "${SOURCE}" status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(REVISION AND changes)
    string(APPEND REVISION "-dirty")
  endif()
endif()
file(CONFIGURE OUTPUT "${OUT}" @ONLY CONTENT [[
#include "orchestrator/cli/render/version.h"

namespace retort::orchestrator::cli {

const char* GetRevision() { return "@REVISION@"; }

}  // namespace retort::orchestrator::cli
]])
