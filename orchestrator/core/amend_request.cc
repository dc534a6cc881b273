#include "orchestrator/core/amend_request.h"

#include <algorithm>

#include "experiments/base/digests.h"
#include "storage/formats/byte_codec.h"

namespace retort::orchestrator {
namespace {

constexpr std::string_view kRequestMagic = "RETORTRQ";
constexpr std::string_view kAnswerMagic = "RETORTAN";
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kChecksumBytes = 4;

storage::ByteWriter Begin(std::string_view magic) {
  storage::ByteWriter writer;
  writer.Raw(magic);
  writer.U16(kVersion);
  return writer;
}

std::string Seal(storage::ByteWriter writer) {
  writer.U32(ComputeCrc32c(writer.bytes()));
  return std::move(writer).Take();
}

// Returns the bytes between version and checksum.
Result<std::string_view> Unseal(std::string_view bytes, std::string_view magic, const std::string& what) {
  const std::size_t head = magic.size() + sizeof(kVersion);
  if (bytes.size() > kMaxRequestBytes)
    return DamageError(what + ": " + std::to_string(bytes.size()) + " bytes are more than the " +
                       std::to_string(kMaxRequestBytes) + " that it may have");
  if (bytes.size() < head + kChecksumBytes || bytes.substr(0, magic.size()) != magic)
    return DamageError(what + ": it does not begin as one (magic)");
  storage::ByteReader version(bytes.substr(magic.size()));
  if (const std::uint16_t found = version.U16(); found != kVersion)
    return UsageError(what + " has version " + std::to_string(found) + ", and this retort understands " +
                      std::to_string(kVersion) + ": use one retort for the run and for the command");
  const std::string_view body = bytes.substr(0, bytes.size() - kChecksumBytes);
  storage::ByteReader checksum(bytes.substr(body.size()));
  if (checksum.U32() != ComputeCrc32c(body)) return DamageError(what + ": its bytes were changed (checksum)");
  return body.substr(head);
}

}  // namespace

std::string EncodeRequest(const AmendRequest& request) {
  RETORT_CHECK(request.trials.size() <= kMaxRequestedTrials && request.sweep.size() <= kMaxSweepNameBytes);
  storage::ByteWriter writer = Begin(kRequestMagic);
  writer.U8(static_cast<std::uint8_t>(request.amendment));
  writer.Text(request.sweep);
  writer.U32(static_cast<std::uint32_t>(request.trials.size()));
  for (const RequestedTrial& asked : request.trials) {
    writer.U64(asked.trial.bits());
    writer.U32(asked.attempts);
  }
  return Seal(std::move(writer));
}

Result<AmendRequest> DecodeRequest(std::string_view bytes) {
  RETORT_ASSIGN_OR_RETURN(const std::string_view body, Unseal(bytes, kRequestMagic, "the request"));
  storage::ByteReader reader(body);
  AmendRequest request;
  const std::uint8_t amendment = reader.U8();
  if (amendment != static_cast<std::uint8_t>(Amendment::retry) &&
      amendment != static_cast<std::uint8_t>(Amendment::cancel))
    return DamageError("the request: it asks for number " + std::to_string(amendment) +
                       ", which is neither retry nor cancel (amendment)");
  request.amendment = static_cast<Amendment>(amendment);
  request.sweep = reader.Text();
  if (request.sweep.size() > kMaxSweepNameBytes)
    return DamageError("the request: its sweep's name is too long (sweep)");
  const std::uint32_t count = reader.U32();
  if (count > kMaxRequestedTrials) return DamageError("the request: it names too many trials (count)");
  for (std::uint32_t i = 0; i < count && reader.ok(); ++i) {
    const TrialId trial(reader.U64());
    request.trials.push_back({trial, reader.U32()});
  }
  if (!reader.ok() || !reader.AtEnd()) return DamageError("the request: its length does not fit its fields (trials)");
  return request;
}

std::string EncodeAnswer(const AmendAnswer& answer) {
  storage::ByteWriter writer = Begin(kAnswerMagic);
  writer.U8(static_cast<std::uint8_t>(answer.kind));
  writer.Text(std::string_view(answer.text).substr(0, kMaxAnswerText));
  const std::size_t count = std::min(answer.changed.size(), kMaxRequestedTrials);
  writer.U32(static_cast<std::uint32_t>(count));
  for (std::size_t i = 0; i < count; ++i) writer.U64(answer.changed[i].bits());
  return Seal(std::move(writer));
}

Result<AmendAnswer> DecodeAnswer(std::string_view bytes) {
  RETORT_ASSIGN_OR_RETURN(const std::string_view body, Unseal(bytes, kAnswerMagic, "the answer"));
  storage::ByteReader reader(body);
  AmendAnswer answer;
  const std::uint8_t kind = reader.U8();
  if (kind < static_cast<std::uint8_t>(AnswerKind::done) || kind > static_cast<std::uint8_t>(AnswerKind::refused))
    return DamageError("the answer: unknown kind " + std::to_string(kind));
  answer.kind = static_cast<AnswerKind>(kind);
  answer.text = reader.Text();
  if (answer.text.size() > kMaxAnswerText) return DamageError("the answer: its text is too long (text)");
  const std::uint32_t count = reader.U32();
  if (count > kMaxRequestedTrials) return DamageError("the answer: it names too many trials (count)");
  for (std::uint32_t i = 0; i < count && reader.ok(); ++i) answer.changed.emplace_back(reader.U64());
  if (!reader.ok() || !reader.AtEnd()) return DamageError("the answer: its length does not fit its fields (trials)");
  return answer;
}

}  // namespace retort::orchestrator
