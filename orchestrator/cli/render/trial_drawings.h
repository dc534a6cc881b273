// Draws what an attempt recorded on a page: confusion matrix, curves, samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/cli/render/html.h"
#include "storage/results/attempt_file.h"

namespace retort::orchestrator::cli {

// Classes up to which the matrix is a table of numbers; beyond it is a picture.
inline constexpr std::int64_t kMaxClassesInTable = 20;

// Accuracy, and what was taken for what most often: "accuracy 92.20 % of 1,000; most often 4 was taken for 9
// (12 times), …".
[[nodiscard]] std::string DescribeConfusion(const storage::Evaluation& evaluation);

// A table whose cells are tinted by their part of the true class, or a grey picture with DescribeConfusion as
// alternative text. `drawn_bytes` grows by what the picture takes in the page, and is never led beyond
// `most_bytes`: then the words stand alone. A matrix that is none is said to be so.
void WriteConfusion(Html& html, const std::string& trial, const storage::Evaluation& evaluation,
                    std::size_t& drawn_bytes, std::size_t most_bytes);

// One curve as a small drawing in the page itself, in the page's own colours.

using CurvePoints = std::vector<std::pair<std::int64_t, double>>;  // step and value, by ascending step

// What the chart shows, in words: "train.loss, 160 points from step 0 to 159: 2.303 at first, 0.41 at last,
// between 0.39 and 2.303". Values that are not finite are counted and left out.
[[nodiscard]] std::string DescribeCurve(const std::string& name, const CurvePoints& points);

// A figure of class "chart" with an SVG, which carries DescribeCurve as its alternative text. Of many points as
// many are drawn as can be told apart; the first, the last, the least and the largest value are among them.
void WriteCurve(Html& html, const std::string& name, const CurvePoints& points);

// What a trial kept of the images that it put to its teacher, on a page.

struct SampleLimits {
  std::size_t images = 0;       // at most
  std::size_t pixel_bytes = 0;  // at most, but one image at least
  std::size_t most_bytes = 0;   // that `drawn_bytes` may reach
};

// A grid as one PNG with its alternative text, and what the samples are. Says so where they are no pictures
// or the page may hold no more. `drawn_bytes` grows by what the picture takes in the page.
void WriteSamples(Html& html, const std::string& trial, const storage::Samples& samples, const SampleLimits& limits,
                  std::size_t& drawn_bytes);

}  // namespace retort::orchestrator::cli
