#include <algorithm>
#include <utility>

#include "storage/byte_codec.h"
#include "storage/weights/containers.h"
#include "storage/weights/pickle.h"
#include "storage/weights/tar_members.h"
#include "storage/weights/torch_state.h"

namespace retort::storage {
namespace {

constexpr std::int64_t kMostRecords = 1 << 18;
constexpr std::size_t kRecord = 4096;  // bytes that hold the pickle before a storage
constexpr std::int32_t kMostExtents = 64;

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
    return StateOfPickle(pickle, storages_, "torch-tar", name_);
  }

 private:
  struct View {
    std::string storage;
    PickleTensor tensor;
  };

  Status Damaged(std::uint64_t at, const std::string& what) const {
    return DamageError(name_ + ": offset " + std::to_string(at) + ": " + what);
  }
  Result<TarMember> Member(const std::string& member) const {
    const auto found = members_.find(member);
    if (found != members_.end()) return found->second;
    return Refused(name_ + ": offset 0: a tar archive, but not one of torch.save: it has no member '" +
                   member + "'");
  }
  Result<std::string> Bytes(std::uint64_t offset, std::uint64_t size) const {
    if (size > kMostPickleBytes)
      return Refused(name_ + ": offset " + std::to_string(offset) + ": " + std::to_string(size) +
                     " bytes are beyond the 64 MiB of a pickle");
    std::string bytes(size, '\0');
    RETORT_RETURN_IF_ERROR(file_.ReadAt(offset, bytes.size(), bytes.data()));
    return bytes;
  }
  Result<Pickle> Plain(std::string_view bytes, std::uint64_t at) const {
    return ReadPickle(bytes, name_, at,
                      [this](Pickle& pickle, std::uint32_t id) { return NoPersistentId(pickle, id, name_); });
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
    return Damaged(member.offset, "sys_info does not tell the byte order");
  }

  // One value at `at`, which moves behind it. `most`: bytes there are.
  Result<Pickle> Next(std::uint64_t& at, std::uint64_t most, std::string& bytes) const {
    for (std::uint64_t size = std::min<std::uint64_t>(kRecord, most);; size = std::min(size * 64, most)) {
      RETORT_ASSIGN_OR_RETURN(bytes, Bytes(at, size));
      Result<Pickle> pickle = Plain(bytes, at);
      if (pickle.ok()) at += pickle->consumed;
      if (pickle.ok() || pickle.status().code() != StatusCode::damage || size == most ||
          size >= kMostPickleBytes / 64)
        return pickle;
    }
  }
  Result<std::int64_t> CountAt(std::uint64_t& at, std::uint64_t end, std::string& bytes) const {
    const std::uint64_t begin = at;
    RETORT_ASSIGN_OR_RETURN(const Pickle count, Next(at, end - at, bytes));
    const PickleValue& value = count.at(count.root);
    if (value.kind != PickleKind::integer || value.integer < 0 || value.integer > kMostRecords)
      return Damaged(begin, "no sound count of storages or tensors");
    return value.integer;
  }
  // A tuple of `size`, of which the first `integers` are integers.
  static bool IsRecord(const Pickle& pickle, const PickleValue& tuple, std::size_t size,
                       std::size_t integers) {
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
    if (list.kind != PickleKind::list) return Damaged(begin, "the storages' views are no list");
    for (const std::uint32_t item : list.items) RETORT_RETURN_IF_ERROR(AddView(views, views.at(item)));
    return {};
  }
  // (key, location, type), then the number of elements (i64) and the elements.
  Status ReadStorage(std::uint64_t& at, std::uint64_t end, std::string& bytes) {
    const std::uint64_t begin = at;
    RETORT_ASSIGN_OR_RETURN(const Pickle record, Next(at, end - at, bytes));
    const PickleValue& tuple = record.at(record.root);
    if (!IsRecord(record, tuple, 3, 1) || record.at(tuple.items[2]).kind != PickleKind::global)
      return Damaged(begin, "a storage is not described by (key, location, type)");
    const std::string_view type = record.at(tuple.items[2]).text;
    const std::optional<ElementType> element = OfTorchStorage(type.substr(type.find(' ') + 1));
    if (!element)
      return Refused(name_ + ": offset " + std::to_string(begin) + ": storages of type " + std::string(type) +
                     " are not read");
    if (end - at < 8) return Damaged(end, "a storage is cut short");
    RETORT_ASSIGN_OR_RETURN(const std::string size, Bytes(at, 8));
    const std::uint64_t elements = ByteReader(size).U64();
    if (elements > (end - at - 8) / ByteSize(*element)) return Damaged(at, "a storage is cut short");
    const std::string key = std::to_string(record.at(tuple.items[0]).integer);
    if (!storages_.emplace(key, StoredStorage{*element, at + 8, elements, std::nullopt}).second)
      return Damaged(begin, "the storage " + key + " is there twice");
    at += 8 + elements * ByteSize(*element);
    return {};
  }
  // (key, key of the whole, first element, elements)
  Status AddView(const Pickle& views, const PickleValue& tuple) {
    if (!IsRecord(views, tuple, 4, 4))
      return Damaged(tuple.at, "a view is not (key, storage, offset, count)");
    const auto part = [&](std::size_t i) { return views.at(tuple.items[i]).integer; };
    const auto root = storages_.find(std::to_string(part(1)));
    if (root == storages_.end() || part(2) < 0 || part(3) < 0)
      return Damaged(tuple.at, "a view of no storage");
    StoredStorage view = root->second;
    const auto first = static_cast<std::uint64_t>(part(2)), count = static_cast<std::uint64_t>(part(3));
    if (first > view.count || count > view.count - first)
      return Damaged(tuple.at, "a view reaches beyond its storage");
    view.offset += first * ByteSize(view.type);
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
      return Damaged(begin, "a tensor is not described by (key, storage, type)");
    const std::uint64_t most = std::min<std::uint64_t>(end - at, 8 + 16 * kMostExtents + 8);
    RETORT_ASSIGN_OR_RETURN(const std::string numbers, Bytes(at, most));
    ByteReader reader(numbers);
    const auto extents = static_cast<std::int32_t>(reader.U32());
    static_cast<void>(reader.U32());
    if (extents < 0 || extents > kMostExtents)
      return Damaged(at, "a tensor of an impossible number of extents");
    View view{std::to_string(record.at(tuple.items[1]).integer), {}};
    for (std::vector<std::int64_t>* row : {&view.tensor.shape, &view.tensor.strides})
      for (std::int32_t i = 0; i < extents; ++i) row->push_back(reader.I64());
    view.tensor.first = reader.I64();
    view.tensor.at = begin;
    if (!reader.ok()) return Damaged(end, "a tensor is cut short");
    at += 8 + 16 * static_cast<std::uint64_t>(extents) + 8;
    views_.insert_or_assign(std::to_string(record.at(tuple.items[0]).integer), std::move(view));
    return {};
  }

  // A tensor, or a storage, by its key.
  Result<PickleValue> Known(Pickle& pickle, std::uint32_t id) const {
    const PickleValue& said = pickle.at(id);
    const std::string key = said.kind == PickleKind::integer ? std::to_string(said.integer)
                                                             : std::string(said.text.substr(0, 64));
    const auto view = views_.find(key);
    const std::string& of = view == views_.end() ? key : view->second.storage;
    const auto storage = storages_.find(of);
    if (storage == storages_.end())
      return Damaged(said.at, "the pickle names an object '" + key + "' that is not in the file");
    PickleValue value;
    value.kind = view == views_.end() ? PickleKind::storage : PickleKind::tensor;
    value.integer = static_cast<std::int64_t>(pickle.storages.size());
    pickle.storages.push_back(
        {of, storage->second.type, 0, static_cast<std::int64_t>(storage->second.count), said.at});
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

Result<StoredState> ReadTorchTar(const InputFile& file, const std::string& name) {
  return TarState(file, name).Read();
}

}  // namespace retort::storage
