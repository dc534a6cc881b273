#include "storage/hdf5_types.h"

#include <hdf5.h>

#include <algorithm>
#include <cstring>

namespace retort::storage {
namespace {

struct Member {
  Hdf5Handle owned;  // string types
  Hdf5Id type = -1;
  std::size_t size = 0;
};

Member MemberOf(const TableColumn& column) {
  Member member;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&column.values)) {
    member.size = 1;
    for (const std::string& text : *texts) member.size = std::max(member.size, text.size());
    member.owned = StringType(member.size);
    member.type = member.owned.id();
    return member;
  }
  member.size = 8;
  if (std::holds_alternative<std::vector<double>>(column.values))
    member.type = H5T_NATIVE_DOUBLE;
  else if (std::holds_alternative<std::vector<std::int64_t>>(column.values))
    member.type = H5T_NATIVE_INT64;
  else
    member.type = H5T_NATIVE_UINT64;
  return member;
}

void PackColumn(const TableColumn& column, std::size_t offset, std::size_t row_size,
                std::vector<std::uint8_t>& bytes) {
  std::visit(
      [&](const auto& values) {
        for (std::size_t row = 0; row < values.size(); ++row) {
          std::uint8_t* target = bytes.data() + row * row_size + offset;
          if constexpr (std::is_same_v<std::decay_t<decltype(values[row])>, std::string>) {
            std::memcpy(target, values[row].data(), values[row].size());
          } else {
            std::memcpy(target, &values[row], sizeof(values[row]));
          }
        }
      },
      column.values);
}

}  // namespace

Hdf5Id NativeType(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return H5T_NATIVE_FLOAT;
    case DType::f64:
      return H5T_NATIVE_DOUBLE;
    case DType::i32:
      return H5T_NATIVE_INT32;
    case DType::i64:
      return H5T_NATIVE_INT64;
    case DType::u8:
      return H5T_NATIVE_UINT8;
    case DType::u32:
      return H5T_NATIVE_UINT32;
    case DType::u64:
      return H5T_NATIVE_UINT64;
  }
  return -1;
}

Hdf5Handle StringType(std::size_t size) {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.id(), std::max<std::size_t>(size, 1));
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
  return type;
}

PackedTable Pack(const Table& table) {
  RETORT_CHECK(!table.empty());
  PackedTable packed;
  packed.rows = std::visit([](const auto& values) { return values.size(); }, table.front().values);
  std::vector<Member> members;
  std::size_t row_size = 0;
  for (const TableColumn& column : table) {
    RETORT_CHECK(std::visit([](const auto& values) { return values.size(); }, column.values) == packed.rows);
    members.push_back(MemberOf(column));
    row_size += members.back().size;
  }
  packed.type = Hdf5Handle(H5Tcreate(H5T_COMPOUND, row_size), H5Tclose);
  packed.bytes.assign(packed.rows * row_size, 0);
  std::size_t offset = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    H5Tinsert(packed.type.id(), table[i].name.c_str(), offset, members[i].type);
    PackColumn(table[i], offset, row_size, packed.bytes);
    offset += members[i].size;
  }
  return packed;
}

}  // namespace retort::storage
