#include "cluster/messages.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "experiments/base/digests.h"
#include "experiments/base/failure_kind.h"
#include "experiments/base/json.h"
#include "experiments/base/printable.h"
#include "experiments/privacy/privacy_event.h"

namespace retort::cluster {
namespace {

using Json = nlohmann::json;

// C++ values as JSON and back, exactly. NaN and the infinities, which JSON lacks, are written as the texts "nan", "inf"
// and "-inf", a string that is not UTF-8 as {"bytes": "<hex>"}.

constexpr std::string_view kBytesKey = "bytes";

void Write(JsonWriter& json, bool value) { json.Flag(value); }

void Write(JsonWriter& json, double value) {
  if (std::isnan(value))
    json.Text("nan");
  else if (std::isinf(value))
    json.Text(value > 0 ? "inf" : "-inf");
  else
    json.Number(value);
}

void Write(JsonWriter& json, std::string_view value) {
  if (IsUtf8(value))
    json.Text(value);
  else
    json.BeginObject().Key(kBytesKey).Text(FormatHex(value)).EndObject();
}

void Write(JsonWriter& json, FailureKind value) { json.Text(GetFailureName(value)); }

void Write(JsonWriter& json, const privacy::PrivacyEvent& value) { json.Text(privacy::EncodeEvent(value)); }

void Write(JsonWriter& json, const std::string& value) { Write(json, std::string_view(value)); }

template <std::integral T>
void Write(JsonWriter& json, T value) {
  json.Integer(value);
}

template <typename A, typename B>
void Write(JsonWriter& json, const std::pair<A, B>& value) {
  json.BeginArray();
  Write(json, value.first);
  Write(json, value.second);
  json.EndArray();
}

template <typename T>
void Write(JsonWriter& json, const std::vector<T>& values) {
  json.BeginArray();
  for (const T& value : values) Write(json, value);
  json.EndArray();
}

// Each FromJson is false, with `out` unspecified, when the JSON is not such a value.
bool FromJson(const Json& json, bool& out) {
  if (!json.is_boolean()) return false;
  out = json.get<bool>();
  return true;
}

bool FromJson(const Json& json, double& out) {
  if (json.is_number()) {
    out = json.get<double>();
    return true;
  }
  if (!json.is_string()) return false;
  const auto& text = json.get_ref<const std::string&>();
  if (text == "nan")
    out = std::numeric_limits<double>::quiet_NaN();
  else if (text == "inf")
    out = std::numeric_limits<double>::infinity();
  else if (text == "-inf")
    out = -std::numeric_limits<double>::infinity();
  else
    return false;
  return true;
}

bool FromJson(const Json& json, std::string& out) {
  if (json.is_string()) {
    out = json.get_ref<const std::string&>();
    return true;
  }
  if (!json.is_object() || json.size() != 1 || !json.contains(kBytesKey)) return false;
  const Json& hex = json[std::string(kBytesKey)];
  if (!hex.is_string()) return false;
  auto bytes = ParseHex(hex.get_ref<const std::string&>());
  if (!bytes) return false;
  out = std::move(*bytes);
  return true;
}

bool FromJson(const Json& json, FailureKind& out) {
  if (!json.is_string()) return false;
  const auto kind = ParseFailureName(json.get_ref<const std::string&>());
  if (!kind) return false;
  out = *kind;
  return true;
}

bool FromJson(const Json& json, privacy::PrivacyEvent& out) {
  if (!json.is_string()) return false;
  auto event = privacy::DecodeEvent(json.get_ref<const std::string&>());
  if (!event.ok()) return false;
  out = std::move(*event);
  return true;
}

template <std::integral T>
bool FromJson(const Json& json, T& out) {
  const std::optional<T> value = FindInteger<T>(json);
  if (value) out = *value;
  return value.has_value();
}

template <typename A, typename B>
bool FromJson(const Json& json, std::pair<A, B>& out) {
  return json.is_array() && json.size() == 2 && FromJson(json[0], out.first) && FromJson(json[1], out.second);
}

template <typename T>
bool FromJson(const Json& json, std::vector<T>& out) {
  if (!json.is_array()) return false;
  out.clear();
  out.reserve(json.size());
  for (const Json& entry : json) {
    if (!FromJson(entry, out.emplace_back())) return false;
  }
  return true;
}

// The table of all messages: number, name and fields of each.

// Limits on text that ends in the journal. The sender cuts text that is longer.
constexpr std::size_t kMaxDigestBytes = 64;  // SHA-256 in hex
constexpr std::size_t kMaxPhaseBytes = 256;
constexpr std::size_t kMaxDetailBytes = 4096;

template <typename M, typename T>
struct Field {
  std::string_view name;
  T M::*member;
  std::size_t max_bytes = 0;  // of a text; 0 = as the envelope allows
};
template <typename M, typename T>
Field(std::string_view, T M::*) -> Field<M, T>;
template <typename M, typename T>
Field(std::string_view, T M::*, std::size_t) -> Field<M, T>;

template <typename M>
struct Schema;

#define RETORT_MESSAGE(Type, number, ...)                        \
  template <>                                                    \
  struct Schema<Type> {                                          \
    using M = Type;                                              \
    static constexpr MessageType type = MessageType::number;     \
    static constexpr std::string_view name = #Type;              \
    static constexpr auto fields = std::make_tuple(__VA_ARGS__); \
  }
#define RETORT_FIELD(member) \
  Field { #member, &M::member }
#define RETORT_TEXT(member, max_bytes) \
  Field { #member, &M::member, max_bytes }

RETORT_MESSAGE(Hello, hello, RETORT_FIELD(build), RETORT_FIELD(device), RETORT_FIELD(capabilities));
RETORT_MESSAGE(GangAddress, gang_address, RETORT_FIELD(blob));
RETORT_MESSAGE(Reserve, reserve, RETORT_FIELD(id), RETORT_FIELD(event), RETORT_FIELD(count), RETORT_FIELD(drawn));
RETORT_MESSAGE(Settle, settle, RETORT_FIELD(id), RETORT_FIELD(used));
RETORT_MESSAGE(Progress, progress, RETORT_FIELD(step), RETORT_FIELD(total_steps), RETORT_TEXT(phase, kMaxPhaseBytes),
               RETORT_FIELD(series));
RETORT_MESSAGE(CheckpointCommitted, checkpoint_committed, RETORT_FIELD(step), RETORT_TEXT(digest, kMaxDigestBytes),
               RETORT_FIELD(seconds), RETORT_FIELD(bytes));
RETORT_MESSAGE(Ended, ended, RETORT_FIELD(succeeded), RETORT_FIELD(failure), RETORT_TEXT(detail, kMaxDetailBytes),
               RETORT_FIELD(metrics), RETORT_FIELD(timings), RETORT_TEXT(parameters_digest, kMaxDigestBytes),
               RETORT_FIELD(file));
RETORT_MESSAGE(Answer, answer, RETORT_FIELD(text));

RETORT_MESSAGE(Start, start, RETORT_FIELD(spec), RETORT_FIELD(gang_rank), RETORT_FIELD(gang_size), RETORT_FIELD(device),
               RETORT_FIELD(trial_directory), RETORT_FIELD(attempt_directory), RETORT_FIELD(teacher_file),
               RETORT_FIELD(data_path), RETORT_FIELD(sweep), RETORT_FIELD(gang_host), RETORT_FIELD(charged),
               RETORT_FIELD(teacher_claims), RETORT_FIELD(teacher_parameters));
RETORT_MESSAGE(GangReady, gang_ready, RETORT_FIELD(blob));
RETORT_MESSAGE(Reserved, reserved, RETORT_FIELD(id), RETORT_FIELD(granted), RETORT_FIELD(refusal));
RETORT_MESSAGE(Stop, stop, RETORT_FIELD(save), RETORT_FIELD(deadline_seconds));

RETORT_MESSAGE(Register, register_agent, RETORT_FIELD(host), RETORT_FIELD(slots), RETORT_FIELD(devices),
               RETORT_FIELD(build), RETORT_FIELD(address), RETORT_FIELD(seats_per_slot), RETORT_FIELD(identity),
               RETORT_FIELD(device_uuids));
RETORT_MESSAGE(Lease, lease, RETORT_FIELD(members), RETORT_FIELD(slot), RETORT_FIELD(start));
RETORT_MESSAGE(Heartbeat, heartbeat, RETORT_FIELD(uptime_seconds), RETORT_FIELD(memory_available),
               RETORT_FIELD(worker_peak));
RETORT_MESSAGE(Drain, drain, RETORT_FIELD(save), RETORT_FIELD(deadline_seconds));
RETORT_MESSAGE(Shutdown, shutdown);
RETORT_MESSAGE(WorkerLost, worker_lost, RETORT_FIELD(failure), RETORT_TEXT(detail, kMaxDetailBytes));

#undef RETORT_FIELD
#undef RETORT_TEXT
#undef RETORT_MESSAGE

template <typename M>
void WriteObject(JsonWriter& json, const M& message);

// The first `max_bytes` bytes at most; of UTF-8 whole characters.
std::string_view Cut(std::string_view text, std::size_t max_bytes) {
  constexpr std::size_t kLongestCharacter = 4;
  if (text.size() <= max_bytes) return text;
  std::size_t end = max_bytes;
  while (max_bytes - end < kLongestCharacter && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

template <typename T>
void WriteField(JsonWriter& json, const T& value, std::size_t max_bytes) {
  if constexpr (std::is_same_v<T, Start>)
    WriteObject(json, value);
  else if constexpr (std::is_same_v<T, std::string>)
    Write(json, max_bytes > 0 ? Cut(value, max_bytes) : std::string_view(value));
  else
    Write(json, value);
}

template <typename M>
void WriteObject(JsonWriter& json, const M& message) {
  json.BeginObject();
  std::apply(
      [&](const auto&... field) { (WriteField(json.Key(field.name), message.*field.member, field.max_bytes), ...); },
      Schema<M>::fields);
  json.EndObject();
}

// The name of the first field that is missing or wrong (with its parents), or empty.
template <typename M>
std::string Fill(const Json& object, M& message);

template <typename T>
std::string FillField(const Json& object, std::string_view name, std::size_t max_bytes, T& out) {
  const auto found = object.find(name);
  if (found == object.end()) return std::string(name) + " (missing)";
  if constexpr (std::is_same_v<T, Start>) {
    if (!found->is_object()) return std::string(name);
    const std::string inner = Fill(*found, out);
    return inner.empty() ? inner : std::string(name) + "." + inner;
  } else {
    if (!FromJson(*found, out)) return std::string(name);
    if constexpr (std::is_same_v<T, std::string>)
      if (max_bytes > 0 && out.size() > max_bytes)
        return std::string(name) + " (more than " + std::to_string(max_bytes) + " bytes)";
    return "";
  }
}

template <typename M>
std::string Fill(const Json& object, M& message) {
  std::string wrong;
  std::apply(
      [&](const auto&... field) {
        (void)((wrong = FillField(object, field.name, field.max_bytes, message.*field.member), wrong.empty()) && ...);
      },
      Schema<M>::fields);
  return wrong;
}

template <typename M>
Result<Message> DecodeAs(const Json& object) {
  M message;
  const std::string wrong = Fill(object, message);
  if (!wrong.empty()) {
    return Refused("Message " + std::string(Schema<M>::name) + ": payload field " + wrong + " is not valid.");
  }
  return Message(std::move(message));
}

// Calls `visit` with a null pointer to the message struct of this number; false when there is none.
template <typename Visit, typename... Ms>
bool VisitType(MessageType type, const Visit& visit, const std::variant<Ms...>* /*alternatives*/) {
  return ((type == Schema<Ms>::type && (visit(static_cast<const Ms*>(nullptr)), true)) || ...);
}

constexpr const Message* kAlternatives = nullptr;

}  // namespace

MessageType FindMessageType(const Message& message) {
  return std::visit([](const auto& held) { return Schema<std::decay_t<decltype(held)>>::type; }, message);
}

std::string_view GetMessageTypeName(MessageType type) {
  std::string_view name;
  VisitType(
      type, [&](const auto* held) { name = Schema<std::remove_cvref_t<decltype(*held)>>::name; }, kAlternatives);
  return name;
}

std::string EncodePayload(const Message& message) {
  JsonWriter json;
  std::visit([&json](const auto& held) { WriteObject(json, held); }, message);
  return json.Take();
}

Result<Message> DecodePayload(MessageType type, std::string_view payload) {
  const std::string_view name = GetMessageTypeName(type);
  if (name.empty()) {
    return Refused("Message type " + std::to_string(static_cast<unsigned>(type)) + " is not known (field type).");
  }
  const Json object = Json::parse(payload, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return Refused("Message " + std::string(name) + ": the payload is not a JSON object.");
  std::optional<Result<Message>> decoded;
  VisitType(
      type, [&](const auto* held) { decoded = DecodeAs<std::remove_cvref_t<decltype(*held)>>(object); }, kAlternatives);
  return std::move(*decoded);
}

namespace {

// length u32 (of the whole frame), version u16, type u16, trial u64, attempt u32, generation u64,
// sequence u64
constexpr std::size_t kHeaderBytes = 4 + 2 + 2 + 8 + 4 + 8 + 8;
constexpr std::size_t kCrcBytes = 4;

template <std::unsigned_integral T>
void Put(std::string& bytes, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes.push_back(static_cast<char>((value >> (8 * i)) & 0xFFU));
}

// Reads at the front of `bytes`, which is long enough, and drops what it read.
template <std::unsigned_integral T>
T Take(std::string_view& bytes) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | static_cast<T>(T{static_cast<unsigned char>(bytes[i])} << (8 * i)));
  }
  bytes.remove_prefix(sizeof(T));
  return value;
}

Status FieldError(std::string_view field, const std::string& what) {
  return Refused("Malformed envelope, field " + std::string(field) + ": " + what + ".");
}

}  // namespace

std::string Encode(const Envelope& envelope) {
  const std::string payload = EncodePayload(envelope.message);
  const std::size_t total = kHeaderBytes + payload.size() + kCrcBytes;
  std::string bytes;
  bytes.reserve(total);
  Put(bytes, static_cast<std::uint32_t>(total));
  Put(bytes, kEnvelopeVersion);
  Put(bytes, static_cast<std::uint16_t>(FindMessageType(envelope.message)));
  Put(bytes, envelope.attempt.trial.bits());
  Put(bytes, envelope.attempt.number);
  Put(bytes, envelope.generation.value);
  Put(bytes, envelope.sequence);
  bytes += payload;
  Put(bytes, ComputeCrc32c(bytes));
  return bytes;
}

Result<std::size_t> DecodeEnvelopeLength(std::string_view first_bytes) {
  if (first_bytes.size() < sizeof(std::uint32_t)) {
    return FieldError("length", "only " + std::to_string(first_bytes.size()) + " bytes of it arrived");
  }
  const std::size_t length = Take<std::uint32_t>(first_bytes);
  if (length < kHeaderBytes + kCrcBytes || length > kMaxEnvelopeBytes) {
    return FieldError("length", std::to_string(length) + " is outside " + std::to_string(kHeaderBytes + kCrcBytes) +
                                    " to " + std::to_string(kMaxEnvelopeBytes) + " bytes");
  }
  return length;
}

Result<Envelope> Decode(std::string_view bytes) {
  RETORT_ASSIGN_OR_RETURN(const std::size_t length, DecodeEnvelopeLength(bytes));
  if (length != bytes.size()) {
    return FieldError("length",
                      "it says " + std::to_string(length) + " bytes, the frame has " + std::to_string(bytes.size()));
  }
  std::string_view rest = bytes.substr(sizeof(std::uint32_t));
  const auto version = Take<std::uint16_t>(rest);
  if (version != kEnvelopeVersion) {
    return FieldError("version", std::to_string(version) + " instead of " + std::to_string(kEnvelopeVersion) +
                                     "; both programs must come from one build");
  }
  std::string_view tail = bytes.substr(length - kCrcBytes);
  if (Take<std::uint32_t>(tail) != ComputeCrc32c(bytes.substr(0, length - kCrcBytes))) {
    return FieldError("crc", "the bytes are not those that were sent");
  }
  const auto type = static_cast<MessageType>(Take<std::uint16_t>(rest));
  Envelope envelope;
  envelope.attempt.trial = TrialId(Take<std::uint64_t>(rest));
  envelope.attempt.number = Take<std::uint32_t>(rest);
  envelope.generation.value = Take<std::uint64_t>(rest);
  envelope.sequence = Take<std::uint64_t>(rest);
  rest.remove_suffix(kCrcBytes);
  RETORT_ASSIGN_OR_RETURN(envelope.message, DecodePayload(type, rest));
  return envelope;
}

}  // namespace retort::cluster
