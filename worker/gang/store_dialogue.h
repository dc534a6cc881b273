// What the gang's store says to one connection. Pure: bytes in, bytes out.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "worker/gang/store_wire.h"

namespace retort::worker {

// Of a connection that has not shown the secret: more than `admit` needs, and too little to hurt.
inline constexpr std::size_t kMaxStrangerFrame = 128;

using StoreValues = std::map<std::string, std::string>;

class StoreDialogue {
 public:
  // Both are borrowed.
  StoreDialogue(StoreValues& values, const std::string& secret) : values_(&values), secret_(&secret) {}

  // Takes in what arrived and appends the answers to `replies`. False: the connection is over, since it
  // speaks another language or does not know the secret.
  [[nodiscard]] bool Take(std::string_view bytes, std::string& replies);
  [[nodiscard]] bool admitted() const { return admitted_; }
  [[nodiscard]] std::size_t buffered() const { return buffer_.size(); }  // bytes of a frame that is not whole

 private:
  [[nodiscard]] std::string Answer(const StoreRequest& request);

  StoreValues* values_;
  const std::string* secret_;
  std::string buffer_;
  bool admitted_ = false;
};

}  // namespace retort::worker
