#include <algorithm>
#include <utility>

#include "storage/input_files.h"
#include "storage/unpacked_size.h"
#include "storage/weights/containers.h"
#include "storage/weights/pickle.h"
#include "storage/weights/torch_state.h"
#include "storage/zip_file.h"

namespace retort::storage {
namespace {

constexpr std::string_view kPickle = "/data.pkl";
constexpr std::uint64_t kMostNote = 64;  // bytes of "byteorder" and "version"

Status Said(const ZipFile& zip, const ZipEntry& entry, const std::string& what) {
  return Refused(zip.name() + ": offset " + std::to_string(entry.data) + ": " + what);
}

// The only entry PREFIX/data.pkl.
Result<const ZipEntry*> FindPickle(const ZipFile& zip) {
  const ZipEntry* found = nullptr;
  for (const ZipEntry& entry : zip.entries()) {
    const bool named =
        entry.name.ends_with(kPickle) && entry.name.find('/') == entry.name.size() - kPickle.size();
    if (!named) continue;
    if (found != nullptr) return Said(zip, entry, "the archive holds two pickles; one is meant to be there");
    found = &entry;
  }
  if (found != nullptr) return found;
  return Refused(zip.name() +
                 ": offset 0: a zip archive, but not one of torch.save: it has no PREFIX/data.pkl");
}

// A module that torch.jit.save wrote is a program.
Status RefuseScript(const ZipFile& zip, const std::string& prefix) {
  for (const ZipEntry& entry : zip.entries())
    if (entry.name.starts_with(prefix + "/code/") || entry.name == prefix + "/constants.pkl")
      return Said(zip, entry,
                  "this is a TorchScript module, which is a program, and no state dict; `retort model check "
                  "--torchscript` "
                  "runs it");
  return {};
}

Status CheckByteOrder(const ZipFile& zip, const std::string& prefix) {
  const ZipEntry* entry = zip.Find(prefix + "/byteorder");
  if (entry == nullptr) return {};
  RETORT_ASSIGN_OR_RETURN(const std::string order, zip.Read(*entry, kMostNote));
  if (order == "little") return {};
  return Said(zip, *entry,
              "its byte order is '" + order.substr(0, 16) + "'; save it on a little-endian machine");
}

// The contents of the entries one after the other, where some are packed.
class UnpackedEntries {
 public:
  explicit UnpackedEntries(const ZipFile& zip) : zip_(zip), most_(MostUnpacked(zip.file().size())) {}

  // The offset of the contents among them.
  Result<std::uint64_t> Add(const ZipEntry& entry) {
    const std::uint64_t at = bytes_.size();
    if (entry.bytes > most_ - at)
      return Said(zip_, entry, "its entries unpack to more than " + std::to_string(most_ >> 20U) + " MiB");
    RETORT_ASSIGN_OR_RETURN(const std::string contents, zip_.Read(entry, most_));
    bytes_ += contents;
    return at;
  }
  [[nodiscard]] std::shared_ptr<const InputFile> Finish() && {
    return FileInMemory(zip_.name() + ", unpacked", std::move(bytes_));
  }

 private:
  const ZipFile& zip_;
  const std::uint64_t most_;
  std::string bytes_;
};

Status AddStorage(const ZipFile& zip, const PickleStorage& wanted, const std::string& prefix,
                  UnpackedEntries* unpacked, StorageByKey& storages) {
  if (storages.contains(wanted.key)) return {};
  const ZipEntry* entry = zip.Find(prefix + "/data/" + wanted.key);
  const std::string where =
      zip.name() + ": offset " + std::to_string(wanted.at) + ": the storage '" + wanted.key + "' ";
  if (entry == nullptr) return DamageError(where + "has no entry " + prefix + "/data/" + wanted.key);
  const std::uint64_t size = ByteSize(wanted.type);
  if (entry->bytes % size != 0 || entry->bytes / size != static_cast<std::uint64_t>(wanted.count))
    return DamageError(where + "has " + std::to_string(entry->bytes) + " bytes for " +
                       std::to_string(wanted.count) + " elements of " + std::to_string(size));
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
  RETORT_ASSIGN_OR_RETURN(const std::string bytes, zip.Read(*entry, kMostPickleBytes));
  const PersistentId persistent = [&name](Pickle& pickle, std::uint32_t id) {
    return StorageOfId(pickle, id, name);
  };
  RETORT_ASSIGN_OR_RETURN(const Pickle pickle, ReadPickle(bytes, name, entry->data, persistent));
  const bool packed = std::any_of(zip.entries().begin(), zip.entries().end(),
                                  [](const ZipEntry& one) { return one.deflated; });
  UnpackedEntries unpacked(zip);
  StorageByKey storages;
  for (const PickleStorage& storage : pickle.storages)
    RETORT_RETURN_IF_ERROR(AddStorage(zip, storage, prefix, packed ? &unpacked : nullptr, storages));
  RETORT_ASSIGN_OR_RETURN(StoredState state, StateOfPickle(pickle, storages, "torch-zip", name));
  if (packed) state.unpacked = std::move(unpacked).Finish();
  return state;
}

}  // namespace retort::storage
