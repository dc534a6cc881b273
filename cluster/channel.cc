#include "cluster/channel.h"

#include <string>

namespace retort::cluster {

Status CheckReceiver(const Channel& channel, WorldRank to) {
  if (to.value >= 0 && to.value < channel.size()) return {};
  return Refused("World rank " + std::to_string(to.value) + " does not exist: the world has " +
                 std::to_string(channel.size()) + " ranks.");
}

Result<std::string> EncodeChecked(const Envelope& envelope) {
  std::string bytes = Encode(envelope);
  if (bytes.size() <= kMaxEnvelopeBytes) return bytes;
  return Refused("A " + std::string(NameOf(TypeOf(envelope.message))) + " message of " +
                 std::to_string(bytes.size()) + " bytes is larger than the " +
                 std::to_string(kMaxEnvelopeBytes) + " bytes that an envelope may have.");
}

Result<Envelope> DecodeFrom(WorldRank from, std::string_view bytes) {
  auto envelope = Decode(bytes);
  if (envelope.ok()) return envelope;
  const Status status = envelope.status();
  return Status(status.code(), "From world rank " + std::to_string(from.value) + ": " + status.message());
}

}  // namespace retort::cluster
