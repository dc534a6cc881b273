// Runs code in a child process that may have little memory, so that a test sees what would be allocated.
#pragma once

#include <functional>
#include <string>

#include "experiments/base/status.h"

namespace retort::testing {

// What `run` said in a child process whose address space may grow by `most_bytes`. Its message; "" when it
// was ok; what ended the child otherwise, after "ended by ". Under AddressSanitizer, which takes all
// addresses for itself, the memory is not limited, and the message alone is looked at.
[[nodiscard]] std::string MessageWithin(std::size_t most_bytes, const std::function<Status()>& run);

}  // namespace retort::testing
