#include "storage/file_digest.h"

#include <algorithm>
#include <cstdint>

#include "experiments/spec/sha256.h"

namespace retort::storage {

Result<std::string> FileDigest(const InputFile& file) {
  constexpr std::uint64_t kPiece = 1 << 20;
  Sha256 digest;
  std::string piece(std::min<std::uint64_t>(kPiece, file.size()), '\0');
  for (std::uint64_t at = 0; at < file.size(); at += piece.size()) {
    piece.resize(std::min<std::uint64_t>(kPiece, file.size() - at));
    RETORT_RETURN_IF_ERROR(file.ReadAt(at, piece.size(), piece.data()));
    digest.Update(piece);
  }
  return digest.FinishHex();
}

Result<std::string> FileDigest(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> file, env.OpenInput(path));
  return FileDigest(*file);
}

}  // namespace retort::storage
