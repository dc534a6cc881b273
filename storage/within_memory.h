// The last line behind the checks of declared sizes: a file that is larger than the memory is an error that
// names it, and not the end of the program.
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "experiments/spec/status.h"

namespace retort::storage {

// "There is not enough memory to read <what>." Error: environment.
[[nodiscard]] Status NoMemoryFor(const std::string& what);

// What `read` gives: a Status or a Result. `what` names the file, quoted, and its size where that is known.
template <typename Read>
[[nodiscard]] auto WithinMemory(const std::string& what, Read&& read) -> decltype(read()) {
  try {
    return std::forward<Read>(read)();
  } catch (const std::bad_alloc&) {
    return NoMemoryFor(what);
  } catch (const std::length_error&) {  // beyond what any container holds
    return NoMemoryFor(what);
  }
}

}  // namespace retort::storage
