#include "storage/formats/deflate.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace retort::storage {
namespace {

int WindowBits(DeflateWrapping wrapping) {
  if (wrapping == DeflateWrapping::raw) return -MAX_WBITS;
  return wrapping == DeflateWrapping::gzip ? 16 + MAX_WBITS : MAX_WBITS;
}

}  // namespace

struct Inflater::Stream {
  z_stream zlib{};
  bool ready = false;
};

Inflater::Inflater(DeflateWrapping wrapping) : stream_(std::make_unique<Stream>()) {
  stream_->ready = inflateInit2(&stream_->zlib, WindowBits(wrapping)) == Z_OK;
}

Inflater::~Inflater() {
  if (stream_->ready) inflateEnd(&stream_->zlib);
}

Status Inflater::ready() const { return stream_->ready ? Status() : EnvironmentError("zlib could not start"); }

void Inflater::Feed(std::string_view packed) {
  RETORT_CHECK(unread() == 0 && packed.size() <= std::numeric_limits<uInt>::max());
  stream_->zlib.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));
  stream_->zlib.avail_in = static_cast<uInt>(packed.size());
}

std::size_t Inflater::unread() const { return stream_->zlib.avail_in; }

Inflater::State Inflater::Next(char* out, std::size_t size, std::size_t& made) {
  stream_->zlib.next_out = reinterpret_cast<Bytef*>(out);
  stream_->zlib.avail_out = static_cast<uInt>(size);
  const int state = inflate(&stream_->zlib, Z_NO_FLUSH);
  made = size - stream_->zlib.avail_out;
  switch (state) {
    case Z_OK:
      return State::more;
    case Z_STREAM_END:
      return State::ended;
    case Z_BUF_ERROR:
      return State::starved;
    default:
      return State::broken;
  }
}

void Inflater::Restart() { inflateReset(&stream_->zlib); }

Result<std::string> Gunzip(const std::string& path, const InputFile& file, std::uint64_t most,
                           const std::string& otherwise) {
  Inflater inflater(DeflateWrapping::gzip);
  RETORT_RETURN_IF_ERROR(inflater.ready());
  std::string out, piece;
  std::vector<char> buffer(std::size_t{1} << 18);
  std::uint64_t given = 0;
  Inflater::State state = Inflater::State::more;
  while (true) {
    if (inflater.unread() == 0 && given < file.size()) {
      const std::uint64_t count = std::min<std::uint64_t>(file.size() - given, std::uint64_t{1} << 20);
      RETORT_ASSIGN_OR_RETURN(piece, ReadBytes(file, given, count));
      given += count;
      inflater.Feed(piece);
    }
    if (state == Inflater::State::ended) {
      if (inflater.unread() == 0) return out;
      inflater.Restart();
    }
    std::size_t made = 0;
    state = inflater.Next(buffer.data(), buffer.size(), made);
    out.append(buffer.data(), made);
    const std::string where = path + ": at byte " + std::to_string(given - inflater.unread());
    if (out.size() > most)
      return Refused(path + " unpacks to more than " + std::to_string(most >> 20) + " MiB; " + otherwise);
    if (state == Inflater::State::starved)
      return DamageError(where + ": truncated inside its gzip stream; fetch the file again");
    if (state == Inflater::State::broken) return DamageError(where + ": no sound gzip stream; fetch the file again");
  }
}

}  // namespace retort::storage
