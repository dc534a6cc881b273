// A channel that delays or drops what passes through it, on command of a test.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "cluster/channel.h"

namespace retort::testing {

// Decides about each envelope sent. `count` is how many were sent through this channel before.
struct ChannelFault {
  bool drop = false;
  int delay = 0;  // calls of Receive on this end that pass before the envelope leaves
};
using FaultPlan = std::function<ChannelFault(WorldRank to, const cluster::Envelope& envelope, std::int64_t count)>;

// Wraps one end. Order from this sender to each receiver is kept: a delayed envelope holds back later ones.
class FaultChannel final : public cluster::Channel {
 public:
  FaultChannel(std::unique_ptr<cluster::Channel> inner, FaultPlan plan)
      : inner_(std::move(inner)), plan_(std::move(plan)) {}

  [[nodiscard]] WorldRank rank() const override { return inner_->rank(); }
  [[nodiscard]] int size() const override { return inner_->size(); }

  [[nodiscard]] Status Send(WorldRank to, const cluster::Envelope& envelope) override {
    RETORT_RETURN_IF_ERROR(CheckReceiver(*this, to));
    RETORT_RETURN_IF_ERROR(EncodeChecked(envelope).status());
    const ChannelFault fault = plan_(to, envelope, sent_++);
    if (fault.drop) return {};
    held_.push_back({to, envelope, fault.delay});
    return Release();
  }

  [[nodiscard]] Result<std::optional<std::pair<WorldRank, cluster::Envelope>>> Receive() override {
    if (!held_.empty() && held_.front().delay > 0) --held_.front().delay;
    RETORT_RETURN_IF_ERROR(Release());
    return inner_->Receive();
  }

 private:
  struct Held {
    WorldRank to;
    cluster::Envelope envelope;
    int delay;
  };

  Status Release() {
    while (!held_.empty() && held_.front().delay == 0) {
      RETORT_RETURN_IF_ERROR(inner_->Send(held_.front().to, held_.front().envelope));
      held_.pop_front();
    }
    return {};
  }

  std::unique_ptr<cluster::Channel> inner_;
  FaultPlan plan_;
  std::int64_t sent_ = 0;
  std::deque<Held> held_;
};

}  // namespace retort::testing
