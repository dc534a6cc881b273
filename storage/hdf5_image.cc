#include "storage/hdf5_image.h"

namespace retort::storage {

Result<std::string_view> Hdf5Image::Take(std::uint64_t at, std::uint64_t size, std::string_view what) {
  RETORT_ASSIGN_OR_RETURN(const std::string_view taken, Look(at, size, what));
  RETORT_RETURN_IF_ERROR(Count(at, size));
  return taken;
}

Result<std::string_view> Hdf5Image::Look(std::uint64_t at, std::uint64_t size, std::string_view what) const {
  if (at <= bytes_.size() && size <= bytes_.size() - at) return bytes_.substr(at, size);
  return Damaged(at, std::string(what) + " is said to have " + std::to_string(size) +
                         " bytes there, and the file has " + std::to_string(bytes_.size()) + " in all");
}

Result<std::string_view> Hdf5Image::From(std::uint64_t at, std::string_view what) const {
  if (at < bytes_.size()) return bytes_.substr(at);
  return Damaged(at, std::string(what) + " is said to lie there, and the file has " +
                         std::to_string(bytes_.size()) + " bytes in all");
}

Status Hdf5Image::Count(std::uint64_t at, std::uint64_t size) {
  if (size > bytes_.size() - counted_)
    return Damaged(at, "what the file says it holds up to there is more than its " +
                           std::to_string(bytes_.size()) +
                           " bytes: parts of it refer to themselves, or share their bytes");
  counted_ += size;
  return {};
}

Status Hdf5Image::Damaged(std::uint64_t at, const std::string& what) const {
  return DamageError("'" + name_ + "': at byte " + std::to_string(at) + ": " + what + ".");
}

Status Hdf5Image::Unsound(std::uint64_t at, std::string_view what) const {
  return Damaged(at, std::string(what) + " is not sound there; the file was changed or cut short");
}

Status Hdf5Image::Foreign(std::uint64_t at, const std::string& what) const {
  return Damaged(at, what + ", which retort never writes and does not read");
}

}  // namespace retort::storage
