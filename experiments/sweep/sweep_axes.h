// The [sweep] table of a sweep file: axes, seeds, rules.
#pragma once

#include <string>

#include "experiments/sweep/sweep_document.h"

namespace retort {

// Whether a sweep may have this name, which its results folder takes.
[[nodiscard]] bool IsFolderName(const std::string& name);
// Reads [sweep] into the document of `context`.
void ReadSweepTable(const TomlNode& sweep, ReadContext& context);

}  // namespace retort
