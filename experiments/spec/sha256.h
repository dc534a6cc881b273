// SHA-256, in pieces.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace retort {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(std::string_view bytes);
  // 8 bytes, little endian: frames what follows.
  void UpdateLength(std::uint64_t length);
  // 64 hex digits; no Update after it.
  [[nodiscard]] std::string FinishHex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::array<std::uint8_t, 32> Sha256Of(std::string_view bytes);

}  // namespace retort
