// An HDF5 file taken apart: which objects there are, and where their attributes and elements lie. Only what
// Retort itself writes is read (storage/FORMAT.md, section 4), without the HDF5 library, which trusts the
// bytes that it is given. Everything is checked against the file's size before any element is looked at.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "storage/results/hdf5_messages.h"

namespace retort::storage {

struct Hdf5Dataset {
  Hdf5Type type;
  std::vector<std::int64_t> shape;       // empty for a scalar
  std::vector<std::string_view> pieces;  // in order they are all elements, row-major
};

struct Hdf5Object {
  std::vector<std::string_view> attributes;  // messages, in no particular order
  std::optional<Hdf5Dataset> dataset;        // nothing: a group
};

struct Hdf5Tree {
  std::map<std::string, Hdf5Object> objects;  // by absolute path; "/" is the root
  // Of each link to another file, by its absolute path: that file, which is not looked for.
  std::map<std::string, std::string> outside;
};

enum class Hdf5Outside {
  refused,
  attempts,  // "/attempts/<16 hex>" may link to the whole of a "trials/<folder>/attempt-<n>/attempt.h5"
};

// Views into `bytes`. Error: damage, naming `name`, a place and what is there: groups deeper than 32, paths
// longer than 2048 bytes, two names for an object, links that are no hard links, and whatever else Retort
// never writes.
[[nodiscard]] Result<Hdf5Tree> ReadHdf5Tree(std::string_view bytes, const std::string& name, Hdf5Outside outside);

}  // namespace retort::storage
