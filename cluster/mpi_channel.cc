#include "cluster/mpi_channel.h"

#include <algorithm>
#include <set>

namespace retort::cluster {
namespace {

constexpr int kTag = 1;

}  // namespace

Status MpiChannel::Send(WorldRank to, const Envelope& envelope) {
  RETORT_RETURN_IF_ERROR(CheckReceiver(*this, to));
  RETORT_ASSIGN_OR_RETURN(std::string bytes, EncodeChecked(envelope));
  RETORT_RETURN_IF_ERROR(CompleteSends());
  Transfer& send = sends_.emplace_back(Transfer{to.value, std::move(bytes), MPI_REQUEST_NULL});
  const int code = MPI_Isend(send.bytes.data(), static_cast<int>(send.bytes.size()), MPI_BYTE, to.value, kTag,
                             session_.communicator(), &send.request);
  if (code != MPI_SUCCESS) sends_.pop_back();
  return MpiStatus(code, "MPI_Isend");
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
    const int code = MPI_Test(&send->request, &done, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && done == 0) {
      ++send;
      continue;
    }
    send = sends_.erase(send);
    if (code != MPI_SUCCESS) return MpiStatus(code, "Sending a message");
  }
  return {};
}

// Begins to take in every message that has been announced. A large one arrives only while its sender
// is inside MPI too, so nobody waits for it here.
Status MpiChannel::StartReceives() {
  for (;;) {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    RETORT_RETURN_IF_ERROR(
        MpiStatus(MPI_Improbe(MPI_ANY_SOURCE, kTag, session_.communicator(), &found, &message, &status),
                  "MPI_Improbe"));
    if (found == 0) return {};
    int count = 0;
    RETORT_RETURN_IF_ERROR(MpiStatus(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count"));
    // Send refuses more than this; MPI reports a longer message as truncated.
    const auto room =
        std::clamp<std::size_t>(static_cast<std::size_t>(std::max(count, 0)), 0, kMaxEnvelopeBytes);
    Transfer& receive =
        receives_.emplace_back(Transfer{status.MPI_SOURCE, std::string(room, '\0'), MPI_REQUEST_NULL});
    const int code =
        MPI_Imrecv(receive.bytes.data(), static_cast<int>(room), MPI_BYTE, &message, &receive.request);
    if (code != MPI_SUCCESS) {
      receives_.pop_back();
      return MpiStatus(code, "MPI_Imrecv");
    }
  }
}

// The oldest complete frame whose sender has no older one still on the way.
Result<std::optional<MpiChannel::Frame>> MpiChannel::NextFrame() {
  RETORT_RETURN_IF_ERROR(StartReceives());
  std::set<int> waiting;
  for (auto receive = receives_.begin(); receive != receives_.end(); ++receive) {
    if (waiting.contains(receive->peer)) continue;
    int done = 0;
    const int code = MPI_Test(&receive->request, &done, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && done == 0) {
      waiting.insert(receive->peer);
      continue;
    }
    Frame frame(receive->peer, std::move(receive->bytes));
    receives_.erase(receive);
    RETORT_RETURN_IF_ERROR(MpiStatus(code, "Receiving a message"));
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
