// HTTP basic authentication.
#pragma once

#include <string>
#include <string_view>

namespace retort::monitoring {

// Value of the header `Authorization` of RFC 7617 for "user:password".
[[nodiscard]] std::string BasicAuthorization(std::string_view credentials);
// Among texts of one length, takes as long wherever the first difference is.
[[nodiscard]] bool EqualInConstantTime(std::string_view given, std::string_view expected);

}  // namespace retort::monitoring
