// A file made, synced, locked and renamed, to see whether a folder can hold results.
#pragma once

#include "orchestrator/doctor/folder_check.h"

namespace retort::orchestrator::doctor {

// In a folder of its own below `facts.tried`, which is removed again. Fills what that showed: trouble,
// sync_*, lock_*, rename_trouble and clock_ahead_seconds.
void TryFolder(FolderFacts& facts);

}  // namespace retort::orchestrator::doctor
