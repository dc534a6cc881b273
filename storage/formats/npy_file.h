// NumPy's .npy arrays and .npz archives (format versions 1.0, 2.0 and 3.0).
//
// Element types: float32, float64, int32, int64, uint8, uint32, uint64 as they stand, bool as u8; all little
// endian, C order. Others are refused with the NumPy call that makes them readable; pickled objects are never
// read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "storage/files/env.h"
#include "storage/formats/tensor_blob.h"
#include "storage/formats/zip_archive.h"

namespace retort::storage {

inline constexpr std::uint64_t kMaxArrayBytes = std::uint64_t{64} << 30;

struct NpyHeader {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  // empty = scalar
  std::uint64_t begin = 0;          // offset of the first element in the .npy
  std::uint64_t bytes = 0;          // of all elements
};

// The header in the first bytes of a .npy; `head` may go on behind it, or be the whole file. `name` stands in
// messages. Error: damage, naming the offset; refused, for what is sound and not read here (Fortran order,
// other element types, big endian, more than 32 extents, more than kMaxArrayBytes).
[[nodiscard]] Result<NpyHeader> ParseNpyHeader(const std::string& name, std::string_view head);
// Bytes of a .npy from its start that surely hold its header.
inline constexpr std::size_t kMaxNpyHeader = 64 << 10;

// A whole .npy. The blob's name is empty. Error: as above; damage when bytes are missing or left over.
[[nodiscard]] Result<TensorBlob> ParseNpy(const std::string& name, std::string_view bytes);
// Error: as above; refused, before it is read, for an array of more than `max_bytes`; environment.
[[nodiscard]] Result<TensorBlob> ReadNpy(Env& env, const std::string& path, std::uint64_t max_bytes = kMaxArrayBytes);

// A .npz: read array by array, in pieces where it does not fit into memory.
class NpzFile {
 public:
  // Reads the directory alone. Error: damage, naming the file; environment when it cannot be read.
  [[nodiscard]] static Result<NpzFile> Open(Env& env, const std::string& path);
  explicit NpzFile(ZipFile zip);

  // Array names, sorted; without ".npy". An entry of another name is no array and is left out.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] bool Has(const std::string& array) const;
  // Error: usage, listing the names there are, for an array that is not there; else as ParseNpyHeader.
  [[nodiscard]] Result<NpyHeader> Header(const std::string& array) const;
  // The blob carries the array's name. Error: as Header; refused for more than `max_bytes`, or for more than
  // its packed bytes are unpacked to (storage/files/read_limits.h); damage when bytes are missing, left over, or
  // fail their checksum; environment when the memory does not suffice.
  [[nodiscard]] Result<TensorBlob> Read(const std::string& array, std::uint64_t max_bytes = kMaxArrayBytes) const;
  // The elements' bytes in order, in pieces of at most 256 KiB that need not end between two elements. Errors
  // as Read; after one, what was taken is worthless.
  [[nodiscard]] Status Stream(const std::string& array, const TakeBytes& take) const;

 private:
  [[nodiscard]] Result<const ZipEntry*> FindEntry(const std::string& array) const;
  [[nodiscard]] Result<TensorBlob> Fill(const std::string& array, const NpyHeader& header, TensorBlob blob) const;

  ZipFile zip_;
  std::vector<std::string> names_;
};

// A .npy of version 1.0, as numpy.save writes it: loads with numpy.load.
[[nodiscard]] std::string EncodeNpy(const TensorBlob& array);
// Temporary file and rename.
[[nodiscard]] Status WriteNpy(Env& env, const std::string& path, const TensorBlob& array);
// An uncompressed .npz of the arrays under their names. Error: refused, for two of one name.
[[nodiscard]] Result<std::string> EncodeNpz(const std::vector<TensorBlob>& arrays);

}  // namespace retort::storage
