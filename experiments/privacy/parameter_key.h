// Parameters as bytes, to look up what was computed for them before. Never stored.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace retort::privacy {

class ParameterKey {
 public:
  template <typename Scalar>
  requires std::is_arithmetic_v<Scalar> || std::is_enum_v<Scalar> ParameterKey& Add(Scalar value) {
    char bytes[sizeof(Scalar)];
    std::memcpy(bytes, &value, sizeof(Scalar));
    key_.append(bytes, sizeof(Scalar));
    return *this;
  }
  ParameterKey& Add(std::string_view text) {
    Add(text.size());
    key_.append(text);
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return key_; }

 private:
  std::string key_;
};

}  // namespace retort::privacy
