#include "storage/formats/tensor_blob.h"

#include <cstdint>
#include <cstring>

#include "experiments/base/digests.h"
#include "experiments/methods/spec_codec.h"

namespace retort::storage {
namespace {

void AppendWord(std::uint64_t word, std::string& out) {
  char bytes[sizeof word];
  std::memcpy(bytes, &word, sizeof word);
  out.append(bytes, sizeof bytes);
}

}  // namespace

std::string ComputeTensorDigest(const std::vector<TensorBlob>& tensors) {
  std::string bytes;
  for (const TensorBlob& tensor : tensors) {
    AppendWord(tensor.name.size(), bytes);
    bytes += tensor.name;
    AppendWord(static_cast<std::uint64_t>(tensor.dtype), bytes);
    AppendWord(tensor.shape.size(), bytes);
    for (const std::int64_t extent : tensor.shape) AppendWord(static_cast<std::uint64_t>(extent), bytes);
    bytes.append(tensor.bytes.begin(), tensor.bytes.end());
  }
  return ComputeSha256Hex(bytes);
}

}  // namespace retort::storage
