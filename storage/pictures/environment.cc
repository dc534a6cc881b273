#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "storage/pictures/decoded_pictures.h"

namespace retort::storage {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

constexpr std::uint64_t kMostGibibytes = 1 << 20;

}  // namespace

Result<PictureCache> ProcessPictureCache() {
  PictureCache cache;
  const std::string own = Variable("RETORT_PICTURE_CACHE"), shared = Variable("XDG_CACHE_HOME");
  const std::string home = Variable("HOME");
  if (!own.empty() && !own.starts_with('/'))
    return UsageError("RETORT_PICTURE_CACHE is '" + own + "'; give an absolute folder.");
  if (!own.empty())
    cache.folder = own;
  else if (shared.starts_with('/'))
    cache.folder = shared + "/retort/pictures";
  else if (home.starts_with('/'))
    cache.folder = home + "/.cache/retort/pictures";
  const std::string limit = Variable("RETORT_PICTURE_CACHE_GIB");
  if (limit.empty()) return cache;
  std::uint64_t gibibytes = 0;
  const auto [end, error] = std::from_chars(limit.data(), limit.data() + limit.size(), gibibytes);
  if (error != std::errc() || end != limit.data() + limit.size() || gibibytes > kMostGibibytes)
    return UsageError("RETORT_PICTURE_CACHE_GIB is '" + limit + "'; give a whole number of GiB, 0 to " +
                      std::to_string(kMostGibibytes) + ".");
  cache.limit_bytes = gibibytes << 30;
  return cache;
}

}  // namespace retort::storage
