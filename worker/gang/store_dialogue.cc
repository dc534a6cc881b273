#include "worker/gang/store_dialogue.h"

#include <charconv>
#include <cstdint>
#include <optional>

namespace retort::worker {
namespace {

// In a time that does not tell where they differ.
bool SameSecret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

// 0 for what is no number.
std::int64_t NumberIn(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Modulo 2^64.
std::int64_t Sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace

bool StoreDialogue::Take(std::string_view bytes, std::string& replies) {
  buffer_.append(bytes);
  for (;;) {
    auto frame = TakeStoreFrame(buffer_, admitted_ ? kMaxStoreFrame : kMaxStrangerFrame);
    if (!frame.ok()) return false;
    if (!frame->has_value()) return true;
    const auto request = DecodeStoreRequest(**frame);
    if (!request.ok()) return false;
    if (request->operation == StoreOperation::admit) admitted_ = SameSecret(request->value, *secret_);
    if (!admitted_) return false;
    replies += Answer(*request);
  }
}

std::string StoreDialogue::Answer(const StoreRequest& request) {
  const auto entry = values_->find(request.key);
  const bool found = entry != values_->end();
  switch (request.operation) {
    case StoreOperation::set:
      (*values_)[request.key] = request.value;
      return EncodeStoreReply(true, {});
    case StoreOperation::get:
      return EncodeStoreReply(found, found ? entry->second : std::string());
    case StoreOperation::add: {
      const std::int64_t before = found ? NumberIn(entry->second) : 0;
      std::string& value = (*values_)[request.key];
      value = std::to_string(Sum(before, NumberIn(request.value)));
      return EncodeStoreReply(true, value);
    }
    case StoreOperation::erase:
      return EncodeStoreReply(values_->erase(request.key) > 0, {});
    case StoreOperation::count:
      return EncodeStoreReply(true, std::to_string(values_->size()));
    case StoreOperation::admit:
      return EncodeStoreReply(true, {});
  }
  return EncodeStoreReply(false, {});
}

}  // namespace retort::worker
