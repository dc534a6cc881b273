#include "storage/within_memory.h"

namespace retort::storage {

Status NoMemoryFor(const std::string& what) {
  return EnvironmentError("There is not enough memory to read " + what +
                          ": check that it is the file you mean, or give the program more memory.");
}

}  // namespace retort::storage
