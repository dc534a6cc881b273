// How much memory a file may take: packed bytes that claim to unpack to hundreds of times their size are refused, and a
// file that is larger than the memory is an error that names it, and not the end of the program.
#pragma once

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "experiments/base/status.h"

namespace retort::storage {

// "There is not enough memory to read <what>." Error: environment.
[[nodiscard]] Status NotEnoughMemory(const std::string& what);

// Returns read(), a Status or a Result, or NotEnoughMemory when an allocation fails in it. `what` names the file,
// quoted, and its size where that is known.
template <typename Read>
[[nodiscard]] auto ReadWithinMemory(const std::string& what, Read&& read) -> decltype(read()) {
  try {
    return std::forward<Read>(read)();
  } catch (const std::bad_alloc&) {
    return NotEnoughMemory(what);
  } catch (const std::length_error&) {  // beyond what any container holds
    return NotEnoughMemory(what);
  }
}

// The number of bytes that `stored` packed bytes may unpack to: 200 times as many, and 64 MiB.
[[nodiscard]] std::uint64_t ComputeMaxUnpackedSize(std::uint64_t stored);

// Checks the size that `stored` deflated bytes declare. `where` names the file and its part. Errors, naming the sizes:
// damage, when so few deflated bytes cannot hold so many (1032 each at most); refused, beyond ComputeMaxUnpackedSize.
[[nodiscard]] Status CheckUnpackedSize(const std::string& where, std::uint64_t declared, std::uint64_t stored);

}  // namespace retort::storage
