#include "storage/weights/torch_file.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "storage/files/env.h"
#include "storage/files/read_limits.h"
#include "storage/formats/byte_codec.h"
#include "storage/formats/tar_archive.h"
#include "storage/formats/zip_archive.h"
#include "storage/weights/class_names.h"
#include "storage/weights/torch_pickle.h"

namespace retort::storage {
namespace {

constexpr std::string_view kPickle = "/data.pkl";
constexpr std::uint64_t kMaxNote = 64;  // bytes of "byteorder" and "version"

Status RefusedEntry(const ZipFile& zip, const ZipEntry& entry, const std::string& what) {
  return Refused(zip.name() + ": offset " + std::to_string(entry.data) + ": " + what);
}

// The only entry PREFIX/data.pkl.
Result<const ZipEntry*> FindPickle(const ZipFile& zip) {
  const ZipEntry* found = nullptr;
  for (const ZipEntry& entry : zip.entries()) {
    const bool named = entry.name.ends_with(kPickle) && entry.name.find('/') == entry.name.size() - kPickle.size();
    if (!named) continue;
    if (found != nullptr) return RefusedEntry(zip, entry, "the archive holds two pickles; one is meant to be there");
    found = &entry;
  }
  if (found != nullptr) return found;
  return Refused(zip.name() + ": offset 0: a zip archive, but not one of torch.save: it has no PREFIX/data.pkl");
}

// A module that torch.jit.save wrote is a program.
Status RefuseScript(const ZipFile& zip, const std::string& prefix) {
  for (const ZipEntry& entry : zip.entries())
    if (entry.name.starts_with(prefix + "/code/") || entry.name == prefix + "/constants.pkl")
      return RefusedEntry(zip, entry,
                          "this is a TorchScript module, which is a program, and no state dict; `retort model check "
                          "--torchscript` "
                          "runs it");
  return {};
}

Status CheckByteOrder(const ZipFile& zip, const std::string& prefix) {
  const ZipEntry* entry = zip.Find(prefix + "/byteorder");
  if (entry == nullptr) return {};
  RETORT_ASSIGN_OR_RETURN(const std::string order, zip.Read(*entry, kMaxNote));
  if (order == "little") return {};
  return RefusedEntry(zip, *entry,
                      "its byte order is '" + order.substr(0, 16) + "'; save it on a little-endian machine");
}

// The contents of the entries one after the other, where some are packed.
class UnpackedEntries {
 public:
  explicit UnpackedEntries(const ZipFile& zip) : zip_(zip), most_(ComputeMaxUnpackedSize(zip.file().size())) {}

  // The offset of the contents among them.
  Result<std::uint64_t> Add(const ZipEntry& entry) {
    const std::uint64_t at = bytes_.size();
    if (entry.bytes > most_ - at)
      return RefusedEntry(zip_, entry, "its entries unpack to more than " + std::to_string(most_ >> 20U) + " MiB");
    RETORT_ASSIGN_OR_RETURN(const std::string contents, zip_.Read(entry, most_));
    bytes_ += contents;
    return at;
  }
  [[nodiscard]] std::shared_ptr<const InputFile> Finish() && {
    return MakeMemoryFile(zip_.name() + ", unpacked", std::move(bytes_));
  }

 private:
  const ZipFile& zip_;
  const std::uint64_t most_;
  std::string bytes_;
};

Status AddStorage(const ZipFile& zip, const PickleStorage& wanted, const std::string& prefix, UnpackedEntries* unpacked,
                  StorageByKey& storages) {
  if (storages.contains(wanted.key)) return {};
  const ZipEntry* entry = zip.Find(prefix + "/data/" + wanted.key);
  const std::string where =
      zip.name() + ": offset " + std::to_string(wanted.at) + ": the storage '" + wanted.key + "' ";
  if (entry == nullptr) return DamageError(where + "has no entry " + prefix + "/data/" + wanted.key);
  const std::uint64_t size = ComputeByteSize(wanted.type);
  if (entry->bytes % size != 0 || entry->bytes / size != static_cast<std::uint64_t>(wanted.count))
    return DamageError(where + "has " + std::to_string(entry->bytes) + " bytes for " + std::to_string(wanted.count) +
                       " elements of " + std::to_string(size));
  if (unpacked == nullptr) {
    storages[wanted.key] = {wanted.type, entry->data, entry->bytes / size, entry->crc};
  } else {
    RETORT_ASSIGN_OR_RETURN(const std::uint64_t at, unpacked->Add(*entry));
    storages[wanted.key] = {wanted.type, at, entry->bytes / size, std::nullopt};
  }
  return {};
}

}  // namespace

Result<StoredState> ReadTorchZip(std::shared_ptr<const InputFile> file, const std::string& name) {
  RETORT_ASSIGN_OR_RETURN(const ZipFile zip, ZipFile::Open(std::move(file), name));
  RETORT_ASSIGN_OR_RETURN(const ZipEntry* entry, FindPickle(zip));
  const std::string prefix = entry->name.substr(0, entry->name.size() - kPickle.size());
  RETORT_RETURN_IF_ERROR(RefuseScript(zip, prefix));
  RETORT_RETURN_IF_ERROR(CheckByteOrder(zip, prefix));
  RETORT_ASSIGN_OR_RETURN(const std::string bytes, zip.Read(*entry, kMaxPickleBytes));
  const PersistentId persistent = [&name](Pickle& pickle, std::uint32_t id) {
    return ParseStorageId(pickle, id, name);
  };
  RETORT_ASSIGN_OR_RETURN(const Pickle pickle, ReadPickle(bytes, name, entry->data, persistent));
  const bool packed =
      std::any_of(zip.entries().begin(), zip.entries().end(), [](const ZipEntry& one) { return one.deflated; });
  UnpackedEntries unpacked(zip);
  StorageByKey storages;
  for (const PickleStorage& storage : pickle.storages)
    RETORT_RETURN_IF_ERROR(AddStorage(zip, storage, prefix, packed ? &unpacked : nullptr, storages));
  RETORT_ASSIGN_OR_RETURN(StoredState state, BuildStoredState(pickle, storages, "torch-zip", name));
  if (packed) state.unpacked = std::move(unpacked).Finish();
  return state;
}

namespace {

constexpr std::string_view kMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr std::int64_t kProtocol = 1001;
constexpr std::uint64_t kFirstRead = 1 << 20;

Status DamagedPickle(const std::string& name, std::uint64_t offset, const std::string& what) {
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
    return DamagedPickle(name, system.at(system.root).at, "the byte order is missing");
  if (little->integer != 1)
    return Refused(name + ": offset " + std::to_string(little->at) +
                   ": big endian; save it on a little-endian machine");
  return {};
}

Result<LegacyHead> ReadHead(std::string_view bytes, const std::string& name) {
  const PersistentId none = [&](Pickle& pickle, std::uint32_t id) { return RefusePersistentId(pickle, id, name); };
  const PersistentId storage = [&](Pickle& pickle, std::uint32_t id) { return ParseStorageId(pickle, id, name); };
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
  const std::uint64_t most = std::min<std::uint64_t>(file.size(), kMaxPickleBytes);
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
  if (keys.kind != PickleKind::list) return DamagedPickle(name, keys.at, "the keys of the storages are no list");
  std::map<std::string, ElementType> types;
  for (const PickleStorage& storage : head.object.storages) types.emplace(storage.key, storage.type);
  StorageByKey storages;
  std::uint64_t at = head.end;
  for (const std::uint32_t item : keys.items) {
    const std::string key(head.keys.at(item).text.substr(0, 256));
    const auto type = types.find(key);
    if (type == types.end()) return DamagedPickle(name, head.keys.at(item).at, "a storage that no tensor names");
    if (at > file.size() || file.size() - at < 8)
      return DamagedPickle(name, file.size(), "cut short before the storage '" + key + "'");
    std::string count(8, '\0');
    RETORT_RETURN_IF_ERROR(file.ReadAt(at, count.size(), count.data()));
    const std::uint64_t elements = ByteReader(count).U64(), size = ComputeByteSize(type->second);
    if (elements > (file.size() - at - 8) / size)
      return DamagedPickle(name, at,
                           "the storage '" + key + "' of " + std::to_string(elements) + " elements is cut short");
    if (!storages.emplace(key, StoredStorage{type->second, at + 8, elements, std::nullopt}).second)
      return DamagedPickle(name, at, "the storage '" + key + "' is there twice");
    at += 8 + elements * size;
  }
  if (at != file.size()) return DamagedPickle(name, at, "bytes behind the last storage");
  return BuildStoredState(head.object, storages, "torch-legacy", name);
}

namespace {

constexpr std::int64_t kMaxRecords = 1 << 18;
constexpr std::size_t kRecord = 4096;  // bytes that hold the pickle before a storage

// The archive with what has been read of it. Keys are addresses in the process that saved it.
class TarState {
 public:
  TarState(const InputFile& file, const std::string& name) : file_(file), name_(name) {}

  Result<StoredState> Read() {
    RETORT_ASSIGN_OR_RETURN(members_, ReadTarMembers(file_, name_));
    RETORT_RETURN_IF_ERROR(CheckSystem());
    RETORT_RETURN_IF_ERROR(ReadStorages());
    RETORT_RETURN_IF_ERROR(ReadTensors());
    RETORT_ASSIGN_OR_RETURN(const TarMember member, Member("pickle"));
    RETORT_ASSIGN_OR_RETURN(const std::string bytes, Bytes(member.offset, member.size));
    const PersistentId known = [this](Pickle& pickle, std::uint32_t id) { return Known(pickle, id); };
    RETORT_ASSIGN_OR_RETURN(const Pickle pickle, ReadPickle(bytes, name_, member.offset, known));
    return BuildStoredState(pickle, storages_, "torch-tar", name_);
  }

 private:
  struct View {
    std::string storage;
    PickleTensor tensor;
  };

  Status DamagedPickle(std::uint64_t at, const std::string& what) const {
    return DamageError(name_ + ": offset " + std::to_string(at) + ": " + what);
  }
  Result<TarMember> Member(const std::string& member) const {
    const auto found = members_.find(member);
    if (found != members_.end()) return found->second;
    return Refused(name_ + ": offset 0: a tar archive, but not one of torch.save: it has no member '" + member + "'");
  }
  Result<std::string> Bytes(std::uint64_t offset, std::uint64_t size) const {
    if (size > kMaxPickleBytes)
      return Refused(name_ + ": offset " + std::to_string(offset) + ": " + std::to_string(size) +
                     " bytes are beyond the 64 MiB of a pickle");
    std::string bytes(size, '\0');
    RETORT_RETURN_IF_ERROR(file_.ReadAt(offset, bytes.size(), bytes.data()));
    return bytes;
  }
  Result<Pickle> Plain(std::string_view bytes, std::uint64_t at) const {
    return ReadPickle(bytes, name_, at,
                      [this](Pickle& pickle, std::uint32_t id) { return RefusePersistentId(pickle, id, name_); });
  }

  Status CheckSystem() const {
    RETORT_ASSIGN_OR_RETURN(const TarMember member, Member("sys_info"));
    RETORT_ASSIGN_OR_RETURN(const std::string bytes, Bytes(member.offset, member.size));
    RETORT_ASSIGN_OR_RETURN(const Pickle pickle, Plain(bytes, member.offset));
    const PickleValue& dict = pickle.at(pickle.root);
    for (std::size_t i = 0; dict.kind == PickleKind::dict && i + 1 < dict.items.size(); i += 2) {
      const PickleValue& value = pickle.at(dict.items[i + 1]);
      if (pickle.at(dict.items[i]).text != "little_endian" || value.kind != PickleKind::boolean) continue;
      if (value.integer == 1) return {};
      return Refused(name_ + ": offset " + std::to_string(value.at) +
                     ": big endian; save it on a little-endian machine");
    }
    return DamagedPickle(member.offset, "sys_info does not tell the byte order");
  }

  // One value at `at`, which moves behind it. `most`: bytes there are.
  Result<Pickle> Next(std::uint64_t& at, std::uint64_t most, std::string& bytes) const {
    for (std::uint64_t size = std::min<std::uint64_t>(kRecord, most);; size = std::min(size * 64, most)) {
      RETORT_ASSIGN_OR_RETURN(bytes, Bytes(at, size));
      Result<Pickle> pickle = Plain(bytes, at);
      if (pickle.ok()) at += pickle->consumed;
      if (pickle.ok() || pickle.status().code() != StatusCode::damage || size == most || size >= kMaxPickleBytes / 64)
        return pickle;
    }
  }
  Result<std::int64_t> CountAt(std::uint64_t& at, std::uint64_t end, std::string& bytes) const {
    const std::uint64_t begin = at;
    RETORT_ASSIGN_OR_RETURN(const Pickle count, Next(at, end - at, bytes));
    const PickleValue& value = count.at(count.root);
    if (value.kind != PickleKind::integer || value.integer < 0 || value.integer > kMaxRecords)
      return DamagedPickle(begin, "no sound count of storages or tensors");
    return value.integer;
  }
  // A tuple of `size`, of which the first `integers` are integers.
  static bool IsRecord(const Pickle& pickle, const PickleValue& tuple, std::size_t size, std::size_t integers) {
    if (tuple.kind != PickleKind::tuple || tuple.items.size() != size) return false;
    for (std::size_t i = 0; i < integers; ++i)
      if (pickle.at(tuple.items[i]).kind != PickleKind::integer) return false;
    return true;
  }

  Status ReadStorages() {
    RETORT_ASSIGN_OR_RETURN(const TarMember member, Member("storages"));
    std::uint64_t at = member.offset;
    const std::uint64_t end = member.offset + member.size;
    std::string bytes;
    RETORT_ASSIGN_OR_RETURN(const std::int64_t count, CountAt(at, end, bytes));
    for (std::int64_t i = 0; i < count; ++i) RETORT_RETURN_IF_ERROR(ReadStorage(at, end, bytes));
    const std::uint64_t begin = at;
    RETORT_ASSIGN_OR_RETURN(const Pickle views, Next(at, end - at, bytes));
    const PickleValue& list = views.at(views.root);
    if (list.kind != PickleKind::list) return DamagedPickle(begin, "the storages' views are no list");
    for (const std::uint32_t item : list.items) RETORT_RETURN_IF_ERROR(AddView(views, views.at(item)));
    return {};
  }
  // (key, location, type), then the number of elements (i64) and the elements.
  Status ReadStorage(std::uint64_t& at, std::uint64_t end, std::string& bytes) {
    const std::uint64_t begin = at;
    RETORT_ASSIGN_OR_RETURN(const Pickle record, Next(at, end - at, bytes));
    const PickleValue& tuple = record.at(record.root);
    if (!IsRecord(record, tuple, 3, 1) || record.at(tuple.items[2]).kind != PickleKind::global)
      return DamagedPickle(begin, "a storage is not described by (key, location, type)");
    const std::string_view type = record.at(tuple.items[2]).text;
    const std::optional<ElementType> element = ParseTorchStorageType(type.substr(type.find(' ') + 1));
    if (!element)
      return Refused(name_ + ": offset " + std::to_string(begin) + ": storages of type " + std::string(type) +
                     " are not read");
    if (end - at < 8) return DamagedPickle(end, "a storage is cut short");
    RETORT_ASSIGN_OR_RETURN(const std::string size, Bytes(at, 8));
    const std::uint64_t elements = ByteReader(size).U64();
    if (elements > (end - at - 8) / ComputeByteSize(*element)) return DamagedPickle(at, "a storage is cut short");
    const std::string key = std::to_string(record.at(tuple.items[0]).integer);
    if (!storages_.emplace(key, StoredStorage{*element, at + 8, elements, std::nullopt}).second)
      return DamagedPickle(begin, "the storage " + key + " is there twice");
    at += 8 + elements * ComputeByteSize(*element);
    return {};
  }
  // (key, key of the whole, first element, elements)
  Status AddView(const Pickle& views, const PickleValue& tuple) {
    if (!IsRecord(views, tuple, 4, 4)) return DamagedPickle(tuple.at, "a view is not (key, storage, offset, count)");
    const auto part = [&](std::size_t i) { return views.at(tuple.items[i]).integer; };
    const auto root = storages_.find(std::to_string(part(1)));
    if (root == storages_.end() || part(2) < 0 || part(3) < 0) return DamagedPickle(tuple.at, "a view of no storage");
    StoredStorage view = root->second;
    const auto first = static_cast<std::uint64_t>(part(2)), count = static_cast<std::uint64_t>(part(3));
    if (first > view.count || count > view.count - first)
      return DamagedPickle(tuple.at, "a view reaches beyond its storage");
    view.offset += first * ComputeByteSize(view.type);
    view.count = count;
    storages_.insert_or_assign(std::to_string(part(0)), view);
    return {};
  }

  Status ReadTensors() {
    RETORT_ASSIGN_OR_RETURN(const TarMember member, Member("tensors"));
    std::uint64_t at = member.offset;
    const std::uint64_t end = member.offset + member.size;
    std::string bytes;
    RETORT_ASSIGN_OR_RETURN(const std::int64_t count, CountAt(at, end, bytes));
    for (std::int64_t i = 0; i < count; ++i) RETORT_RETURN_IF_ERROR(ReadTensor(at, end, bytes));
    return {};
  }
  // (key, key of the storage, type), then extents (i32), four bytes, sizes, strides and the first element
  // (i64).
  Status ReadTensor(std::uint64_t& at, std::uint64_t end, std::string& bytes) {
    const std::uint64_t begin = at;
    RETORT_ASSIGN_OR_RETURN(const Pickle record, Next(at, end - at, bytes));
    const PickleValue& tuple = record.at(record.root);
    if (!IsRecord(record, tuple, 3, 2))
      return DamagedPickle(begin, "a tensor is not described by (key, storage, type)");
    const std::uint64_t most = std::min<std::uint64_t>(end - at, 8 + 16 * kMaxTensorExtents + 8);
    RETORT_ASSIGN_OR_RETURN(const std::string numbers, Bytes(at, most));
    ByteReader reader(numbers);
    const auto extents = static_cast<std::int32_t>(reader.U32());
    static_cast<void>(reader.U32());
    if (extents < 0 || static_cast<std::size_t>(extents) > kMaxTensorExtents)
      return DamagedPickle(at, "a tensor of an impossible number of extents");
    View view{std::to_string(record.at(tuple.items[1]).integer), {}};
    for (std::vector<std::int64_t>* row : {&view.tensor.shape, &view.tensor.strides})
      for (std::int32_t i = 0; i < extents; ++i) row->push_back(reader.I64());
    view.tensor.first = reader.I64();
    view.tensor.at = begin;
    if (!reader.ok()) return DamagedPickle(end, "a tensor is cut short");
    at += 8 + 16 * static_cast<std::uint64_t>(extents) + 8;
    views_.insert_or_assign(std::to_string(record.at(tuple.items[0]).integer), std::move(view));
    return {};
  }

  // A tensor, or a storage, by its key.
  Result<PickleValue> Known(Pickle& pickle, std::uint32_t id) const {
    const PickleValue& said = pickle.at(id);
    const std::string key =
        said.kind == PickleKind::integer ? std::to_string(said.integer) : std::string(said.text.substr(0, 64));
    const auto view = views_.find(key);
    const std::string& of = view == views_.end() ? key : view->second.storage;
    const auto storage = storages_.find(of);
    if (storage == storages_.end())
      return DamagedPickle(said.at, "the pickle names an object '" + key + "' that is not in the file");
    PickleValue value;
    value.kind = view == views_.end() ? PickleKind::storage : PickleKind::tensor;
    value.integer = static_cast<std::int64_t>(pickle.storages.size());
    pickle.storages.push_back({of, storage->second.type, 0, static_cast<std::int64_t>(storage->second.count), said.at});
    if (view == views_.end()) return value;
    value.integer = static_cast<std::int64_t>(pickle.tensors.size());
    pickle.tensors.push_back(view->second.tensor);
    pickle.tensors.back().storage = pickle.storages.size() - 1;
    return value;
  }

  const InputFile& file_;
  const std::string& name_;
  std::map<std::string, TarMember> members_;
  StorageByKey storages_;
  std::map<std::string, View> views_;
};

}  // namespace

Result<StoredState> ReadTorchTar(const InputFile& file, const std::string& name) { return TarState(file, name).Read(); }

namespace {

constexpr std::array<std::string_view, 4> kNested = {"state_dict", "model_state_dict", "model", "net"};
// Where averages and wrappers keep one; looked at where none of those is there.
constexpr std::array<std::string_view, 14> kOtherKeys = {
    "ema_state_dict", "state_dict_ema", "model_ema", "ema_model", "ema",     "shadow",      "ema_shadow",
    "params_ema",     "params",         "weights",   "module",    "network", "model_state", "net_state_dict"};
constexpr std::size_t kMaxDepth = 4, kMaxLeftOut = 100;

std::string Where(const std::string& file, const PickleValue& value) {
  return file + ": offset " + std::to_string(value.at) + ": ";
}

bool HasTensors(const Pickle& pickle, const PickleValue& dict) {
  for (std::size_t i = 1; i < dict.items.size(); i += 2)
    if (pickle.at(dict.items[i]).kind == PickleKind::tensor) return true;
  return false;
}

// The dict under the key, or null.
const PickleValue* DictAt(const Pickle& pickle, const PickleValue& dict, std::string_view key) {
  const PickleValue* found = nullptr;
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleValue& name = pickle.at(dict.items[i]);
    const PickleValue& value = pickle.at(dict.items[i + 1]);
    if (name.kind == PickleKind::text && name.text == key && value.kind == PickleKind::dict) found = &value;
  }
  return found;
}

// The key of a list of tensors, as torch_ema keeps them; or empty.
std::string_view NamelessTensors(const Pickle& pickle, const PickleValue& dict) {
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleValue& list = pickle.at(dict.items[i + 1]);
    const bool row = list.kind == PickleKind::list || list.kind == PickleKind::tuple;
    if (row && !list.items.empty() && pickle.at(list.items.front()).kind == PickleKind::tensor)
      return pickle.at(dict.items[i]).text;
  }
  return "";
}

Status NoStateError(const Pickle& pickle, const PickleValue& value, const std::string& file) {
  if (value.kind == PickleKind::dict && !value.items.empty()) {
    if (const std::string_view key = NamelessTensors(pickle, value); !key.empty())
      return Refused(Where(file, value) + "there is no state dict: '" + std::string(key.substr(0, 80)) +
                     "' lists tensors without names; copy them into the network and save model.state_dict()");
    std::string keys;
    for (std::size_t i = 0; i < value.items.size() && i < 20; i += 2)
      if (const PickleValue& key = pickle.at(value.items[i]); key.kind == PickleKind::text)
        keys += (keys.empty() ? "" : ", ") + std::string(key.text.substr(0, 80));
    return Refused(Where(file, value) + "there is no state dict: of the entries (" + keys +
                   ") none is a tensor; save the state dict: torch.save(model.state_dict(), path)");
  }
  return Refused(Where(file, value) + "there is no state dict; save one: torch.save(model.state_dict(), path)");
}

// Has it tensors, or a dict with some under one of those keys?
bool HoldsState(const Pickle& pickle, const PickleValue& dict, std::size_t depth) {
  if (HasTensors(pickle, dict)) return true;
  if (depth == kMaxDepth) return false;
  return std::any_of(kNested.begin(), kNested.end(), [&](std::string_view key) {
    const PickleValue* inner = DictAt(pickle, dict, key);
    return inner != nullptr && HoldsState(pickle, *inner, depth + 1);
  });
}

// Beside the tensors, or beside a dict that leads to them; or in a dict there, as "hyper_parameters", or in
// one in that, as "meta" and its "dataset_meta".
void TakeClassNames(const Pickle& pickle, const PickleValue& dict, std::vector<std::string>& names, int deeper = 2) {
  for (std::size_t i = 0; i + 1 < dict.items.size() && names.empty(); i += 2) {
    const PickleValue &key = pickle.at(dict.items[i]), &value = pickle.at(dict.items[i + 1]);
    if (key.kind == PickleKind::text && IsClassNamesKey(key.text)) names = ParseClassNames(pickle, value);
    if (deeper > 0 && value.kind == PickleKind::dict) TakeClassNames(pickle, value, names, deeper - 1);
  }
}

bool IsSingle(const Pickle& pickle, const PickleValue& tensor) {
  const std::vector<std::int64_t>& shape = pickle.tensors[static_cast<std::size_t>(tensor.integer)].shape;
  return std::all_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent == 1; });
}

// A state dict under one of the other keys, or under the only key that has one; none where the dict itself has tensors
// of several elements. Error: refused, where several have one.
Result<const PickleValue*> FindUnderOtherKey(const Pickle& pickle, const PickleValue& dict, const std::string& file,
                                             std::string_view& under) {
  std::vector<std::string_view> known, others;
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleValue &key = pickle.at(dict.items[i]), &value = pickle.at(dict.items[i + 1]);
    if (key.kind != PickleKind::text) continue;
    if (value.kind == PickleKind::tensor && !IsSingle(pickle, value)) return nullptr;
    if (value.kind != PickleKind::dict || !HoldsState(pickle, value, 1)) continue;
    const bool is_known = std::find(kOtherKeys.begin(), kOtherKeys.end(), key.text) != kOtherKeys.end();
    (is_known ? known : others).push_back(key.text);
  }
  const std::vector<std::string_view>& found = known.empty() ? others : known;
  if (found.empty()) return nullptr;
  if (found.size() > 1)
    return Refused(Where(file, dict) + "both '" + std::string(found[0].substr(0, 80)) + "' and '" +
                   std::string(found[1].substr(0, 80)) +
                   "' hold a dict of tensors; save the one that is meant alone: "
                   "torch.save(checkpoint['" +
                   std::string(found[0].substr(0, 80)) + "'], path)");
  under = found.front();
  return DictAt(pickle, dict, under);
}

// The innermost first: beside a state dict a script may keep tensors of its own, as its best accuracy.
Result<const PickleValue*> FindState(const Pickle& pickle, const std::string& file, std::vector<std::string>& path,
                                     std::vector<std::string>& class_names) {
  const PickleValue* at = &pickle.at(pickle.root);
  for (std::size_t depth = 0; at->kind == PickleKind::dict; ++depth) {
    const PickleValue* inner = nullptr;
    TakeClassNames(pickle, *at, class_names);
    for (const std::string_view key : kNested) {
      const PickleValue* dict = depth < kMaxDepth ? DictAt(pickle, *at, key) : nullptr;
      if (dict == nullptr || !HoldsState(pickle, *dict, depth + 1)) continue;
      if (inner != nullptr)
        return Refused(Where(file, *at) + "both '" + path.back() + "' and '" + std::string(key) +
                       "' hold a dict; save only the state dict that is meant");
      inner = dict;
      path.emplace_back(key);
    }
    if (inner == nullptr && depth < kMaxDepth) {
      std::string_view under;
      RETORT_ASSIGN_OR_RETURN(inner, FindUnderOtherKey(pickle, *at, file, under));
      if (inner != nullptr) path.emplace_back(under);
    }
    if (inner == nullptr && HasTensors(pickle, *at)) return at;
    if (inner == nullptr) break;
    at = inner;
  }
  return NoStateError(pickle, *at, file);
}

class StateBuilder {
 public:
  StateBuilder(const Pickle& pickle, const StorageByKey& storages, const std::string& file)
      : pickle_(pickle), storages_(storages), file_(file) {}

  Status Add(std::string name, const PickleTensor& view) {
    const PickleStorage& storage = pickle_.storages[view.storage];
    RETORT_ASSIGN_OR_RETURN(const std::size_t position, Place(storage));
    StoredTensor tensor{std::move(name), position, 0, view.shape, view.strides, view.at};
    if (__builtin_add_overflow(view.first, storage.first, &tensor.first))
      return DamageError(file_ + ": offset " + std::to_string(view.at) + ": a tensor begins beyond every storage");
    state.tensors.push_back(std::move(tensor));
    return {};
  }

  StoredState state;

 private:
  Result<std::size_t> Place(const PickleStorage& wanted) {
    const auto found = storages_.find(wanted.key);
    const std::string where = file_ + ": offset " + std::to_string(wanted.at) + ": the storage '" + wanted.key + "' ";
    if (found == storages_.end()) return DamageError(where + "is not in the file");
    const StoredStorage& stored = found->second;
    if (stored.type != wanted.type) return DamageError(where + "has another element type than its tensors");
    const auto first = static_cast<std::uint64_t>(wanted.first), count = static_cast<std::uint64_t>(wanted.count);
    if (first > stored.count || count > stored.count - first)
      return DamageError(where + "has " + std::to_string(stored.count) + " elements, not " +
                         std::to_string(first + count));
    const auto [place, added] = placed_.emplace(wanted.key, state.storages.size());
    if (added) state.storages.push_back(stored);
    return place->second;
  }

  const Pickle& pickle_;
  const StorageByKey& storages_;
  const std::string& file_;
  std::map<std::string, std::size_t> placed_;
};

}  // namespace

Result<StoredState> BuildStoredState(const Pickle& pickle, const StorageByKey& storages, const std::string& container,
                                     const std::string& file) {
  StateBuilder builder(pickle, storages, file);
  builder.state.container = container;
  RETORT_ASSIGN_OR_RETURN(const PickleValue* dict,
                          FindState(pickle, file, builder.state.path, builder.state.class_names));
  for (std::size_t i = 0; i + 1 < dict->items.size(); i += 2) {
    const PickleValue &key = pickle.at(dict->items[i]), &value = pickle.at(dict->items[i + 1]);
    if (key.kind != PickleKind::text || key.text.empty() || key.text.size() > kMaxTensorNameBytes)
      return Refused(Where(file, key) + "a key of the state dict is no name");
    if (value.kind == PickleKind::tensor) {
      RETORT_RETURN_IF_ERROR(
          builder.Add(std::string(key.text), pickle.tensors[static_cast<std::size_t>(value.integer)]));
    } else if (builder.state.left_out.size() < kMaxLeftOut) {
      builder.state.left_out.emplace_back(key.text);
    }
  }
  return std::move(builder.state);
}

}  // namespace retort::storage
