// The right to draw noise: taken from the ledger before anything is released.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/privacy_event.h"

namespace retort::worker::release {

// The ledger as the worker reaches it. Reserve returns after the record is durable.
class LedgerClient {
 public:
  virtual ~LedgerClient() = default;
  // `count` draws of `event`; the id names the reservation. Error: refused, when a budget says no.
  [[nodiscard]] virtual Result<std::uint64_t> Reserve(const privacy::PrivacyEvent& event, std::int64_t count) = 0;
  // What of the reservation was drawn; the rest is given back.
  [[nodiscard]] virtual Status Settle(std::uint64_t id, std::int64_t used) = 0;
};

// `count` draws of `event`, paid for. Created only by ChargeBook; consumed by the release it covers.
class Charge {
 public:
  Charge(Charge&& other) noexcept : event_(std::move(other.event_)), count_(std::exchange(other.count_, 0)) {}
  Charge& operator=(Charge&&) = delete;
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;
  ~Charge() = default;

  [[nodiscard]] const privacy::PrivacyEvent& event() const { return event_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  // ok when this charge pays for event.count draws of exactly this mechanism; else refused.
  [[nodiscard]] Status Covers(const privacy::PrivacyEvent& event) const;
  // Takes `count` draws off this charge. REQUIRES: 0 <= count <= count().
  [[nodiscard]] Charge Split(std::int64_t count);
  // Adds what another charge pays for. REQUIRES: it is of the same mechanism.
  void Join(Charge&& other);

 private:
  friend class ChargeBook;
  Charge(privacy::PrivacyEvent event, std::int64_t count) : event_(std::move(event)), count_(count) {}
  privacy::PrivacyEvent event_;
  std::int64_t count_;
};

// Reserves blocks and spends them. A crash leaves an open block spent: over-counted, never under.
class ChargeBook {
 public:
  // `port` outlives the book. A block covers `releases_per_block` takes of the size that opened it, but no
  // more than what remains of `planned_draws` over the book's life (at least the take itself).
  ChargeBook(LedgerClient* port, std::int64_t releases_per_block, std::int64_t planned_draws);

  // Pays for `count` > 0 draws of `event` (whose own count is ignored). Errors: those of Reserve and Settle; refused,
  // inside of a GraphRegion, whose body may be replayed without being called.
  [[nodiscard]] Result<Charge> Take(const privacy::PrivacyEvent& event, std::int64_t count);
  // Settles all open blocks: at the trial's end, and before a stop.
  [[nodiscard]] Status SettleAll();

  [[nodiscard]] std::int64_t drawn() const { return drawn_; }

 private:
  struct Block {
    privacy::PrivacyEvent event;
    std::uint64_t id;
    std::int64_t size;
    std::int64_t used;
  };
  [[nodiscard]] Status Open(const privacy::PrivacyEvent& event, std::int64_t count);

  LedgerClient* port_;
  std::int64_t releases_per_block_;
  std::int64_t planned_;
  std::int64_t drawn_ = 0;
  std::vector<Block> open_;  // at most one block for each mechanism
};

}  // namespace retort::worker::release
