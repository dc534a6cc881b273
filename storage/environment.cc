// What this process is told by its environment.
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "storage/data/example_store.h"
#include "storage/pictures/decoded_pictures.h"

namespace retort::storage {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

constexpr std::uint64_t kMostGibibytes = 1 << 20;

// `name` among this user's caches; empty where there is no place for them.
std::string CacheFolder(const std::string& name) {
  const std::string shared = Variable("XDG_CACHE_HOME"), home = Variable("HOME");
  if (shared.starts_with('/')) return shared + "/retort/" + name;
  return home.starts_with('/') ? home + "/.cache/retort/" + name : "";
}

}  // namespace

DigestCache ProcessDigestCache() { return {CacheFolder("data")}; }

Result<PictureCache> ProcessPictureCache() {
  PictureCache cache;
  const std::string own = Variable("RETORT_PICTURE_CACHE");
  if (!own.empty() && !own.starts_with('/'))
    return UsageError("RETORT_PICTURE_CACHE is '" + own + "'; give an absolute folder.");
  cache.folder = own.empty() ? CacheFolder("pictures") : own;
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
