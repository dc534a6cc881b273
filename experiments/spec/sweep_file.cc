#include "experiments/spec/sweep_file.h"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace retort {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20, kPiece = std::size_t{64} << 10;

}  // namespace

Result<std::string> ReadSweepFile(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  const bool readable = file && !std::filesystem::is_directory(path, ignored);
  std::string text;
  for (std::string piece(kPiece, '\0'); readable && file && text.size() <= kMostBytes;) {
    file.read(piece.data(), kPiece);
    text.append(piece, 0, static_cast<std::size_t>(file.gcount()));
  }
  if (text.size() > kMostBytes)
    return UsageError("larger than 16 MiB, which no sweep file is; give the path of a TOML file");
  if (!readable || file.bad()) return UsageError("cannot read this sweep file; give the path of a TOML file");
  return text;
}

}  // namespace retort
