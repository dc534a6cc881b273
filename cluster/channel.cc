#include "cluster/channel.h"

#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace retort::cluster {

Status CheckReceiver(const Channel& channel, WorldRank to) {
  if (to.value >= 0 && to.value < channel.size()) return {};
  return Refused("World rank " + std::to_string(to.value) + " does not exist: the world has " +
                 std::to_string(channel.size()) + " ranks.");
}

Result<std::string> EncodeChecked(const Envelope& envelope) {
  std::string bytes = Encode(envelope);
  if (bytes.size() <= kMaxEnvelopeBytes) return bytes;
  return Refused("A " + std::string(GetMessageTypeName(FindMessageType(envelope.message))) + " message of " +
                 std::to_string(bytes.size()) + " bytes is larger than the " + std::to_string(kMaxEnvelopeBytes) +
                 " bytes that an envelope may have.");
}

Result<Envelope> DecodeFrom(WorldRank from, std::string_view bytes) {
  auto envelope = Decode(bytes);
  if (envelope.ok()) return envelope;
  const Status status = envelope.status();
  return Status(status.code(), "From world rank " + std::to_string(from.value) + ": " + status.message());
}

struct InProcessHub::Queues {
  struct Frame {
    WorldRank from;
    std::string bytes;
  };
  explicit Queues(int size) : inbox(static_cast<std::size_t>(size)) {}

  [[nodiscard]] bool Holds(WorldRank rank) const {
    return rank.value >= 0 && rank.value < static_cast<int>(inbox.size());
  }
  void Push(WorldRank from, WorldRank to, std::string bytes) {
    const std::lock_guard lock(mutex);
    inbox[static_cast<std::size_t>(to.value)].push_back({from, std::move(bytes)});
  }
  std::optional<Frame> Pop(WorldRank of) {
    const std::lock_guard lock(mutex);
    auto& queue = inbox[static_cast<std::size_t>(of.value)];
    if (queue.empty()) return std::nullopt;
    Frame frame = std::move(queue.front());
    queue.pop_front();
    return frame;
  }

  std::mutex mutex;                      // guards the contents of `inbox`; its size is fixed
  std::vector<std::deque<Frame>> inbox;  // by receiving rank
};

namespace {

template <typename Queues>
class InProcessChannel final : public Channel {
 public:
  InProcessChannel(std::shared_ptr<Queues> queues, WorldRank rank) : queues_(std::move(queues)), rank_(rank) {}

  [[nodiscard]] WorldRank rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(queues_->inbox.size()); }

  [[nodiscard]] Status Send(WorldRank to, const Envelope& envelope) override {
    RETORT_RETURN_IF_ERROR(CheckReceiver(*this, to));
    RETORT_ASSIGN_OR_RETURN(std::string bytes, EncodeChecked(envelope));
    queues_->Push(rank_, to, std::move(bytes));
    return {};
  }

  [[nodiscard]] Result<std::optional<std::pair<WorldRank, Envelope>>> Receive() override {
    auto frame = queues_->Pop(rank_);
    if (!frame) return std::optional<std::pair<WorldRank, Envelope>>();
    RETORT_ASSIGN_OR_RETURN(Envelope envelope, DecodeFrom(frame->from, frame->bytes));
    return std::optional(std::pair(frame->from, std::move(envelope)));
  }

 private:
  std::shared_ptr<Queues> queues_;
  WorldRank rank_;
};

}  // namespace

InProcessHub::InProcessHub(int size) {
  RETORT_CHECK(size >= 1);
  queues_ = std::make_shared<Queues>(size);
}

InProcessHub::~InProcessHub() = default;

std::unique_ptr<Channel> InProcessHub::Open(WorldRank rank) {
  RETORT_CHECK(queues_->Holds(rank));
  return std::make_unique<InProcessChannel<Queues>>(queues_, rank);
}

void InProcessHub::Inject(WorldRank from, WorldRank to, std::string bytes) {
  RETORT_CHECK(queues_->Holds(to));
  queues_->Push(from, to, std::move(bytes));
}

}  // namespace retort::cluster
