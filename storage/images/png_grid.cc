#include "storage/images/png_grid.h"

#include <png.h>

#include <cstddef>
#include <vector>

namespace retort::storage {
namespace {

constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;

struct Grid {
  std::int64_t rows, channels, height, width;  // of the images
  std::int64_t across = 1, down = 1;
  [[nodiscard]] std::int64_t pixel_width() const { return across * (width + 1) - 1; }
  [[nodiscard]] std::int64_t pixel_height() const { return down * (height + 1) - 1; }
};

Result<Grid> LayOutGrid(const TensorBlob& images) {
  const std::vector<std::int64_t>& shape = images.shape;
  const bool sound = images.dtype == DType::u8 && shape.size() == 4 && shape[0] > 0 && shape[2] > 0 && shape[3] > 0;
  if (!sound || (shape[1] != 1 && shape[1] != 3))
    return Refused("A PNG shows images [rows, channels, height, width] of 1 or 3 channels; --format npz takes all.");
  Grid grid{shape[0], shape[1], shape[2], shape[3]};
  if (grid.rows > kMaxPixels / grid.height || grid.rows * grid.height > kMaxPixels / grid.width)
    return Refused("The samples are too many for one PNG; --format npz takes all.");
  while (grid.across * grid.across < grid.rows) ++grid.across;
  grid.down = (grid.rows + grid.across - 1) / grid.across;
  return grid;
}

// Channels last, as PNG has them.
std::vector<png_byte> GridPixels(const TensorBlob& images, const Grid& grid) {
  std::vector<png_byte> pixels(static_cast<std::size_t>(grid.pixel_width() * grid.pixel_height() * grid.channels), 255);
  std::size_t from = 0;
  for (std::int64_t row = 0; row < grid.rows; ++row)
    for (std::int64_t channel = 0; channel < grid.channels; ++channel)
      for (std::int64_t y = 0; y < grid.height; ++y)
        for (std::int64_t x = 0; x < grid.width; ++x) {
          const std::int64_t at_y = row / grid.across * (grid.height + 1) + y,
                             at_x = row % grid.across * (grid.width + 1) + x;
          pixels[static_cast<std::size_t>((at_y * grid.pixel_width() + at_x) * grid.channels + channel)] =
              images.bytes[from++];
        }
  return pixels;
}

}  // namespace

Result<std::string> EncodePngGrid(const TensorBlob& images) {
  RETORT_ASSIGN_OR_RETURN(const Grid grid, LayOutGrid(images));
  const std::vector<png_byte> pixels = GridPixels(images, grid);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(grid.pixel_width());
  image.height = static_cast<png_uint_32>(grid.pixel_height());
  image.format = grid.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  const auto write = [&](void* into) {
    return png_image_write_to_memory(&image, into, &size, 0, pixels.data(), 0, nullptr) != 0;
  };
  if (!write(nullptr)) return EnvironmentError(std::string("libpng cannot write the picture: ") + image.message);
  std::string bytes(size, '\0');
  if (!write(bytes.data())) return EnvironmentError(std::string("libpng cannot write the picture: ") + image.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace retort::storage
