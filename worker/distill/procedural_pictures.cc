#include "worker/distill/procedural_pictures.h"

#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>

#include "experiments/spec/status.h"
#include "worker/distill/procedural_drawing.h"

namespace retort::worker {
namespace {

using Draw = void (*)(drawing::Numbers numbers, drawing::Canvas canvas);

// One that draws a grey picture, which every channel then shows.
at::Tensor Grey(Draw draw, std::int64_t count, std::int64_t channels, std::int64_t side, const RowStream& rows) {
  const at::Tensor pictures = at::zeros({count, 1, side, side}, at::kFloat);
  auto* pixels = pictures.data_ptr<float>();
  at::parallel_for(0, count, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      draw(drawing::Numbers(rows.Lane(i)), {pixels + i * side * side, 1, side});
  });
  return pictures.expand({count, channels, side, side}).contiguous();
}

at::Tensor Coloured(Draw draw, std::int64_t count, std::int64_t channels, std::int64_t side, const RowStream& rows) {
  const at::Tensor pictures = at::zeros({count, channels, side, side}, at::kFloat);
  auto* pixels = pictures.data_ptr<float>();
  at::parallel_for(0, count, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      draw(drawing::Numbers(rows.Lane(i)),
           {pixels + i * channels * side * side, channels, side});
  });
  return pictures;
}

}  // namespace

at::Tensor ProceduralPictures(ProceduralKind kind, std::int64_t count, std::int64_t channels, std::int64_t side,
                              const RowStream& rows) {
  RETORT_CHECK(count >= 0 && channels >= 1 && side >= 8);
  switch (kind) {
    case ProceduralKind::strokes:
      return Grey(drawing::Strokes, count, channels, side, rows);
    case ProceduralKind::blobs:
      return Grey(drawing::Blobs, count, channels, side, rows);
    case ProceduralKind::dead_leaves:
      return Coloured(drawing::DeadLeaves, count, channels, side, rows);
    case ProceduralKind::noise:
      break;
  }
  return drawing::PinkNoise(count, channels, side, rows);
}

}  // namespace retort::worker
