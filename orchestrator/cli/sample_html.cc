#include "orchestrator/cli/sample_html.h"

#include <fmt/format.h>

#include <algorithm>

#include "orchestrator/cli/number_text.h"
#include "storage/png_grid.h"

namespace retort::orchestrator::cli {
namespace {

// The first images, as many as the limits allow.
Result<std::string> FirstOf(const storage::TensorBlob& images, const SampleLimits& limits,
                            std::int64_t& count) {
  const std::vector<std::int64_t>& shape = images.shape;
  const bool pictures = images.dtype == storage::DType::u8 && shape.size() == 4 && shape[0] > 0 &&
                        (shape[1] == 1 || shape[1] == 3) && shape[2] > 0 && shape[3] > 0;
  if (!pictures) return Refused("they are no pictures of 1 or 3 channels");
  const auto one = static_cast<std::size_t>(shape[1] * shape[2] * shape[3]);
  const std::size_t most = std::min(limits.images, std::max<std::size_t>(limits.pixel_bytes / one, 1));
  count = std::min(shape[0], static_cast<std::int64_t>(most));
  storage::TensorBlob first{"images", images.dtype, {count, shape[1], shape[2], shape[3]}, {}};
  const auto bytes = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(count) * one);
  if (images.bytes.size() < static_cast<std::size_t>(bytes))
    return Refused("some of their pixels are missing");
  first.bytes.assign(images.bytes.begin(), images.bytes.begin() + bytes);
  return storage::EncodePngGrid(first);
}

}  // namespace

void WriteSamples(Html& html, const std::string& trial, const storage::Samples& samples,
                  const SampleLimits& limits, std::size_t& picture_bytes) {
  std::int64_t count = 0;
  const Result<std::string> png = FirstOf(samples.images, limits, count);
  if (!png.ok()) return html.Paragraph("The samples are not shown: " + png.status().message() + ".");
  const std::string bytes = Base64(*png);
  if (picture_bytes + bytes.size() > limits.most_bytes)
    return html.Paragraph("The samples are not shown: the page has as many pictures as it may hold.");
  picture_bytes += bytes.size();
  const std::vector<std::int64_t>& shape = samples.images.shape;
  const std::string words =
      fmt::format("{} of {} samples of {}, {} by {} pixels each, in the order in which they were kept", count,
                  CountText(shape[0]), trial, shape[3], shape[2]);
  const HtmlScope figure(html, "figure");
  html.Void("img", {{"class", "pixels"}, {"src", "data:image/png;base64," + bytes}, {"alt", words}});
  html.Element("figcaption", words + (samples.claim.empty() ? "." : ": " + samples.claim + "."));
}

}  // namespace retort::orchestrator::cli
