// HTTP basic authentication (RFC 7617).
#pragma once

#include <string_view>

namespace retort::monitoring {

// Whether the value of the header `Authorization` tells of "user:password", whatever the case of the scheme and the blanks
// around what follows it. Among values of one length it takes as long wherever the first difference is.
[[nodiscard]] bool Authorizes(std::string_view header, std::string_view credentials);

}  // namespace retort::monitoring
