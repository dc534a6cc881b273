#include "worker/release/charge.h"

#include <algorithm>

#include "worker/tensors/step_graphs.h"

namespace retort::worker::release {

Status Charge::Covers(const privacy::PrivacyEvent& event) const {
  if (!event_.SameMechanism(event)) {
    return Refused("The charge pays for another mechanism than the one that is about to draw noise.");
  }
  if (count_ < event.count) {
    return Refused("The charge pays for " + std::to_string(count_) + " draws of noise; the release needs " +
                   std::to_string(event.count) + ".");
  }
  return {};
}

Charge Charge::Split(std::int64_t count) {
  RETORT_CHECK(count >= 0 && count <= count_);
  count_ -= count;
  return Charge(event_, count);
}

void Charge::Join(Charge&& other) {
  RETORT_CHECK(event_.SameMechanism(other.event_));
  count_ += std::exchange(other.count_, 0);
}

ChargeBook::ChargeBook(LedgerClient* port, std::int64_t releases_per_block, std::int64_t planned_draws)
    : port_(port), releases_per_block_(std::max<std::int64_t>(releases_per_block, 1)), planned_(planned_draws) {
  RETORT_CHECK(port != nullptr);
}

Status ChargeBook::Open(const privacy::PrivacyEvent& event, std::int64_t count) {
  const std::int64_t remaining = std::max<std::int64_t>(planned_ - drawn_, 0);
  const std::int64_t size = std::max(count, std::min(count * releases_per_block_, remaining));
  privacy::PrivacyEvent block = event;
  block.count = size;
  RETORT_ASSIGN_OR_RETURN(const std::uint64_t id, port_->Reserve(block, size));
  open_.push_back({block, id, size, 0});
  return {};
}

Result<Charge> ChargeBook::Take(const privacy::PrivacyEvent& event, std::int64_t count) {
  RETORT_CHECK(count >= 0);
  if (IsInsideRegion()) return Refused("A release stands in a step that is repeated without being paid for again.");
  if (count == 0) return Charge(event, 0);
  auto block = std::find_if(open_.begin(), open_.end(), [&](const Block& b) { return b.event.SameMechanism(event); });
  if (block != open_.end() && block->size - block->used < count) {
    const Block finished = *block;
    open_.erase(block);
    RETORT_RETURN_IF_ERROR(port_->Settle(finished.id, finished.used));
    block = open_.end();
  }
  if (block == open_.end()) {
    RETORT_RETURN_IF_ERROR(Open(event, count));
    block = open_.end() - 1;
  }
  block->used += count;
  drawn_ += count;
  return Charge(event, count);
}

Status ChargeBook::SettleAll() {
  std::vector<Block> blocks;
  blocks.swap(open_);
  for (const Block& block : blocks) RETORT_RETURN_IF_ERROR(port_->Settle(block.id, block.used));
  return {};
}

}  // namespace retort::worker::release
