#include "storage/format_version.h"

#include "storage/hdf5_reader.h"

namespace retort::storage {

Status CheckConventions(const Hdf5Reader& reader) {
  RETORT_ASSIGN_OR_RETURN(const std::string found, reader.TextAttribute("/", "Conventions"));
  if (found == kConventions) return {};
  if (found.rfind("Retort-", 0) != 0) {
    return DamageError("'" + reader.name() + "' was not written by Retort (Conventions = '" + found + "').");
  }
  return UsageError("'" + reader.name() + "' has format version " + found + "; this retort reads " +
                    kConventions +
                    ". Use the retort that wrote it, or give this one another folder with --results DIR.");
}

}  // namespace retort::storage
