// The [teacher.NAME] tables of a sweep file.
#pragma once

#include "experiments/sweep/sweep_document.h"

namespace retort {

// Reads [teacher.NAME] into the document of `context`.
void ReadTeachers(const TomlNode& teachers, ReadContext& context);

}  // namespace retort
