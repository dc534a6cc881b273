#include "storage/images/image_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/testing/temporary_directory.h"

namespace retort::storage {
namespace {

const std::string kFolder = RETORT_SOURCE_DIR "/tests/fixtures/pictures/";
const std::vector<std::string> kNames = {"yuv420.jpg", "grey.png", "cmyk.jpg", "yuv444.jpg", "palette.png"};

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Status NoProgress(std::int64_t, std::int64_t) { return {}; }

class DecodedCache : public ::testing::Test {
 protected:
  // `count` images; those in `broken` are cut to half.
  ImageSet Set(std::int64_t count, std::vector<std::int64_t> broken = {}) {
    ImageSet set;
    set.digest = std::string(64, 'd');
    set.source.where = [](std::int64_t row) { return "row " + std::to_string(row); };
    set.source.read = [this, broken](std::int64_t row) -> Result<std::string> {
      ++reads_;
      std::string bytes = ReadAll(kFolder + kNames[static_cast<std::size_t>(row) % kNames.size()]);
      if (std::find(broken.begin(), broken.end(), row) != broken.end()) bytes.resize(bytes.size() / 2);
      return bytes;
    };
    for (std::int64_t row = 0; row < count; ++row) set.rows.push_back(row);
    set.order.preprocessing = {.resize = 24, .crop = 16};
    set.order.size = {16, 16};
    set.order.threads = 3;
    return set;
  }
  [[nodiscard]] ImageCache Cache() const { return {.folder = folder_ / "cache", .wait_seconds = 20}; }
  Result<std::shared_ptr<const DecodedImages>> Open(const ImageSet& set, const ImageCache& cache) {
    return OpenDecoded(PosixEnv(), set, cache, NoProgress);
  }
  [[nodiscard]] std::int64_t Leftovers() const {
    std::int64_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(Cache().folder))
      count += entry.path().extension() == ".tmp" ? 1 : 0;
    return count;
  }
  [[nodiscard]] std::string ReadRunFile(const ImageSet& set) const {
    return Cache().folder + "/" + ComputeCacheKey(set) + ".pictures";
  }
  static std::string Planes(const DecodedImages& images, std::int64_t count) {
    return {reinterpret_cast<const char*>(images.At(0)), static_cast<std::size_t>(count * 3 * 16 * 16)};
  }

  testing::TemporaryDirectory folder_;
  std::atomic<int> reads_ = 0;
};

TEST_F(DecodedCache, ThreadsGiveOneOrder) {
  ImageSet set = Set(40, {7, 8});
  std::vector<std::string> first;
  for (const int threads : {1, 2, 7}) {
    set.order.threads = threads;
    std::vector<std::string> seen;
    const Status status = PrepareInOrder(set.source, set.rows, set.order, [&](std::size_t k, auto image) {
      EXPECT_EQ(k, seen.size());
      EXPECT_EQ(image.ok(), k != 7 && k != 8);
      seen.push_back(image.ok() ? std::string(image->planes.begin(), image->planes.end()) : image.status().message());
      return Status();
    });
    EXPECT_TRUE(status.ok());
    if (first.empty()) first = seen;
    EXPECT_EQ(seen, first) << threads;
  }
  EXPECT_NE(first[7].find("row 7"), std::string::npos);
}

TEST_F(DecodedCache, TheFirstErrorOfTheTakerEndsTheWork) {
  const ImageSet set = Set(400);
  const Status status = PrepareInOrder(set.source, set.rows, set.order, [](std::size_t k, auto) {
    return k == 3 ? Cancelled("enough of it") : Status();
  });
  EXPECT_EQ(status.message(), "enough of it");
  EXPECT_LT(reads_, 60);
}

TEST_F(DecodedCache, IsBuiltOnceAndReadAgain) {
  const ImageSet set = Set(23);
  const auto built = Open(set, Cache());
  ASSERT_TRUE(built.ok()) << built.status().message();
  EXPECT_EQ(reads_, 23);
  const auto read = Open(set, Cache());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(reads_, 23);
  const auto held = Open(set, {});
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(Planes(**built, 23), Planes(**held, 23));
  EXPECT_EQ(Planes(**read, 23), Planes(**held, 23));
  const auto alone = PrepareImage("p", ReadAll(kFolder + kNames[2]), set.order.preprocessing);
  ASSERT_TRUE(alone.ok());
  EXPECT_TRUE(std::equal(alone->planes.begin(), alone->planes.end(), (*read)->At(2)));
}

TEST_F(DecodedCache, KeysDifferWhereverPixelsMay) {
  const ImageSet set = Set(5);
  std::vector<std::string> keys = {ComputeCacheKey(set)};
  const auto add = [&](auto change) {
    ImageSet other = set;
    change(other);
    keys.push_back(ComputeCacheKey(other));
  };
  add([](ImageSet& s) { s.digest[0] = 'e'; });
  add([](ImageSet& s) { s.rows.pop_back(); });
  add([](ImageSet& s) { s.rows.back() += 2; });
  add([](ImageSet& s) { s.order.preprocessing.resize = 25; });
  add([](ImageSet& s) { s.order.preprocessing.crop_top = 0.08; });
  add([](ImageSet& s) { s.order.preprocessing.exif_orientation = true; });
  add([](ImageSet& s) { s.order.channels = 1; });
  add([](ImageSet& s) { s.order.limits.side = 10; });
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end());
  ImageSet same = set;
  same.order.threads = 9;
  same.order.preprocessing.on_error = OnError::skip_and_count;
  EXPECT_EQ(ComputeCacheKey(same), ComputeCacheKey(set));
}

TEST_F(DecodedCache, EveryDamageIsSeenAndMadeAnew) {
  const ImageSet set = Set(9);
  const auto want = Open(set, {});
  ASSERT_TRUE(want.ok());
  ASSERT_TRUE(Open(set, Cache()).ok());
  const std::string whole = ReadAll(ReadRunFile(set));
  const std::size_t planes = 9 * 3 * 16 * 16;
  std::vector<std::string> damaged = {"", whole.substr(0, 100), whole.substr(0, whole.size() - 1), whole + "x"};
  for (const std::size_t at : {std::size_t{3}, std::size_t{60}, std::size_t{4000}, std::size_t{4096}, 4096 + planes - 1,
                               4096 + planes, 4096 + planes + 37, whole.size() - 1}) {
    damaged.push_back(whole);
    damaged.back()[at] = static_cast<char>(damaged.back()[at] ^ 4);
  }
  for (const std::string& bytes : damaged) {
    std::ofstream(ReadRunFile(set), std::ios::binary | std::ios::trunc) << bytes;
    reads_ = 0;
    const auto got = Open(set, Cache());
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_EQ(reads_, 9) << "damage of " << bytes.size() << " bytes was not seen";
    EXPECT_EQ(Planes(**got, 9), Planes(**want, 9));
    EXPECT_EQ(ReadAll(ReadRunFile(set)), whole);
  }
}

TEST_F(DecodedCache, DamageInWhatIsSaidOfSkippedPicturesIsSeen) {
  ImageSet set = Set(12, {4, 9});
  set.order.preprocessing.on_error = OnError::skip_and_count;
  ASSERT_TRUE(Open(set, Cache()).ok());
  std::string bytes = ReadAll(ReadRunFile(set));
  const std::size_t first_row = 4096 + 12 * 3 * 16 * 16 + 12 * 4 + 8;  // behind pixels, checksums, count
  ASSERT_EQ(bytes[first_row], 4);
  bytes[first_row] = 5;
  std::ofstream(ReadRunFile(set), std::ios::binary | std::ios::trunc) << bytes;
  reads_ = 0;
  const auto got = Open(set, Cache());
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(reads_, 12);
  EXPECT_EQ((*got)->skipped().front().row, 4);
}

TEST_F(DecodedCache, ABrokenPictureIsNamedOrSkipped) {
  ImageSet set = Set(12, {4, 9});
  const auto failed = Open(set, Cache());
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), StatusCode::damage);
  EXPECT_NE(failed.status().message().find("row 4"), std::string::npos) << failed.status().message();
  EXPECT_FALSE(std::filesystem::exists(ReadRunFile(set)));
  set.order.preprocessing.on_error = OnError::skip_and_count;
  for (int time = 0; time < 2; ++time) {
    const auto skipped = Open(set, Cache());
    ASSERT_TRUE(skipped.ok()) << skipped.status().message();
    ASSERT_EQ((*skipped)->skipped().size(), 2U);
    EXPECT_EQ((*skipped)->skipped()[1].row, 9);
    EXPECT_NE((*skipped)->skipped()[1].why.find("row 9"), std::string::npos);
  }
  // What was left by a trial that skips is no reason not to fail.
  set.order.preprocessing.on_error = OnError::fail;
  EXPECT_EQ(Open(set, Cache()).status().message(), failed.status().message());
}

TEST_F(DecodedCache, AnUnreadableSourceIsNeverSkipped) {
  ImageSet set = Set(5);
  set.order.preprocessing.on_error = OnError::skip_and_count;
  set.source.read = [](std::int64_t row) -> Result<std::string> {
    return EnvironmentError("the disk of row " + std::to_string(row) + " is gone");
  };
  EXPECT_EQ(Open(set, Cache()).status().message(), "the disk of row 0 is gone");
}

TEST_F(DecodedCache, PicturesOfAnotherSizeAreNamed) {
  ImageSet set = Set(3);
  set.order.preprocessing = {};
  set.order.size = {97, 131};
  const auto got = Open(set, Cache());
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.status().message().find("row 1"), std::string::npos) << got.status().message();
}

TEST_F(DecodedCache, TheOldestFilesMakeRoom) {
  std::vector<ImageSet> sets;
  for (const std::int64_t count : {10, 11, 12}) sets.push_back(Set(count));
  const std::uint64_t one = 12 * 3 * 16 * 16 + 8192;
  ImageCache cache = Cache();
  cache.limit_bytes = 2 * one + 2000;
  for (const ImageSet& set : {sets[0], sets[1], sets[0], sets[2]}) {
    ASSERT_TRUE(Open(set, cache).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(std::filesystem::exists(ReadRunFile(sets[0])));
  EXPECT_FALSE(std::filesystem::exists(ReadRunFile(sets[1])));
  EXPECT_TRUE(std::filesystem::exists(ReadRunFile(sets[2])));
  cache.limit_bytes = 5000;
  const auto large = Open(Set(30), cache);
  ASSERT_FALSE(large.ok());
  EXPECT_NE(large.status().message().find("RETORT_PICTURE_CACHE_GIB"), std::string::npos);
}

TEST_F(DecodedCache, ABuilderThatIsKilledLeavesNothingThatIsRead) {
  const ImageSet set = Set(30);
  const pid_t child = ::fork();
  if (child == 0) {
    ImageSet slow = set;
    slow.source.read = [&](std::int64_t row) -> Result<std::string> {
      if (row == 20) ::raise(SIGKILL);
      return set.source.read(row);
    };
    (void)OpenDecoded(PosixEnv(), slow, Cache(), NoProgress).ok();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(std::filesystem::exists(ReadRunFile(set)));
  EXPECT_EQ(Leftovers(), 1);
  const auto got = Open(set, Cache());
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(Planes(**got, 30), Planes(**Open(set, {}), 30));
  EXPECT_EQ(Leftovers(), 0);
}

TEST_F(DecodedCache, OthersWaitForTheBuilder) {
  const ImageSet set = Set(30);
  std::vector<std::thread> trials;
  std::atomic<int> opened = 0;
  for (int i = 0; i < 4; ++i) trials.emplace_back([&] { opened += Open(set, Cache()).ok() ? 1 : 0; });
  for (std::thread& trial : trials) trial.join();
  EXPECT_EQ(opened, 4);
  EXPECT_EQ(reads_, 30);
}

TEST_F(DecodedCache, AWaitHasADeadline) {
  const ImageSet set = Set(3);
  ImageCache cache = Cache();
  cache.wait_seconds = 0.3;
  ASSERT_TRUE(PosixEnv().CreateDirectories(cache.folder).ok());
  const auto lock = PosixEnv().Lock(ReadRunFile(set) + ".lock");
  ASSERT_TRUE(lock.ok());
  int told = 0;
  const auto got = OpenDecoded(PosixEnv(), set, cache, [&](std::int64_t done, std::int64_t of) {
    EXPECT_EQ(done, 0);
    EXPECT_EQ(of, 3);
    ++told;
    return Status();
  });
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.status().code(), StatusCode::environment);
  EXPECT_NE(got.status().message().find(std::to_string(::getpid())), std::string::npos) << got.status().message();
  EXPECT_GE(told, 2);
}

TEST_F(DecodedCache, MemoryHasALimit) {
  ImageCache cache;
  cache.memory_bytes = 1000;
  const auto got = Open(Set(30), cache);
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.status().message().find("XDG_CACHE_HOME"), std::string::npos);
}

}  // namespace
}  // namespace retort::storage
