#include "storage/hdf5_handle.h"

#include <hdf5.h>

#include <type_traits>

namespace retort::storage {

static_assert(std::is_same_v<hid_t, Hdf5Id>);

namespace {

// Upward walk: the first entry is where the error arose.
herr_t KeepInnermost(unsigned depth, const H5E_error2_t* error, void* data) {
  if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(data) = error->desc;
  return 0;
}

}  // namespace

Hdf5Handle& Hdf5Handle::operator=(Hdf5Handle&& other) noexcept {
  if (this != &other) {
    Reset();
    id_ = std::exchange(other.id_, -1);
    close_ = other.close_;
  }
  return *this;
}

void Hdf5Handle::Reset() {
  if (id_ >= 0) close_(std::exchange(id_, -1));
}

void QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

Status Hdf5Error(StatusCode code, const std::string& doing, const std::string& path) {
  std::string cause;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, KeepInnermost, &cause);
  H5Eclear2(H5E_DEFAULT);
  return {code,
          "Cannot " + doing + " '" + path + "': " + (cause.empty() ? "HDF5 gives no reason" : cause) + "."};
}

}  // namespace retort::storage
