// Whatever a stranger sends to a gang's store gets no answer and is not kept; whatever a member sends is
// answered or ends the connection.
#include "tests/fuzz/fuzz_target.h"
#include "worker/gang/store_protocol.h"

namespace retort::testing {
namespace {

using worker::EncodeStoreRequest;
using worker::StoreDialogue;
using worker::StoreOperation;
using worker::StoreValues;

const char* const kSecret = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";

// In pieces, as a network delivers it. False when the connection ended.
bool Feed(StoreDialogue& dialogue, std::string_view bytes, std::string& replies) {
  for (std::size_t piece = 1; !bytes.empty(); piece = piece * 3 % 61) {
    if (!dialogue.Take(bytes.substr(0, piece), replies)) return false;
    RETORT_CHECK(dialogue.admitted() || dialogue.buffered() <= worker::kMaxUnadmittedFrame + 4);
    RETORT_CHECK(dialogue.buffered() <= worker::kMaxStoreFrame + 4);
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return true;
}

void CheckStranger(std::string_view bytes) {
  StoreValues values;
  const std::string secret = kSecret;
  StoreDialogue dialogue(values, secret);
  std::string replies;
  static_cast<void>(Feed(dialogue, bytes, replies));
  if (bytes.find(kSecret) != std::string_view::npos) return;
  RETORT_CHECK(replies.empty() && values.empty() && !dialogue.admitted());
}

void CheckMember(std::string_view bytes) {
  StoreValues values;
  const std::string secret = kSecret;
  StoreDialogue dialogue(values, secret);
  std::string replies;
  RETORT_CHECK(Feed(dialogue, EncodeStoreRequest({StoreOperation::admit, {}, secret}), replies));
  RETORT_CHECK(dialogue.admitted() && !replies.empty());
  static_cast<void>(Feed(dialogue, bytes, replies));
  // The answers are whole frames.
  while (!replies.empty()) {
    const auto reply = worker::TakeStoreFrame(replies, ~std::size_t{0});
    RETORT_CHECK(reply.ok() && reply->has_value() && !(*reply)->empty());
  }
}

// Every frame that decodes is encoded to the same bytes.
void CheckFrames(std::string_view bytes) {
  std::string buffer(bytes);
  for (;;) {
    const auto frame = worker::TakeStoreFrame(buffer);
    if (!frame.ok()) CheckRefusal(frame.status());
    if (!frame.ok() || !frame->has_value()) return;
    const auto request = worker::DecodeStoreRequest(**frame);
    if (!request.ok()) {
      CheckRefusal(request.status());
      return;
    }
    RETORT_CHECK(EncodeStoreRequest(*request).substr(4) == **frame);
  }
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const std::string admit = EncodeStoreRequest({StoreOperation::admit, {}, kSecret});
  const std::string set = EncodeStoreRequest({StoreOperation::set, "gang/1/key", std::string("\0\1\2", 3)});
  const std::string get = EncodeStoreRequest({StoreOperation::get, "gang/1/key", {}});
  const std::string add = EncodeStoreRequest({StoreOperation::add, "gang/1/count", "9223372036854775807"});
  const std::string erase = EncodeStoreRequest({StoreOperation::erase, "gang/1/key", {}});
  const std::string count = EncodeStoreRequest({StoreOperation::count, {}, {}});
  return {admit,
          set + get + erase,
          add + add + get,
          get + count,
          admit + set + get,
          "GET / HTTP/1.1\r\n\r\n",
          std::string("\377\377\377\377", 4)};
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = retort::testing::Bytes(data, size);
  retort::testing::CheckStranger(input);
  retort::testing::CheckMember(input);
  retort::testing::CheckFrames(input);
  return 0;
}
