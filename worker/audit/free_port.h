// Charges of releases that nobody ever sees: those of made-up answers.
#pragma once

#include <cstdint>

#include "worker/release/charge.h"

namespace retort::worker::audit {

class FreePort final : public release::ReservationPort {
 public:
  Result<std::uint64_t> Reserve(const privacy::PrivacyEvent&, std::int64_t) override { return ++last_; }
  Status Settle(std::uint64_t, std::int64_t) override { return {}; }

 private:
  std::uint64_t last_ = 0;
};

}  // namespace retort::worker::audit
