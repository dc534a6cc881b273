#include "worker/sleep/socket_host.h"

#include <chrono>
#include <utility>

namespace retort::worker {
namespace {

using std::chrono::milliseconds;

// The ledger syncs a file before it grants; an orchestrator that needs longer than this is gone.
constexpr milliseconds kGrantDeadline{300'000};
constexpr milliseconds kSlice{1'000};
// Between two steps: messages without end do not keep the trial from its work.
constexpr int kMaxMessagesAtOnce = 256;

}  // namespace

SocketHost::SocketHost(cluster::SocketLink& link, AttemptId attempt, Generation generation)
    : link_(link), attempt_(attempt), generation_(generation) {}

Status SocketHost::Send(cluster::Message message) {
  return link_.Send({attempt_, generation_, ++sequence_, std::move(message)});
}

std::optional<cluster::Reserved> SocketHost::Note(const cluster::Envelope& envelope, std::uint64_t id) {
  if (!(envelope.attempt == attempt_) || !(envelope.generation == generation_)) return std::nullopt;
  if (const auto* stop = std::get_if<cluster::Stop>(&envelope.message)) stop_ = *stop;
  if (const auto* ready = std::get_if<cluster::GangReady>(&envelope.message)) gang_ = ready->blob;
  const auto* reserved = std::get_if<cluster::Reserved>(&envelope.message);
  if (reserved == nullptr || reserved->id != id) return std::nullopt;
  return *reserved;
}

Result<std::uint64_t> SocketHost::Reserve(const privacy::PrivacyEvent& event, std::int64_t count) {
  return Ask({++last_id_, event, count, false});
}

Status SocketHost::ChargeDrawn(const privacy::PrivacyEvent& event, std::int64_t count) {
  return Ask({++last_id_, event, count, true}).status();
}

Result<std::uint64_t> SocketHost::Ask(cluster::Reserve reserve) {
  const std::uint64_t id = reserve.id;
  RETORT_RETURN_IF_ERROR(Send(std::move(reserve)));
  for (milliseconds waited{0}; waited < kGrantDeadline; waited += kSlice) {
    if (stop_) return Cancelled("A stop came before the reservation was answered.");
    RETORT_ASSIGN_OR_RETURN(const std::optional<cluster::Envelope> envelope, link_.Receive(kSlice));
    if (!envelope) continue;
    waited -= kSlice;  // something came: the agent lives
    const std::optional<cluster::Reserved> reserved = Note(*envelope, id);
    if (!reserved) continue;
    if (!reserved->granted) return Refused(reserved->refusal);
    return id;
  }
  return Cancelled("The ledger did not answer a reservation in " + std::to_string(kGrantDeadline.count() / 1000) +
                   " s.");
}

Status SocketHost::Settle(std::uint64_t id, std::int64_t used) { return Send(cluster::Settle{id, used}); }

Status SocketHost::Report(const cluster::Progress& progress) { return Send(progress); }

Status SocketHost::Report(const cluster::CheckpointCommitted& committed) { return Send(committed); }

Status SocketHost::AnnounceGang(const std::string& address) { return Send(cluster::GangAddress{address}); }

Result<std::string> SocketHost::AwaitGang(milliseconds deadline) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!gang_ && std::chrono::steady_clock::now() < end) {
    if (stop_) return Cancelled("A stop came before the gang had met.");
    RETORT_ASSIGN_OR_RETURN(const std::optional<cluster::Envelope> envelope, link_.Receive(kSlice));
    if (envelope) static_cast<void>(Note(*envelope, 0));
  }
  if (!gang_) return EnvironmentError("Gang rank 0 was not heard of in " + std::to_string(deadline.count()) + " ms.");
  return *gang_;
}

std::optional<cluster::Stop> SocketHost::StopRequested() {
  for (int received_now = 0; !stop_ && received_now < kMaxMessagesAtOnce; ++received_now) {
    const Result<std::optional<cluster::Envelope>> received = link_.Receive(milliseconds(0));
    if (!received.ok()) {
      if (received.status().code() == StatusCode::refused) continue;  // one frame that does not decode
      stop_ = cluster::Stop{true, 0};
    } else if (!received->has_value()) {
      break;
    } else {
      static_cast<void>(Note(**received, 0));
    }
  }
  return stop_;
}

}  // namespace retort::worker
