#include "storage/sealed_hdf5.h"

#include "storage/file_seal.h"
#include "storage/format_version.h"

namespace retort::storage {

Result<Hdf5Reader> OpenSealedHdf5(const std::string& path) {
  RETORT_RETURN_IF_ERROR(CheckSeal(PosixEnv(), path));
  RETORT_ASSIGN_OR_RETURN(Hdf5Reader reader, Hdf5Reader::OpenPath(path));
  RETORT_RETURN_IF_ERROR(CheckConventions(reader));
  return reader;
}

}  // namespace retort::storage
