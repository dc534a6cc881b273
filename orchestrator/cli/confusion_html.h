// A confusion matrix on a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "orchestrator/cli/html_writer.h"
#include "storage/attempt_file.h"

namespace retort::orchestrator::cli {

// Classes up to which the matrix is a table of numbers; beyond it is a picture.
inline constexpr std::int64_t kMostClassesInTable = 20;

// Accuracy, and what was taken for what most often: "accuracy 92.20 % of 1,000; most often 4 was taken for 9
// (12 times), …".
[[nodiscard]] std::string ConfusionWords(const storage::Evaluation& evaluation);

// A table whose cells are tinted by their part of the true class, or a grey picture with ConfusionWords as
// alternative text. `picture_bytes` grows by what the picture takes in the page, and is never led beyond
// `most_bytes`: then the words stand alone. A matrix that is none is said to be so.
void WriteConfusion(Html& html, const std::string& trial, const storage::Evaluation& evaluation,
                    std::size_t& picture_bytes, std::size_t most_bytes);

}  // namespace retort::orchestrator::cli
