#include "storage/images/image_decoder.h"

// jpeglib.h needs what stands before it.
// clang-format off
#include <cstddef>
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on
#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <new>
#include <utility>

namespace retort::storage {
namespace {

// Error: refused when a declared size is beyond the limits, or (damage) more than `bytes_held` can hold at
// `pixels_per_byte`, the best that the format's compression can do.
Status CheckDeclaredSize(const std::string& name, std::uint64_t height, std::uint64_t width, const ImageLimits& limits,
                         std::uint64_t bytes_held, std::uint64_t pixels_per_byte) {
  const std::string declared =
      "'" + name + "' declares " + std::to_string(width) + " x " + std::to_string(height) + " pixels";
  if (height == 0 || width == 0) return DamageError(declared + ": a picture has at least one.");
  const auto side = static_cast<std::uint64_t>(limits.side);
  if (height > side || width > side)
    return Refused(declared + ", more than the " + std::to_string(side) + " that a side may have.");
  if (height * width > static_cast<std::uint64_t>(limits.pixels)) {
    return Refused(declared + ", more than the " + std::to_string(limits.pixels) + " that a picture may have in all.");
  }
  if (height * width / pixels_per_byte > bytes_held) {
    return DamageError(declared + ", which its " + std::to_string(bytes_held) +
                       " bytes cannot hold: the file is truncated, or its header is false.");
  }
  return {};
}

// ---- JPEG

// Of memory that libjpeg may take: the coefficients of a progressive image of the largest size are 0.5 GB.
constexpr long kMaxMemory = 1L << 30;
// A block of 64 pixels takes a bit in each scan at least.
constexpr std::uint64_t kJpegPixelsPerByte = 1024;
// Upsampling looks two pixels to either side; beyond, columns do not touch each other.
constexpr std::int64_t kMargin = 8;

// libjpeg reports by jumping out of its functions: what has a destructor therefore lives in this object,
// whose frame is not jumped over.
class JpegReader {
 public:
  JpegReader(const std::string& name, std::string_view bytes, const ImageLimits& limits)
      : name_(name), bytes_(bytes), limits_(limits) {
    jpeg_.err = jpeg_std_error(&errors_);
    jpeg_.client_data = this;
    errors_.error_exit = [](j_common_ptr common) { Self(common).Fail(); };
    errors_.emit_message = [](j_common_ptr common, int level) { Self(common).Warn(level); };
    progress_.progress_monitor = [](j_common_ptr common) { Self(common).CheckScans(); };
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }

  Result<DecodedImage> Read(const RegionChoice& choose);

 private:
  static JpegReader& Self(j_common_ptr common) { return *static_cast<JpegReader*>(common->client_data); }

  // False when libjpeg gave up inside; nothing with a destructor may be alive in `step`'s frames then.
  template <typename Step>
  bool Guarded(const Step& step) {
    if (setjmp(out_) != 0) return false;
    step();
    return true;
  }

  [[noreturn]] void Fail() {
    errors_.format_message(reinterpret_cast<j_common_ptr>(&jpeg_), said_.data());
    std::longjmp(out_, 1);
  }
  // Warnings are counted by libjpeg as damage that it fills in for; bytes between markers cost no pixel.
  void Warn(int level) {
    if (level >= 0) return;
    const int code = errors_.msg_code;
    if (code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM) return;
    ended_early_ = code == JWRN_JPEG_EOF;
    Fail();
  }
  void CheckScans() {
    const std::int64_t scans = jpeg_.input_scan_number;
    const std::int64_t pixels = std::int64_t{jpeg_.image_width} * jpeg_.image_height;
    if (scans <= 1 || (scans <= limits_.scans && scans * pixels <= limits_.scan_pixels)) return;
    too_many_scans_ = true;
    std::longjmp(out_, 1);
  }

  void Start();
  void Crop();
  void ReadRows();
  void StoreRow(const std::uint8_t* from, std::uint8_t* to) const;
  Status Failure() const;

  const std::string& name_;
  std::string_view bytes_;
  const ImageLimits& limits_;
  jpeg_decompress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf out_{};
  std::array<char, JMSG_LENGTH_MAX> said_{};
  bool ended_early_ = false, too_many_scans_ = false;
  DecodedImage image_;
  std::vector<std::uint8_t> row_;  // of one line as libjpeg gives it
};

Status JpegReader::Failure() const {
  const auto offset = jpeg_.src == nullptr ? 0 : bytes_.size() - std::min(jpeg_.src->bytes_in_buffer, bytes_.size());
  const std::string where = jpeg_.image_height == 0 ? ""
                                                    : ", at line " + std::to_string(jpeg_.output_scanline) + " of " +
                                                          std::to_string(jpeg_.image_height);
  if (too_many_scans_) {
    return Refused("'" + name_ + "' is a progressive JPEG of " + std::to_string(jpeg_.input_scan_number) +
                   " scans or more; at its size fewer are allowed, since each costs a pass over the picture.");
  }
  if (ended_early_) {
    return DamageError("'" + name_ + "' is a truncated JPEG: it ends after " + std::to_string(bytes_.size()) +
                       " bytes" + where + ".");
  }
  return DamageError("'" + name_ + "' is a damaged JPEG: " + said_.data() + " (byte " + std::to_string(offset) + where +
                     ").");
}

void JpegReader::Start() {
  jpeg_create_decompress(&jpeg_);
  jpeg_.client_data = this;
  jpeg_.mem->max_memory_to_use = kMaxMemory;
  jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
  jpeg_read_header(&jpeg_, TRUE);
  jpeg_.progress = &progress_;
}

// Columns are cut where blocks begin, wide enough that the region's own columns come out as in the whole
// image.
void JpegReader::Crop() {
  jpeg_.dct_method = JDCT_ISLOW;
  if (jpeg_.num_components == 1)
    jpeg_.out_color_space = JCS_GRAYSCALE;
  else if (jpeg_.num_components == 4)
    jpeg_.out_color_space = JCS_CMYK;
  else
    jpeg_.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg_);
  const Region& wanted = image_.region;
  const std::int64_t first = std::max<std::int64_t>(0, wanted.left - kMargin);
  const std::int64_t end = std::min(image_.whole.width, wanted.left + wanted.width + kMargin);
  auto left = static_cast<JDIMENSION>(first), width = static_cast<JDIMENSION>(end - first);
  if (end - first < image_.whole.width) jpeg_crop_scanline(&jpeg_, &left, &width);
  image_.region.left = left;
  image_.region.width = width;
}

void JpegReader::StoreRow(const std::uint8_t* from, std::uint8_t* to) const {
  const std::int64_t width = image_.region.width;
  if (jpeg_.num_components == 1) {
    for (std::int64_t x = 0; x < width; ++x, to += 3) to[0] = to[1] = to[2] = from[x];
    return;
  }
  for (std::int64_t x = 0; x < width; ++x, from += 4, to += 3) {
    const int light = from[3];  // inverted: 255 - black
    for (int c = 0; c < 3; ++c) {
      const int product = (255 - from[c]) * light + 128;
      to[c] = static_cast<std::uint8_t>(light - ((product + (product >> 8)) >> 8));
    }
  }
}

void JpegReader::ReadRows() {
  const Region& region = image_.region;
  if (region.top > 0) jpeg_skip_scanlines(&jpeg_, static_cast<JDIMENSION>(region.top));
  std::uint8_t* to = image_.rgb.data();
  const std::int64_t end = region.top + region.height;
  while (jpeg_.output_scanline < end) {
    std::uint8_t* row = jpeg_.num_components == 3 ? to : row_.data();
    jpeg_read_scanlines(&jpeg_, &row, 1);
    if (jpeg_.num_components != 3) StoreRow(row, to);
    to += region.width * 3;
  }
  // The rest is read, though not computed, so that damage in it is seen. A skip to the very end would not
  // look.
  const std::int64_t last = image_.whole.height - 1;
  if (end < last) jpeg_skip_scanlines(&jpeg_, static_cast<JDIMENSION>(last - end));
  std::uint8_t* row = row_.data();
  if (end <= last) jpeg_read_scanlines(&jpeg_, &row, 1);
  jpeg_finish_decompress(&jpeg_);
}

Result<DecodedImage> JpegReader::Read(const RegionChoice& choose) {
  if (!Guarded([this] { Start(); })) return Failure();
  if (jpeg_.num_components != 1 && jpeg_.num_components != 3 && jpeg_.num_components != 4) {
    return DamageError("'" + name_ + "' is a JPEG of " + std::to_string(jpeg_.num_components) +
                       " colours; 1 (grey), 3 (RGB) and 4 (CMYK) are read.");
  }
  // Arithmetic coding packs without bound; its images are few.
  RETORT_RETURN_IF_ERROR(CheckDeclaredSize(name_, jpeg_.image_height, jpeg_.image_width, limits_, bytes_.size(),
                                           jpeg_.arith_code ? 64 * kJpegPixelsPerByte : kJpegPixelsPerByte));
  image_.whole = {jpeg_.image_height, jpeg_.image_width};
  image_.region = choose(image_.whole);
  // Where scans are missing, blocks are smoothed over their neighbours, which a part would lack.
  if (jpeg_.progressive_mode != 0) image_.region = {0, 0, image_.whole.height, image_.whole.width};
  if (!Guarded([this] { Crop(); })) return Failure();
  const auto columns = static_cast<std::size_t>(image_.region.width);
  image_.rgb.resize(static_cast<std::size_t>(image_.region.height) * columns * 3 + kImagePadding);
  row_.resize(columns * 4);
  if (!Guarded([this] { ReadRows(); })) return Failure();
  return std::move(image_);
}

bool IsJpeg(std::string_view bytes) { return bytes.starts_with("\xFF\xD8\xFF"); }

Result<DecodedImage> DecodeJpeg(const std::string& name, std::string_view bytes, const ImageLimits& limits,
                                const RegionChoice& choose) {
  JpegReader reader(name, bytes, limits);
  return reader.Read(choose);
}

// ---- PNG

constexpr std::string_view kSignature("\x89PNG\r\n\x1a\n", 8);
// Deflate packs 1032 bytes into one, and a byte is 8 pixels of one bit.
constexpr std::uint64_t kPngPixelsPerByte = std::uint64_t{1032} * 8;
constexpr png_alloc_size_t kMaxOfAChunk = 1 << 20;

// libpng reports by jumping out of its functions: what has a destructor lives in this object.
class PngReader {
 public:
  PngReader(const std::string& name, std::string_view bytes, const ImageLimits& limits)
      : name_(name), bytes_(bytes), limits_(limits) {}
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  Result<DecodedImage> Read();

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
  const ImageLimits& limits_;
  std::size_t offset_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::array<char, 200> said_{};
  bool ended_early_ = false, grey16_ = false;
  std::int64_t line_ = 0;
  DecodedImage image_;
  std::vector<std::uint8_t> wide_;  // [height, width] big-endian u16, for grey of 16 bits
  std::vector<png_bytep> rows_;
};

Status PngReader::Failure() const {
  const std::string where =
      "byte " + std::to_string(offset_) +
      (image_.whole.height == 0 ? ""
                                : ", at line " + std::to_string(line_) + " of " + std::to_string(image_.whole.height));
  if (ended_early_) return DamageError("'" + name_ + "' is a truncated PNG: it ends too early (" + where + ").");
  return DamageError("'" + name_ + "' is a damaged PNG: " + said_.data() + " (" + where + ").");
}

void PngReader::ReadHeader() {
  png_set_read_fn(png_, this, Take);
  // Sizes are checked by CheckDeclaredSize, which says more.
  png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_chunk_malloc_max(png_, kMaxOfAChunk);
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
    line_ = image_.whole.height;
  }
  png_read_end(png_, nullptr);
}

void PngReader::StoreGrey16() {
  std::uint8_t* to = image_.rgb.data();
  for (std::size_t i = 0; i < wide_.size(); i += 2, to += 3) {
    image_.clipped += wide_[i] == 0 ? 0 : 1;
    const std::uint8_t level = wide_[i] == 0 ? wide_[i + 1] : std::uint8_t{255};
    to[0] = to[1] = to[2] = level;
  }
}

Result<DecodedImage> PngReader::Read() {
  png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, Fail, [](png_structp, png_const_charp) {});
  if (png_ == nullptr) return EnvironmentError("libpng cannot be used to decode '" + name_ + "'.");
  info_ = png_create_info_struct(png_);
  if (info_ == nullptr) return EnvironmentError("There is no memory to decode '" + name_ + "'.");
  if (!Guarded([this] { ReadHeader(); })) return Failure();
  const std::uint64_t height = png_get_image_height(png_, info_), width = png_get_image_width(png_, info_);
  RETORT_RETURN_IF_ERROR(CheckDeclaredSize(name_, height, width, limits_, bytes_.size(), kPngPixelsPerByte));
  image_.whole = {static_cast<std::int64_t>(height), static_cast<std::int64_t>(width)};
  image_.region = {0, 0, image_.whole.height, image_.whole.width};
  if (!Guarded([this] { ChooseConversion(); })) return Failure();
  const std::size_t row_bytes = png_get_rowbytes(png_, info_);
  if (row_bytes != (grey16_ ? 2 : 3) * width)
    return DamageError("'" + name_ + "' is a PNG whose colour type this libpng does not convert to RGB.");
  image_.rgb.resize(height * width * 3 + kImagePadding);
  if (grey16_) wide_.resize(height * width * 2);
  std::uint8_t* first = grey16_ ? wide_.data() : image_.rgb.data();
  for (std::uint64_t y = 0; y < height; ++y) rows_.push_back(first + y * row_bytes);
  if (!Guarded([this] { ReadPixels(); })) return Failure();
  if (grey16_) StoreGrey16();
  return std::move(image_);
}

bool IsPng(std::string_view bytes) { return bytes.starts_with(kSignature); }

Result<DecodedImage> DecodePng(const std::string& name, std::string_view bytes, const ImageLimits& limits) {
  PngReader reader(name, bytes, limits);
  return reader.Read();
}

// ---- The orientation tag (0x0112) of EXIF: in the APP1 segment of a JPEG, in the eXIf chunk of a PNG

std::uint32_t Number(std::string_view bytes, std::size_t at, std::size_t count, bool little) {
  if (at > bytes.size() || count > bytes.size() - at) return 0;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[at + (little ? count - 1 - i : i)]);
    value = value << 8 | byte;
  }
  return value;
}

// `tiff` begins with the byte order mark.
int OrientationInTiff(std::string_view tiff) {
  const bool little = tiff.starts_with("II");
  if (!little && !tiff.starts_with("MM")) return 1;
  const std::uint32_t directory = Number(tiff, 4, 4, little), entries = Number(tiff, directory, 2, little);
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t entry = std::size_t{directory} + 2 + std::size_t{12} * i;
    if (entry + 12 > tiff.size()) return 1;
    if (Number(tiff, entry, 2, little) != 0x0112) continue;
    const std::uint32_t value = Number(tiff, entry + 8, 2, little);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

int OrientationInJpeg(std::string_view bytes) {
  constexpr std::string_view kExif("Exif\0\0", 6);
  for (std::size_t at = 2; at + 4 <= bytes.size();) {
    const std::uint32_t marker = Number(bytes, at, 2, false), size = Number(bytes, at + 2, 2, false);
    if (marker < 0xFFC0 || marker == 0xFFDA || size < 2) return 1;
    const std::string_view segment = bytes.substr(at + 4, size - 2);
    if (marker == 0xFFE1 && segment.starts_with(kExif)) return OrientationInTiff(segment.substr(kExif.size()));
    at += 2 + std::size_t{size};
  }
  return 1;
}

int OrientationInPng(std::string_view bytes) {
  for (std::size_t at = 8; at + 12 <= bytes.size();) {
    const std::size_t size = Number(bytes, at, 4, false);
    if (bytes.substr(at + 4, 4) == "eXIf") return OrientationInTiff(bytes.substr(at + 8, size));
    at += 12 + size;
  }
  return 1;
}

// 1..8 as EXIF 2.3 numbers them; 1 where the image says nothing or nothing sensible.
int FindOrientation(std::string_view bytes) {
  return IsPng(bytes) ? OrientationInPng(bytes) : OrientationInJpeg(bytes);
}

// Turned and mirrored to stand upright. `image` is whole.
DecodedImage Upright(DecodedImage image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  const ImageSize from = image.whole;
  const bool turned = orientation >= 5;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  DecodedImage out;
  out.whole = turned ? ImageSize{from.width, from.height} : from;
  out.region = {0, 0, out.whole.height, out.whole.width};
  out.rgb.resize(image.rgb.size());
  std::uint8_t* to = out.rgb.data();
  for (std::int64_t y = 0; y < out.whole.height; ++y) {
    for (std::int64_t x = 0; x < out.whole.width; ++x, to += 3) {
      // In an orientation that lies on its side, an upright row is a stored column.
      const std::int64_t column = turned ? y : x, row = turned ? x : y;
      const bool flip_row = turned ? from_right : from_bottom, flip_column = turned ? from_bottom : from_right;
      const std::int64_t source_row = flip_row ? from.height - 1 - row : row;
      const std::int64_t source_column = flip_column ? from.width - 1 - column : column;
      std::copy_n(image.Row(source_row) + source_column * 3, 3, to);
    }
  }
  return out;
}

Region Everything(const ImageSize& size) { return {0, 0, size.height, size.width}; }

Result<DecodedImage> Decode(const std::string& name, std::string_view bytes, const ImageOptions& options,
                            const RegionChoice& choose) {
  const int orientation =
      options.orientation == ExifOrientation::apply && (IsJpeg(bytes) || IsPng(bytes)) ? FindOrientation(bytes) : 1;
  if (IsPng(bytes)) {
    RETORT_ASSIGN_OR_RETURN(DecodedImage image, DecodePng(name, bytes, options.limits));
    return Upright(std::move(image), orientation);
  }
  if (!IsJpeg(bytes)) {
    return DamageError("'" + name + "' is no JPEG (FF D8 FF) and no PNG (89 50 4E 47): its " +
                       std::to_string(bytes.size()) + " bytes begin otherwise.");
  }
  RETORT_ASSIGN_OR_RETURN(DecodedImage image,
                          DecodeJpeg(name, bytes, options.limits, orientation == 1 ? choose : Everything));
  return Upright(std::move(image), orientation);
}

}  // namespace

Result<DecodedImage> DecodeImage(const std::string& name, std::string_view bytes, const ImageOptions& options,
                                 const RegionChoice& choose) {
  try {
    return Decode(name, bytes, options, choose);
  } catch (const std::bad_alloc&) {
    return EnvironmentError("There is no memory to decode '" + name + "': fewer decoding threads need less of it.");
  }
}

Result<DecodedImage> DecodeImage(const std::string& name, std::string_view bytes, const ImageOptions& options) {
  return DecodeImage(name, bytes, options, Everything);
}

}  // namespace retort::storage
