// Many pictures on several threads, their results in one order.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage/pictures/prepared_picture.h"

namespace retort::storage {

// Encoded pictures by number; both functions are called from several threads at once.
struct PictureSource {
  std::function<Result<std::string>(std::int64_t)> read;  // the bytes of its file
  std::function<std::string(std::int64_t)> where;         // for messages
};

struct PreparationOrder {
  Preprocessing preprocessing;
  PictureLimits limits;
  std::int64_t channels = 3;  // 3 or 1
  PictureSize size;           // that every prepared picture has
  int threads = 1;            // at least 1
};

// Calls take(k, picture of rows[k] or why there is none) for k = 0, 1, ... on the calling thread, whichever
// thread is done first. At most 4 pictures a thread are held. Ends with what `take` says first that is not
// ok.
[[nodiscard]] Status PrepareInOrder(
    const PictureSource& source, const std::vector<std::int64_t>& rows, const PreparationOrder& order,
    const std::function<Status(std::size_t k, Result<PreparedPicture>)>& take);

}  // namespace retort::storage
