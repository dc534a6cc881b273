// jpeglib.h needs what stands before it.
// clang-format off
#include <cstddef>
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <algorithm>
#include <array>
#include <csetjmp>
#include <utility>

#include "storage/pictures/picture_format.h"

namespace retort::storage {
namespace {

// Of memory that libjpeg may take: the coefficients of a progressive picture of the largest size are 0.5 GB.
constexpr long kMostMemory = 1L << 30;
// A block of 64 pixels takes a bit in each scan at least.
constexpr std::uint64_t kPixelsPerByte = 1024;
// Upsampling looks two pixels to either side; beyond, columns do not touch each other.
constexpr std::int64_t kMargin = 8;

// libjpeg reports by jumping out of its functions: what has a destructor therefore lives in this object,
// whose frame is not jumped over.
class JpegReader {
 public:
  JpegReader(const std::string& name, std::string_view bytes, const PictureLimits& limits)
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

  Result<Picture> Read(const RegionChoice& choose);

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
  const PictureLimits& limits_;
  jpeg_decompress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf out_{};
  std::array<char, JMSG_LENGTH_MAX> said_{};
  bool ended_early_ = false, too_many_scans_ = false;
  Picture picture_;
  std::vector<std::uint8_t> row_;  // of one line as libjpeg gives it
};

Status JpegReader::Failure() const {
  const auto offset =
      jpeg_.src == nullptr ? 0 : bytes_.size() - std::min(jpeg_.src->bytes_in_buffer, bytes_.size());
  const std::string where = jpeg_.image_height == 0 ? ""
                                                    : ", at line " + std::to_string(jpeg_.output_scanline) +
                                                          " of " + std::to_string(jpeg_.image_height);
  if (too_many_scans_) {
    return Refused(
        "'" + name_ + "' is a progressive JPEG of " + std::to_string(jpeg_.input_scan_number) +
        " scans or more; at its size fewer are allowed, since each costs a pass over the picture.");
  }
  if (ended_early_) {
    return DamageError("'" + name_ + "' is a truncated JPEG: it ends after " + std::to_string(bytes_.size()) +
                       " bytes" + where + ".");
  }
  return DamageError("'" + name_ + "' is a damaged JPEG: " + said_.data() + " (byte " +
                     std::to_string(offset) + where + ").");
}

void JpegReader::Start() {
  jpeg_create_decompress(&jpeg_);
  jpeg_.client_data = this;
  jpeg_.mem->max_memory_to_use = kMostMemory;
  jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
  jpeg_read_header(&jpeg_, TRUE);
  jpeg_.progress = &progress_;
}

// Columns are cut where blocks begin, wide enough that the region's own columns come out as in the whole
// picture.
void JpegReader::Crop() {
  jpeg_.dct_method = JDCT_ISLOW;
  if (jpeg_.num_components == 1)
    jpeg_.out_color_space = JCS_GRAYSCALE;
  else if (jpeg_.num_components == 4)
    jpeg_.out_color_space = JCS_CMYK;
  else
    jpeg_.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg_);
  const Region& wanted = picture_.region;
  const std::int64_t first = std::max<std::int64_t>(0, wanted.left - kMargin);
  const std::int64_t end = std::min(picture_.whole.width, wanted.left + wanted.width + kMargin);
  auto left = static_cast<JDIMENSION>(first), width = static_cast<JDIMENSION>(end - first);
  if (end - first < picture_.whole.width) jpeg_crop_scanline(&jpeg_, &left, &width);
  picture_.region.left = left;
  picture_.region.width = width;
}

void JpegReader::StoreRow(const std::uint8_t* from, std::uint8_t* to) const {
  const std::int64_t width = picture_.region.width;
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
  const Region& region = picture_.region;
  if (region.top > 0) jpeg_skip_scanlines(&jpeg_, static_cast<JDIMENSION>(region.top));
  std::uint8_t* to = picture_.rgb.data();
  const std::int64_t end = region.top + region.height;
  while (jpeg_.output_scanline < end) {
    std::uint8_t* row = jpeg_.num_components == 3 ? to : row_.data();
    jpeg_read_scanlines(&jpeg_, &row, 1);
    if (jpeg_.num_components != 3) StoreRow(row, to);
    to += region.width * 3;
  }
  // The rest is read, though not computed, so that damage in it is seen. A skip to the very end would not
  // look.
  const std::int64_t last = picture_.whole.height - 1;
  if (end < last) jpeg_skip_scanlines(&jpeg_, static_cast<JDIMENSION>(last - end));
  std::uint8_t* row = row_.data();
  if (end <= last) jpeg_read_scanlines(&jpeg_, &row, 1);
  jpeg_finish_decompress(&jpeg_);
}

Result<Picture> JpegReader::Read(const RegionChoice& choose) {
  if (!Guarded([this] { Start(); })) return Failure();
  if (jpeg_.num_components != 1 && jpeg_.num_components != 3 && jpeg_.num_components != 4) {
    return DamageError("'" + name_ + "' is a JPEG of " + std::to_string(jpeg_.num_components) +
                       " colours; 1 (grey), 3 (RGB) and 4 (CMYK) are read.");
  }
  // Arithmetic coding packs without bound; its pictures are few.
  RETORT_RETURN_IF_ERROR(CheckDeclaredSize(name_, jpeg_.image_height, jpeg_.image_width, limits_,
                                           bytes_.size(),
                                           jpeg_.arith_code ? 64 * kPixelsPerByte : kPixelsPerByte));
  picture_.whole = {jpeg_.image_height, jpeg_.image_width};
  picture_.region = choose(picture_.whole);
  // Where scans are missing, blocks are smoothed over their neighbours, which a part would lack.
  if (jpeg_.progressive_mode != 0) picture_.region = {0, 0, picture_.whole.height, picture_.whole.width};
  if (!Guarded([this] { Crop(); })) return Failure();
  const auto columns = static_cast<std::size_t>(picture_.region.width);
  picture_.rgb.resize(static_cast<std::size_t>(picture_.region.height) * columns * 3 + kPicturePadding);
  row_.resize(columns * 4);
  if (!Guarded([this] { ReadRows(); })) return Failure();
  return std::move(picture_);
}

}  // namespace

bool IsJpeg(std::string_view bytes) { return bytes.starts_with("\xFF\xD8\xFF"); }

Result<Picture> DecodeJpeg(const std::string& name, std::string_view bytes, const PictureLimits& limits,
                           const RegionChoice& choose) {
  JpegReader reader(name, bytes, limits);
  return reader.Read(choose);
}

}  // namespace retort::storage
