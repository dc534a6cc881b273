// The [data.NAME] tables of a sweep file.
#pragma once

#include <string>

#include "experiments/sweep/sweep_document.h"

namespace retort {

// Reads [data.NAME] into the document of `context`.
void ReadDataTables(const TomlNode& data, ReadContext& context);

// Checks classes and ranges of `table` against its data set, which has been inspected. Each that lies beyond it is
// reported at its position, and makes the table invalid.
void CheckDataRanges(DataTable& table, DiagnosticCollector& diagnostics);
// Reports what is wrong with the files of `table`: at the part of the split whose key the message begins with, else at
// the path.
void AddFileError(const DataTable& table, const std::string& message, DiagnosticCollector& diagnostics);

}  // namespace retort
