// Object headers of HDF5 (version 2): the messages that describe a group or a dataset.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/hdf5_image.h"

namespace retort::storage {

// The types of messages that Retort's files have.
enum class Hdf5MessageType : std::uint8_t {
  nil = 0,
  dataspace = 1,
  link_table = 2,  // "link info": where the links of a group of the newer kind lie
  datatype = 3,
  fill_value = 5,
  link = 6,
  layout = 8,
  group_constants = 10,
  attribute = 12,
  continuation = 16,
  symbol_table = 17,
  attribute_table = 21,  // "attribute info": where many or large attributes lie
};

struct Hdf5Message {
  Hdf5MessageType type = Hdf5MessageType::nil;
  std::string_view body;
  std::uint64_t at = 0;  // of its header block, for messages to the user
};

// All messages of the object at `at` but nil and continuation. Error: damage; so is a message of another
// type: external raw data files, filters, shared and committed types and reference counts are among them.
[[nodiscard]] Result<std::vector<Hdf5Message>> ReadObjectHeader(Hdf5Image& image, std::uint64_t at);

}  // namespace retort::storage
