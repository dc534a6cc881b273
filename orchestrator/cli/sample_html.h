// What a trial kept of the images that it put to its teacher, on a page.
#pragma once

#include <cstddef>
#include <string>

#include "orchestrator/cli/html_writer.h"
#include "storage/attempt_file.h"

namespace retort::orchestrator::cli {

struct SampleLimits {
  std::size_t images = 0;       // at most
  std::size_t pixel_bytes = 0;  // at most, but one image at least
  std::size_t most_bytes = 0;   // that `picture_bytes` may reach
};

// A grid as one PNG with its alternative text, and what the samples are. Says so where they are no pictures
// or the page may hold no more. `picture_bytes` grows by what the picture takes in the page.
void WriteSamples(Html& html, const std::string& trial, const storage::Samples& samples,
                  const SampleLimits& limits, std::size_t& picture_bytes);

}  // namespace retort::orchestrator::cli
