#include "cluster/messages.h"

#include <string_view>
#include <tuple>
#include <type_traits>

#include "cluster/json_value.h"
#include "cluster/message_schema.h"

namespace retort::cluster {
namespace {

template <typename M>
void WriteObject(JsonWriter& json, const M& message);

// At most `most` bytes of it; of UTF-8 whole characters.
std::string_view Cut(std::string_view text, std::size_t most) {
  constexpr std::size_t kLongestCharacter = 4;
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (most - end < kLongestCharacter && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

template <typename T>
void WriteField(JsonWriter& json, const T& value, std::size_t most) {
  if constexpr (std::is_same_v<T, Start>)
    WriteObject(json, value);
  else if constexpr (std::is_same_v<T, std::string>)
    Write(json, most > 0 ? Cut(value, most) : std::string_view(value));
  else
    Write(json, value);
}

template <typename M>
void WriteObject(JsonWriter& json, const M& message) {
  json.BeginObject();
  std::apply(
      [&](const auto&... field) {
        (WriteField(json.Key(field.name), message.*field.member, field.most), ...);
      },
      Schema<M>::fields);
  json.EndObject();
}

// The name of the first field that is missing or wrong (with its parents), or empty.
template <typename M>
std::string Fill(const Json& object, M& message);

template <typename T>
std::string FillField(const Json& object, std::string_view name, std::size_t most, T& out) {
  const auto found = object.find(name);
  if (found == object.end()) return std::string(name) + " (missing)";
  if constexpr (std::is_same_v<T, Start>) {
    if (!found->is_object()) return std::string(name);
    const std::string inner = Fill(*found, out);
    return inner.empty() ? inner : std::string(name) + "." + inner;
  } else {
    if (!FromJson(*found, out)) return std::string(name);
    if constexpr (std::is_same_v<T, std::string>)
      if (most > 0 && out.size() > most)
        return std::string(name) + " (more than " + std::to_string(most) + " bytes)";
    return "";
  }
}

template <typename M>
std::string Fill(const Json& object, M& message) {
  std::string wrong;
  std::apply(
      [&](const auto&... field) {
        (void)((wrong = FillField(object, field.name, field.most, message.*field.member), wrong.empty()) &&
               ...);
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

MessageType TypeOf(const Message& message) {
  return std::visit([](const auto& held) { return Schema<std::decay_t<decltype(held)>>::type; }, message);
}

std::string_view NameOf(MessageType type) {
  std::string_view name;
  VisitType(
      type, [&](const auto* held) { name = Schema<std::remove_cvref_t<decltype(*held)>>::name; },
      kAlternatives);
  return name;
}

std::string EncodePayload(const Message& message) {
  JsonWriter json;
  std::visit([&json](const auto& held) { WriteObject(json, held); }, message);
  return json.Take();
}

Result<Message> DecodePayload(MessageType type, std::string_view payload) {
  const std::string_view name = NameOf(type);
  if (name.empty()) {
    return Refused("Message type " + std::to_string(static_cast<unsigned>(type)) +
                   " is not known (field type).");
  }
  const Json object = Json::parse(payload, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object())
    return Refused("Message " + std::string(name) + ": the payload is not a JSON object.");
  std::optional<Result<Message>> decoded;
  VisitType(
      type, [&](const auto* held) { decoded = DecodeAs<std::remove_cvref_t<decltype(*held)>>(object); },
      kAlternatives);
  return std::move(*decoded);
}

}  // namespace retort::cluster
