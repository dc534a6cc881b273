// Inflating deflated bytes piece by piece, in the three wrappings that they come in. The one place that calls zlib's
// inflate.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "experiments/base/status.h"
#include "storage/files/env.h"

namespace retort::storage {

enum class DeflateWrapping { raw, zlib, gzip };

class Inflater {
 public:
  explicit Inflater(DeflateWrapping wrapping);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // ok, or environment when zlib has no memory.
  [[nodiscard]] Status ready() const;

  // The next packed bytes, less than 4 GiB, which must outlive the calls of Next. REQUIRES: unread() is 0.
  void Feed(std::string_view packed);
  [[nodiscard]] std::size_t unread() const;  // of the bytes fed: those that were not looked at

  enum class State {
    more,     // there may be more contents
    starved,  // nothing can be made without further packed bytes
    ended,    // the stream is complete, and its checksum, where it has one, holds
    broken,   // these are no such bytes
  };
  // Inflates at most `size` bytes to `out`, and says in `made` how many.
  [[nodiscard]] State Next(char* out, std::size_t size, std::size_t& made);
  // Begins another stream with the bytes that are unread.
  void Restart();

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

// All of a gzip file, at most `most` bytes; several streams one after the other count as one. Errors: damage, naming
// `path` and the byte; refused when there is more, with `otherwise`, which says what to do.
[[nodiscard]] Result<std::string> Gunzip(const std::string& path, const InputFile& file, std::uint64_t most,
                                         const std::string& otherwise);

}  // namespace retort::storage
