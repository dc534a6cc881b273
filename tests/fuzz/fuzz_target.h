// One target a file: libFuzzer's entry point and inputs to begin with. Linked with libFuzzer, or with
// mutation_driver.cc, whose inputs are the same in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"

// Ends the process when the code under test breaks a promise.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace retort::testing {

[[nodiscard]] std::vector<std::string> FuzzSeeds();

// An error must say what happened; bytes of whatever kind are never somebody's mistake in the environment.
inline void CheckRefusal(const Status& status) {
  RETORT_CHECK(!status.ok());
  RETORT_CHECK(status.code() != StatusCode::environment);
  RETORT_CHECK(status.message().size() > 10);
}

inline std::string_view Bytes(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace retort::testing
