#include <png.h>

#include <array>
#include <cstring>
#include <utility>

#include "storage/pictures/picture_format.h"

namespace retort::storage {
namespace {

constexpr std::string_view kSignature("\x89PNG\r\n\x1a\n", 8);
// Deflate packs 1032 bytes into one, and a byte is 8 pixels of one bit.
constexpr std::uint64_t kPixelsPerByte = std::uint64_t{1032} * 8;
constexpr png_alloc_size_t kMostOfAChunk = 1 << 20;

// libpng reports by jumping out of its functions: what has a destructor lives in this object.
class PngReader {
 public:
  PngReader(const std::string& name, std::string_view bytes, const PictureLimits& limits)
      : name_(name), bytes_(bytes), limits_(limits) {}
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  Result<Picture> Read();

 private:
  template <typename Step>
  bool Guarded(const Step& step) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    step();
    return true;
  }

  static PngReader& Self(png_structp png) { return *static_cast<PngReader*>(png_get_error_ptr(png)); }
  static void Fail(png_structp png, png_const_charp said) {
    std::strncpy(Self(png).said_.data(), said, Self(png).said_.size() - 1);
    png_longjmp(png, 1);
  }
  static void Take(png_structp png, png_bytep to, png_size_t count) {
    PngReader& self = *static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > self.bytes_.size() - self.offset_) {
      self.ended_early_ = true;
      png_longjmp(png, 1);
    }
    std::memcpy(to, self.bytes_.data() + self.offset_, count);
    self.offset_ += count;
  }

  void ReadHeader();
  void ChooseConversion();
  void ReadPixels();
  void StoreGrey16();
  Status Failure() const;

  const std::string& name_;
  std::string_view bytes_;
  const PictureLimits& limits_;
  std::size_t offset_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::array<char, 200> said_{};
  bool ended_early_ = false, grey16_ = false;
  std::int64_t line_ = 0;
  Picture picture_;
  std::vector<std::uint8_t> wide_;  // [height, width] big-endian u16, for grey of 16 bits
  std::vector<png_bytep> rows_;
};

Status PngReader::Failure() const {
  const std::string where = "byte " + std::to_string(offset_) +
                            (picture_.whole.height == 0 ? ""
                                                        : ", at line " + std::to_string(line_) + " of " +
                                                              std::to_string(picture_.whole.height));
  if (ended_early_)
    return DamageError("'" + name_ + "' is a truncated PNG: it ends too early (" + where + ").");
  return DamageError("'" + name_ + "' is a damaged PNG: " + said_.data() + " (" + where + ").");
}

void PngReader::ReadHeader() {
  png_set_read_fn(png_, this, Take);
  // Sizes are checked by CheckDeclaredSize, which says more.
  png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_chunk_malloc_max(png_, kMostOfAChunk);
  png_set_chunk_cache_max(png_, 16);
  // Texts, profiles and the like are skipped unread: nothing of them reaches a pixel.
  png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(png_, info_);
}

void PngReader::ChooseConversion() {
  const png_byte colours = png_get_color_type(png_, info_), depth = png_get_bit_depth(png_, info_);
  grey16_ = depth == 16 && colours == PNG_COLOR_TYPE_GRAY;
  if (grey16_) {
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return;
  }
  if (depth == 16) png_set_strip_16(png_);
  if (colours == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
  if ((colours & PNG_COLOR_MASK_COLOR) == 0) {
    if (depth < 8) png_set_expand_gray_1_2_4_to_8(png_);
    png_set_gray_to_rgb(png_);
  }
  png_set_strip_alpha(png_);
  png_set_interlace_handling(png_);
  png_read_update_info(png_, info_);
}

void PngReader::ReadPixels() {
  if (png_get_interlace_type(png_, info_) == PNG_INTERLACE_NONE) {
    for (png_bytep row : rows_) {
      png_read_row(png_, row, nullptr);
      ++line_;
    }
  } else {
    png_read_image(png_, rows_.data());
    line_ = picture_.whole.height;
  }
  png_read_end(png_, nullptr);
}

void PngReader::StoreGrey16() {
  std::uint8_t* to = picture_.rgb.data();
  for (std::size_t i = 0; i < wide_.size(); i += 2, to += 3) {
    picture_.clipped += wide_[i] == 0 ? 0 : 1;
    const std::uint8_t level = wide_[i] == 0 ? wide_[i + 1] : std::uint8_t{255};
    to[0] = to[1] = to[2] = level;
  }
}

Result<Picture> PngReader::Read() {
  png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, Fail, [](png_structp, png_const_charp) {});
  if (png_ == nullptr) return EnvironmentError("libpng cannot be used to decode '" + name_ + "'.");
  info_ = png_create_info_struct(png_);
  if (info_ == nullptr) return EnvironmentError("There is no memory to decode '" + name_ + "'.");
  if (!Guarded([this] { ReadHeader(); })) return Failure();
  const std::uint64_t height = png_get_image_height(png_, info_), width = png_get_image_width(png_, info_);
  RETORT_RETURN_IF_ERROR(CheckDeclaredSize(name_, height, width, limits_, bytes_.size(), kPixelsPerByte));
  picture_.whole = {static_cast<std::int64_t>(height), static_cast<std::int64_t>(width)};
  picture_.region = {0, 0, picture_.whole.height, picture_.whole.width};
  if (!Guarded([this] { ChooseConversion(); })) return Failure();
  const std::size_t row_bytes = png_get_rowbytes(png_, info_);
  if (row_bytes != (grey16_ ? 2 : 3) * width)
    return DamageError("'" + name_ + "' is a PNG whose colour type this libpng does not convert to RGB.");
  picture_.rgb.resize(height * width * 3 + kPicturePadding);
  if (grey16_) wide_.resize(height * width * 2);
  std::uint8_t* first = grey16_ ? wide_.data() : picture_.rgb.data();
  for (std::uint64_t y = 0; y < height; ++y) rows_.push_back(first + y * row_bytes);
  if (!Guarded([this] { ReadPixels(); })) return Failure();
  if (grey16_) StoreGrey16();
  return std::move(picture_);
}

}  // namespace

bool IsPng(std::string_view bytes) { return bytes.starts_with(kSignature); }

Result<Picture> DecodePng(const std::string& name, std::string_view bytes, const PictureLimits& limits) {
  PngReader reader(name, bytes, limits);
  return reader.Read();
}

}  // namespace retort::storage
