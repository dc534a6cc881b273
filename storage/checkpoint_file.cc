#include "storage/checkpoint_file.h"

#include <utility>
#include <vector>

#include "storage/format_version.h"
#include "storage/hdf5_reader.h"
#include "storage/hdf5_writer.h"
#include "storage/tensor_fill.h"
#include "storage/tensor_group.h"
#include "storage/within_memory.h"

namespace retort::storage {

namespace {

Result<std::string> WriteAt(const std::string& temporary, const Checkpoint& checkpoint,
                            const std::string& name) {
  Hdf5Writer writer(name, temporary);
  writer.Attribute("/", "Conventions", std::string_view(kConventions));
  writer.Attribute("/", "step", checkpoint.step);
  writer.Group("/attributes");
  for (const auto& [key, value] : checkpoint.attributes) writer.Attribute("/attributes", key, value);
  writer.Group("/tensors");
  WriteTensors(writer, "/tensors", checkpoint.tensors);
  RETORT_ASSIGN_OR_RETURN(std::vector<TensorRoom> rooms, writer.Close());
  return FillTensors(temporary, std::move(rooms));
}

}  // namespace

Result<std::string> WriteCheckpoint(Env& env, const std::string& path, const Checkpoint& checkpoint) {
  std::string sha256;
  RETORT_RETURN_IF_ERROR(env.PublishFile(path, [&](const std::string& temporary) -> Status {
    RETORT_ASSIGN_OR_RETURN(sha256, WriteAt(temporary, checkpoint, path));
    return {};
  }));
  return sha256;
}

namespace {

Result<Checkpoint> Decode(std::string_view bytes, const std::string& name) {
  RETORT_ASSIGN_OR_RETURN(const Hdf5Reader reader, Hdf5Reader::OpenImage(bytes, name));
  RETORT_RETURN_IF_ERROR(CheckConventions(reader));
  Checkpoint checkpoint;
  RETORT_ASSIGN_OR_RETURN(checkpoint.step, reader.IntegerAttribute("/", "step"));
  RETORT_ASSIGN_OR_RETURN(checkpoint.attributes, reader.TextAttributes("/attributes"));
  RETORT_ASSIGN_OR_RETURN(checkpoint.tensors, ReadTensors(reader, "/tensors", {""}));
  return checkpoint;
}

}  // namespace

Result<Checkpoint> DecodeCheckpoint(std::string_view bytes, const std::string& name) {
  return WithinMemory("'" + name + "'", [&] { return Decode(bytes, name); });
}

}  // namespace retort::storage
