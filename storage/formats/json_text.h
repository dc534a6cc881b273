// JSON in and out of records. The one place where exceptions of the JSON library are caught.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "experiments/base/status.h"

namespace retort::storage {

// What is no UTF-8 is replaced by U+FFFD; doubles are written in shortest exact form.
[[nodiscard]] inline std::string DumpJson(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Parses `text` and returns read(json). Error: damage, naming `what` and what the library says of a
// missing or ill-typed field; or read's own error.
template <typename T, typename Read>
[[nodiscard]] Result<T> ReadJson(std::string_view text, const std::string& what, Read&& read) {
  try {
    return std::forward<Read>(read)(nlohmann::json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    return DamageError(what + " does not decode: " + error.what());
  }
}

}  // namespace retort::storage
