// The bytes of an HDF5 file while its structures are taken apart. Each structure that is taken is counted:
// those of a file that Retort wrote never overlap, so all together they have no more bytes than the file. A
// file that would have more (cycles, hard links, structures that many others share) is refused, and time and
// memory are bounded by its size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "experiments/spec/status.h"

namespace retort::storage {

// An address that stands for nothing.
inline constexpr std::uint64_t kHdf5Nowhere = ~std::uint64_t{0};

class Hdf5Image {
 public:
  // `bytes` must outlive this; `name` stands in messages.
  Hdf5Image(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  // `size` bytes at `at`, counted. Error: damage.
  [[nodiscard]] Result<std::string_view> Take(std::uint64_t at, std::uint64_t size, std::string_view what);
  // The same, of bytes that are counted by the caller (Count) or elsewhere.
  [[nodiscard]] Result<std::string_view> Look(std::uint64_t at, std::uint64_t size,
                                              std::string_view what) const;
  // Everything from `at` on, not counted: for structures whose size stands in themselves.
  [[nodiscard]] Result<std::string_view> From(std::uint64_t at, std::string_view what) const;
  [[nodiscard]] Status Count(std::uint64_t at, std::uint64_t size);

  // "<name>: at byte <at>: <what>".
  [[nodiscard]] Status Damaged(std::uint64_t at, const std::string& what) const;
  // Where the file contradicts itself: `what` is a structure that is cut short or not what its place says.
  [[nodiscard]] Status Unsound(std::uint64_t at, std::string_view what) const;
  // Sound HDF5 perhaps, but nothing that Retort writes.
  [[nodiscard]] Status Foreign(std::uint64_t at, const std::string& what) const;

  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string_view bytes_;
  std::string name_;
  std::uint64_t counted_ = 0;
};

}  // namespace retort::storage
