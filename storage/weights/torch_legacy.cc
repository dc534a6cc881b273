#include <algorithm>
#include <utility>

#include "storage/byte_codec.h"
#include "storage/weights/containers.h"
#include "storage/weights/pickle.h"
#include "storage/weights/torch_state.h"

namespace retort::storage {
namespace {

constexpr std::string_view kMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr std::int64_t kProtocol = 1001;
constexpr std::uint64_t kFirstRead = 1 << 20;

Status Damaged(const std::string& name, std::uint64_t offset, const std::string& what) {
  return DamageError(name + ": offset " + std::to_string(offset) + ": " + what);
}

// The pickles that precede the storages.
struct LegacyHead {
  Pickle object, keys;
  std::uint64_t end = 0;
};

const PickleValue* Entry(const Pickle& pickle, std::string_view key) {
  const PickleValue& dict = pickle.at(pickle.root);
  if (dict.kind != PickleKind::dict) return nullptr;
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2)
    if (pickle.at(dict.items[i]).text == key) return &pickle.at(dict.items[i + 1]);
  return nullptr;
}

Status CheckHead(const Pickle& magic, const Pickle& protocol, const Pickle& system, const std::string& name) {
  const PickleValue& number = magic.at(magic.root);
  if (number.kind != PickleKind::large || number.text != kMagic)
    return Refused(name + ": offset 0: a pickle, but not one of torch.save: its magic number is missing");
  const PickleValue& version = protocol.at(protocol.root);
  if (version.kind != PickleKind::integer || version.integer != kProtocol)
    return Refused(name + ": offset " + std::to_string(version.at) + ": not protocol 1001 of torch.save");
  const PickleValue* little = Entry(system, "little_endian");
  if (little == nullptr || little->kind != PickleKind::boolean)
    return Damaged(name, system.at(system.root).at, "the byte order is missing");
  if (little->integer != 1)
    return Refused(name + ": offset " + std::to_string(little->at) +
                   ": big endian; save it on a little-endian machine");
  return {};
}

Result<LegacyHead> ReadHead(std::string_view bytes, const std::string& name) {
  const PersistentId none = [&](Pickle& pickle, std::uint32_t id) {
    return NoPersistentId(pickle, id, name);
  };
  const PersistentId storage = [&](Pickle& pickle, std::uint32_t id) {
    return StorageOfId(pickle, id, name);
  };
  LegacyHead head;
  const auto next = [&](const PersistentId& persistent) -> Result<Pickle> {
    Result<Pickle> pickle = ReadPickle(bytes.substr(head.end), name, head.end, persistent);
    if (pickle.ok()) head.end += pickle->consumed;
    return pickle;
  };
  RETORT_ASSIGN_OR_RETURN(const Pickle magic, next(none));
  RETORT_ASSIGN_OR_RETURN(const Pickle protocol, next(none));
  RETORT_ASSIGN_OR_RETURN(const Pickle system, next(none));
  RETORT_RETURN_IF_ERROR(CheckHead(magic, protocol, system, name));
  RETORT_ASSIGN_OR_RETURN(head.object, next(storage));
  RETORT_ASSIGN_OR_RETURN(head.keys, next(none));
  return head;
}

// How long the head is shows only once it is read: it is tried on more and more bytes.
Result<LegacyHead> FindHead(const InputFile& file, const std::string& name, std::string& bytes) {
  const std::uint64_t most = std::min<std::uint64_t>(file.size(), kMostPickleBytes);
  for (std::uint64_t size = std::min(kFirstRead, most);; size = std::min(size * 4, most)) {
    bytes.resize(size);
    RETORT_RETURN_IF_ERROR(file.ReadAt(0, bytes.size(), bytes.data()));
    Result<LegacyHead> head = ReadHead(bytes, name);
    if (head.ok() || head.status().code() != StatusCode::damage || size == most) return head;
  }
}

}  // namespace

Result<StoredState> ReadTorchLegacy(const InputFile& file, const std::string& name) {
  std::string bytes;
  RETORT_ASSIGN_OR_RETURN(const LegacyHead head, FindHead(file, name, bytes));
  const PickleValue& keys = head.keys.at(head.keys.root);
  if (keys.kind != PickleKind::list) return Damaged(name, keys.at, "the keys of the storages are no list");
  std::map<std::string, ElementType> types;
  for (const PickleStorage& storage : head.object.storages) types.emplace(storage.key, storage.type);
  StorageByKey storages;
  std::uint64_t at = head.end;
  for (const std::uint32_t item : keys.items) {
    const std::string key(head.keys.at(item).text.substr(0, 256));
    const auto type = types.find(key);
    if (type == types.end()) return Damaged(name, head.keys.at(item).at, "a storage that no tensor names");
    if (at > file.size() || file.size() - at < 8)
      return Damaged(name, file.size(), "cut short before the storage '" + key + "'");
    std::string count(8, '\0');
    RETORT_RETURN_IF_ERROR(file.ReadAt(at, count.size(), count.data()));
    const std::uint64_t elements = ByteReader(count).U64(), size = ByteSize(type->second);
    if (elements > (file.size() - at - 8) / size)
      return Damaged(name, at,
                     "the storage '" + key + "' of " + std::to_string(elements) + " elements is cut short");
    if (!storages.emplace(key, StoredStorage{type->second, at + 8, elements, std::nullopt}).second)
      return Damaged(name, at, "the storage '" + key + "' is there twice");
    at += 8 + elements * size;
  }
  if (at != file.size()) return Damaged(name, at, "bytes behind the last storage");
  return StateOfPickle(head.object, storages, "torch-legacy", name);
}

}  // namespace retort::storage
