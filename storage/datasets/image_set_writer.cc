#include "storage/datasets/image_set_writer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "storage/formats/npy_file.h"
#include "storage/formats/tar_archive.h"
#include "storage/formats/tensor_blob.h"
#include "storage/images/png_grid.h"

namespace retort::storage {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;      // bytes that wait for a write
constexpr std::uint64_t kMaxNpz = std::uint64_t{4} << 30;  // bytes of pixels, which are held in memory
constexpr std::int64_t kMaxIdxCount = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t kShard = 10'000;  // images of one archive
constexpr std::size_t kNumberDigits = 8, kShardDigits = 6;

std::string Padded(std::int64_t number, std::size_t digits) {
  const std::string text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

// Appends to a file in pieces of kBuffer.
class BufferedFile {
 public:
  [[nodiscard]] static Result<std::unique_ptr<BufferedFile>> Create(Env& env, const std::string& path) {
    RETORT_ASSIGN_OR_RETURN(std::unique_ptr<AppendFile> file, env.OpenAppend(path));
    return std::unique_ptr<BufferedFile>(new BufferedFile(std::move(file)));
  }
  [[nodiscard]] Status Append(std::string_view bytes) {
    waiting_ += bytes;
    return waiting_.size() < kBuffer ? Status() : Flush();
  }
  [[nodiscard]] Status Flush() {
    const Status written = waiting_.empty() ? Status() : file_->Append(waiting_);
    waiting_.clear();
    return written;
  }

 private:
  explicit BufferedFile(std::unique_ptr<AppendFile> file) : file_(std::move(file)) {}
  std::unique_ptr<AppendFile> file_;
  std::string waiting_;
};

std::string EncodeBigEndian(std::int64_t value) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> shift & 0xFFU);
  return bytes;
}

Result<std::string> EncodeImage(const WrittenImages& set, std::string_view pixels) {
  TensorBlob image{"", DType::u8, {1, set.channels, set.height, set.width}, {}};
  image.bytes.assign(pixels.begin(), pixels.end());
  return EncodePngGrid(image);
}

class IdxWriter final : public ImageSetWriter {
 public:
  [[nodiscard]] Status Open(Env& env, const std::string& folder, const WrittenImages& set) {
    RETORT_RETURN_IF_ERROR(Begin(env, folder + "/t10k-", 0, set));
    RETORT_RETURN_IF_ERROR(Finish());
    return Begin(env, folder + "/train-", set.count, set);
  }
  Status Add(std::string_view pixels, std::int64_t label) override {
    RETORT_RETURN_IF_ERROR(images_->Append(pixels));
    return labels_->Append(std::string(1, static_cast<char>(label)));
  }
  Status Finish() override {
    RETORT_RETURN_IF_ERROR(images_->Flush());
    return labels_->Flush();
  }

 private:
  // Opens a pair of files and writes their headers.
  [[nodiscard]] Status Begin(Env& env, const std::string& part, std::int64_t count, const WrittenImages& set) {
    RETORT_ASSIGN_OR_RETURN(images_, BufferedFile::Create(env, part + "images-idx3-ubyte"));
    RETORT_ASSIGN_OR_RETURN(labels_, BufferedFile::Create(env, part + "labels-idx1-ubyte"));
    constexpr std::int64_t kImages = 0x803, kLabels = 0x801;  // unsigned bytes of three extents, and of one
    RETORT_RETURN_IF_ERROR(images_->Append(EncodeBigEndian(kImages) + EncodeBigEndian(count) +
                                           EncodeBigEndian(set.height) + EncodeBigEndian(set.width)));
    return labels_->Append(EncodeBigEndian(kLabels) + EncodeBigEndian(count));
  }
  std::unique_ptr<BufferedFile> images_, labels_;
};

class PngWriter final : public ImageSetWriter {
 public:
  PngWriter(Env& env, std::string folder, const WrittenImages& set)
      : env_(env), folder_(std::move(folder)), set_(set) {}

  // Also of classes that no image will have, so that readers count the same ones.
  [[nodiscard]] Status Open() {
    for (std::int64_t label = 0; label < set_.classes; ++label)
      RETORT_RETURN_IF_ERROR(env_.CreateDirectories(NameClass(label)));
    return {};
  }
  Status Add(std::string_view pixels, std::int64_t label) override {
    RETORT_ASSIGN_OR_RETURN(const std::string bytes, EncodeImage(set_, pixels));
    RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<AppendFile> file,
                            env_.OpenAppend(NameClass(label) + "/" + Padded(next_, kNumberDigits) + ".png"));
    ++next_;
    return file->Append(bytes);
  }
  Status Finish() override { return {}; }

 private:
  // Padded, so that names in order are labels in order.
  [[nodiscard]] std::string NameClass(std::int64_t label) const {
    return folder_ + "/" + Padded(label, std::to_string(set_.classes - 1).size());
  }
  Env& env_;
  std::string folder_;
  WrittenImages set_;
  std::int64_t next_ = 0;
};

class NpzWriter final : public ImageSetWriter {
 public:
  NpzWriter(Env& env, std::string folder, const WrittenImages& set)
      : env_(env),
        path_(std::move(folder) + "/samples.npz"),
        images_{"images", DType::u8, {set.count, set.channels, set.height, set.width}, {}},
        labels_{"labels", DType::i64, {set.count}, {}} {}
  Status Add(std::string_view pixels, std::int64_t label) override {
    images_.bytes.insert(images_.bytes.end(), pixels.begin(), pixels.end());
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&label);
    labels_.bytes.insert(labels_.bytes.end(), bytes, bytes + sizeof label);
    return {};
  }
  Status Finish() override {
    RETORT_ASSIGN_OR_RETURN(const std::string bytes, EncodeNpz({std::move(images_), std::move(labels_)}));
    RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<AppendFile> file, env_.OpenAppend(path_));
    return file->Append(bytes);
  }

 private:
  Env& env_;
  std::string path_;
  TensorBlob images_, labels_;
};

class ShardWriter final : public ImageSetWriter {
 public:
  ShardWriter(Env& env, std::string folder, const WrittenImages& set)
      : env_(env), folder_(std::move(folder)), set_(set) {}
  Status Add(std::string_view pixels, std::int64_t label) override {
    if (next_ % kShard == 0) RETORT_RETURN_IF_ERROR(BeginShard());
    const std::string name = Padded(next_++, kNumberDigits);
    RETORT_ASSIGN_OR_RETURN(const std::string bytes, EncodeImage(set_, pixels));
    RETORT_RETURN_IF_ERROR(shard_->Append(EncodeTarMember(name + ".png", bytes)));
    return shard_->Append(EncodeTarMember(name + ".cls", std::to_string(label)));
  }
  Status Finish() override { return EndShard(); }

 private:
  [[nodiscard]] Status BeginShard() {
    RETORT_RETURN_IF_ERROR(EndShard());
    RETORT_ASSIGN_OR_RETURN(
        shard_, BufferedFile::Create(env_, folder_ + "/samples-" + Padded(next_ / kShard, kShardDigits) + ".tar"));
    return {};
  }
  [[nodiscard]] Status EndShard() {
    if (shard_ == nullptr) return {};
    RETORT_RETURN_IF_ERROR(shard_->Append(EncodeTarEnd()));
    return shard_->Flush();
  }
  Env& env_;
  std::string folder_;
  WrittenImages set_;
  std::unique_ptr<BufferedFile> shard_;
  std::int64_t next_ = 0;
};

}  // namespace

const std::vector<std::string>& ListImageSetFormats() {
  static const std::vector<std::string> names = {"idx", "png", "npz", "webdataset"};
  return names;
}

Status CheckImageSetFormat(const std::string& format, const WrittenImages& set) {
  const std::uint64_t bytes =
      static_cast<std::uint64_t>(set.count) * static_cast<std::uint64_t>(set.channels * set.height * set.width);
  if (format == "idx") {
    if (set.channels != 1)
      return UsageError("idx holds grey pictures, and these have " + std::to_string(set.channels) +
                        " channels: choose png, npz or webdataset.");
    if (set.classes > 256 || set.count > kMaxIdxCount)
      return UsageError("idx holds labels below 256 and less than 2^31 pictures: choose npz or webdataset.");
  } else if (format == "npz") {
    if (bytes > kMaxNpz)
      return UsageError("npz is made in memory, at most 4 GiB of pixels: choose webdataset, or a smaller --count.");
  } else if (set.channels != 1 && set.channels != 3) {
    return UsageError(format + " holds pictures of 1 or 3 channels, and these have " + std::to_string(set.channels) +
                      ": choose npz.");
  }
  return {};
}

Result<std::unique_ptr<ImageSetWriter>> MakeImageSetWriter(Env& env, const std::string& format,
                                                           const std::string& folder, const WrittenImages& set) {
  RETORT_RETURN_IF_ERROR(CheckImageSetFormat(format, set));
  if (format == "idx") {
    auto writer = std::make_unique<IdxWriter>();
    RETORT_RETURN_IF_ERROR(writer->Open(env, folder, set));
    return std::unique_ptr<ImageSetWriter>(std::move(writer));
  }
  if (format == "png") {
    auto writer = std::make_unique<PngWriter>(env, folder, set);
    RETORT_RETURN_IF_ERROR(writer->Open());
    return std::unique_ptr<ImageSetWriter>(std::move(writer));
  }
  if (format == "npz") return std::unique_ptr<ImageSetWriter>(std::make_unique<NpzWriter>(env, folder, set));
  if (format == "webdataset") return std::unique_ptr<ImageSetWriter>(std::make_unique<ShardWriter>(env, folder, set));
  return UsageError("there is no format `" + format + "` of pictures.");
}

}  // namespace retort::storage
