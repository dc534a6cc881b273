// Ownership of HDF5 identifiers, and the library's error stack as a sentence. HDF5 serialises its calls
// by a lock of its own; objects of this module are for one thread each.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "experiments/spec/status.h"

namespace retort::storage {

using Hdf5Id = std::int64_t;  // hid_t

// Closes its identifier by the function it was given. Negative = nothing owned.
class Hdf5Handle {
 public:
  using Close = int (*)(Hdf5Id);

  Hdf5Handle() = default;
  Hdf5Handle(Hdf5Id id, Close close) : id_(id), close_(close) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept;
  ~Hdf5Handle() { Reset(); }

  [[nodiscard]] Hdf5Id id() const { return id_; }
  [[nodiscard]] bool valid() const { return id_ >= 0; }
  void Reset();

 private:
  Hdf5Id id_ = -1;
  Close close_ = nullptr;
};

// Stops the library from printing errors to stderr in this thread.
void QuietHdf5();
// "Cannot <doing> '<path>': <innermost cause>." Empties the error stack.
[[nodiscard]] Status Hdf5Error(StatusCode code, const std::string& doing, const std::string& path);

}  // namespace retort::storage
