// Whether a data set holds what its table says of it.
#pragma once

#include <string>

#include "experiments/spec/complaints.h"
#include "experiments/spec/sweep_document.h"

namespace retort {

// Classes and ranges of `table`, whose data set has been inspected. Each that lies beyond it is complained of where it
// stands, and leaves the table not valid.
void CheckExtents(DataTable& table, Complaints& complaints);
// What is wrong with the files of `table`, told at the part of the split whose key the message begins with, else at the
// path.
void ComplainOfFiles(const DataTable& table, const std::string& message, Complaints& complaints);

}  // namespace retort
