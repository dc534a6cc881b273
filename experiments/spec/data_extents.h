// Whether a data set holds what its table says of it.
#pragma once

#include "experiments/spec/complaints.h"
#include "experiments/spec/sweep_document.h"

namespace retort {

// Classes and ranges of `table`, whose data set has been inspected. Each that lies beyond it is complained of where it
// stands, and leaves the table not valid.
void CheckExtents(DataTable& table, Complaints& complaints);

}  // namespace retort
