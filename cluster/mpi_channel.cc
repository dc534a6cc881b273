#include "cluster/mpi_channel.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>

namespace retort::cluster {

Status MakeMpiStatus(const RetortMpi& mpi, int code, const char* doing) {
  if (code == 0) return {};
  std::array<char, 1024> text{};
  mpi.explain(code, text.data(), text.size());
  return EnvironmentError(std::string(doing) + " failed: " + text.data() + ".");
}

Status MpiChannel::Send(WorldRank to, const Envelope& envelope) {
  RETORT_RETURN_IF_ERROR(CheckReceiver(*this, to));
  RETORT_ASSIGN_OR_RETURN(std::string bytes, EncodeChecked(envelope));
  RETORT_RETURN_IF_ERROR(CompleteSends());
  Transfer& send = sends_.emplace_back(Transfer{to.value, std::move(bytes), nullptr});
  const int code = mpi_.send(to.value, send.bytes.data(), send.bytes.size(), &send.request);
  if (code != 0) sends_.pop_back();
  return MakeMpiStatus(mpi_, code, "MPI_Isend");
}

Result<std::optional<std::pair<WorldRank, Envelope>>> MpiChannel::Receive() {
  RETORT_RETURN_IF_ERROR(CompleteSends());
  RETORT_ASSIGN_OR_RETURN(const std::optional<Frame> frame, NextFrame());
  if (!frame) return std::optional<std::pair<WorldRank, Envelope>>();
  const WorldRank from{frame->first};
  RETORT_ASSIGN_OR_RETURN(Envelope envelope, DecodeFrom(from, frame->second));
  return std::optional(std::pair(from, std::move(envelope)));
}

Status MpiChannel::CompleteSends() {
  for (auto send = sends_.begin(); send != sends_.end();) {
    int done = 0;
    const int code = mpi_.test(send->request, &done);
    if (code == 0 && done == 0) {
      ++send;
      continue;
    }
    send = sends_.erase(send);
    if (code != 0) return MakeMpiStatus(mpi_, code, "Sending a message");
  }
  return {};
}

Status MpiChannel::StartReceives() {
  for (;;) {
    int from = 0;
    std::size_t count = 0;
    void* message = nullptr;
    RETORT_RETURN_IF_ERROR(MakeMpiStatus(mpi_, mpi_.probe(&from, &count, &message), "MPI_Improbe"));
    if (message == nullptr) return {};
    // Send refuses more than this; MPI reports a longer message as truncated.
    const std::size_t room = std::min(count, kMaxEnvelopeBytes);
    Transfer& receive = receives_.emplace_back(Transfer{from, std::string(room, '\0'), nullptr});
    const int code = mpi_.receive(message, receive.bytes.data(), room, &receive.request);
    if (code != 0) {
      receives_.pop_back();
      return MakeMpiStatus(mpi_, code, "MPI_Imrecv");
    }
  }
}

Result<std::optional<MpiChannel::Frame>> MpiChannel::NextFrame() {
  RETORT_RETURN_IF_ERROR(StartReceives());
  std::set<int> waiting;
  for (auto receive = receives_.begin(); receive != receives_.end(); ++receive) {
    if (waiting.contains(receive->peer)) continue;
    int done = 0;
    const int code = mpi_.test(receive->request, &done);
    if (code == 0 && done == 0) {
      waiting.insert(receive->peer);
      continue;
    }
    Frame frame(receive->peer, std::move(receive->bytes));
    receives_.erase(receive);
    RETORT_RETURN_IF_ERROR(MakeMpiStatus(mpi_, code, "Receiving a message"));
    return std::optional(std::move(frame));
  }
  return std::optional<Frame>();
}

Status MpiChannel::Discard() {
  for (;;) {
    RETORT_ASSIGN_OR_RETURN(const std::optional<Frame> frame, NextFrame());
    if (!frame) return {};
  }
}

}  // namespace retort::cluster
