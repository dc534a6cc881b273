#include "storage/sealed_hdf5.h"

#include <utility>

#include "storage/file_seal.h"
#include "storage/format_version.h"
#include "storage/input_files.h"

namespace retort::storage {

Result<Hdf5Reader> OpenSealedHdf5(const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(std::string bytes, ReadPlainFile(PosixEnv(), path));
  RETORT_ASSIGN_OR_RETURN(const std::string_view sealed, Unseal(bytes, path));
  const std::size_t size = sealed.size();
  RETORT_ASSIGN_OR_RETURN(Hdf5Reader reader, Hdf5Reader::OpenBytes(std::move(bytes), size, path));
  RETORT_RETURN_IF_ERROR(CheckConventions(reader));
  return reader;
}

}  // namespace retort::storage
