// Whatever arrives on a socket is a message or is refused with the field that is wrong.
#include "cluster/messages.h"
#include "experiments/base/digests.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/message_samples.h"

namespace retort::testing {
namespace {

void CheckFrame(std::string_view bytes) {
  const auto decoded = cluster::Decode(bytes);
  if (!decoded.ok()) {
    CheckRefusal(decoded.status());
    return;
  }
  const std::string again = cluster::Encode(*decoded);
  const auto same = cluster::Decode(again);
  RETORT_CHECK(same.ok() && cluster::Encode(*same) == again);
}

void CheckPayload(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const auto type = static_cast<cluster::MessageType>(static_cast<unsigned char>(bytes[0]) |
                                                      static_cast<unsigned char>(bytes[1]) << 8);
  const auto message = cluster::DecodePayload(type, bytes.substr(2));
  if (!message.ok()) {
    CheckRefusal(message.status());
    return;
  }
  RETORT_CHECK(cluster::FindMessageType(*message) == type);
  RETORT_CHECK(cluster::DecodePayload(type, cluster::EncodePayload(*message)).ok());
}

}  // namespace

// Each message as a frame, and as its type and payload: the latter is past the checksum.
std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (const cluster::Message& message : SampleMessages()) {
    seeds.push_back("E" + cluster::Encode({{TrialId(7), 1}, {3}, 9, message}));
    const auto type = static_cast<std::uint16_t>(cluster::FindMessageType(message));
    seeds.push_back(std::string("P") + static_cast<char>(type & 255U) + static_cast<char>(type >> 8U) +
                    cluster::EncodePayload(message));
  }
  return seeds;
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = retort::testing::Bytes(data, size);
  if (input.empty()) return 0;
  if (input.front() == 'P') {
    retort::testing::CheckPayload(input.substr(1));
    return 0;
  }
  if (input.size() >= 5) {
    const auto length = retort::cluster::DecodeEnvelopeLength(input.substr(1));
    RETORT_CHECK(!length.ok() || *length <= retort::cluster::kMaxEnvelopeBytes);
  }
  retort::testing::CheckFrame(input.substr(1));
  return 0;
}
