#include "storage/pictures/decode_in_order.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace retort::storage {
namespace {

constexpr std::size_t kAheadOfEach = 4;

Result<PreparedPicture> PrepareOne(const PictureSource& source, std::int64_t row,
                                   const PreparationOrder& order) {
  const std::string name = source.where(row);
  try {
    RETORT_ASSIGN_OR_RETURN(const std::string bytes, source.read(row));
    RETORT_ASSIGN_OR_RETURN(PreparedPicture picture,
                            PreparePicture(name, bytes, order.preprocessing, order.limits, order.channels));
    if (picture.size == order.size) return picture;
    return DamageError("'" + name + "' has " + std::to_string(picture.size.width) + " x " +
                       std::to_string(picture.size.height) + " pixels where the data set's pictures have " +
                       std::to_string(order.size.width) + " x " + std::to_string(order.size.height) +
                       ": give a size, or resize and crop.");
  } catch (const std::exception& failure) {
    return EnvironmentError("'" + name + "' could not be prepared: " + failure.what());
  }
}

// A ring of places: a thread takes the next row while its place is free.
class Ring {
 public:
  Ring(const PictureSource& source, const std::vector<std::int64_t>& rows, const PreparationOrder& order)
      : source_(source), rows_(rows), order_(order) {
    const auto threads = static_cast<std::size_t>(std::max(1, order.threads));
    places_.resize(threads * kAheadOfEach);
    for (std::size_t i = 0; i < std::min(threads, rows.size()); ++i) Begin();
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    {
      const std::lock_guard lock(mutex_);
      next_ = rows_.size();
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // For k = 0, 1, ... in turn.
  Result<PreparedPicture> Take(std::size_t k) {
    if (threads_.empty()) return PrepareOne(source_, rows_[k], order_);
    std::unique_lock lock(mutex_);
    std::optional<Result<PreparedPicture>>& place = places_[k % places_.size()];
    changed_.wait(lock, [&] { return place.has_value(); });
    Result<PreparedPicture> picture = *std::move(place);
    place.reset();
    taken_ = k + 1;
    lock.unlock();
    changed_.notify_all();
    return picture;
  }

 private:
  // Where no thread can be had, Take does the work itself.
  void Begin() {
    try {
      threads_.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      return;
    }
  }
  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return next_ >= rows_.size() || next_ < taken_ + places_.size(); });
      if (next_ >= rows_.size()) return;
      const std::size_t k = next_++;
      lock.unlock();
      Result<PreparedPicture> picture = PrepareOne(source_, rows_[k], order_);
      lock.lock();
      places_[k % places_.size()] = std::move(picture);
      changed_.notify_all();
    }
  }

  const PictureSource& source_;
  const std::vector<std::int64_t>& rows_;
  const PreparationOrder& order_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<Result<PreparedPicture>>> places_;  // row k lies at k modulo their number
  std::size_t next_ = 0, taken_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace

Status PrepareInOrder(const PictureSource& source, const std::vector<std::int64_t>& rows,
                      const PreparationOrder& order,
                      const std::function<Status(std::size_t, Result<PreparedPicture>)>& take) {
  Ring ring(source, rows, order);
  for (std::size_t k = 0; k < rows.size(); ++k) RETORT_RETURN_IF_ERROR(take(k, ring.Take(k)));
  return {};
}

}  // namespace retort::storage
