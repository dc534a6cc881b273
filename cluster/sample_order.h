// What `retort sample` asks a worker program for, and what it answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"

namespace retort::cluster {

// The argument with which the worker program, in place of its work, takes the order that follows it.
inline constexpr const char* kSampleArgument = "--sample";

// What the Fréchet distance of an evaluation is measured in: whitened oriented gradients, the same function for every
// trial. Distances in other features are other figures.
inline constexpr std::string_view kFrechetFeatures = "oriented-gradients";

// Who says what an image shows.
enum class SampleLabels : std::uint8_t {
  student,   // the trial's student, of any image
  teacher,   // its teacher, privately trained and asked without noise, of any image
  released,  // what its teacher released in the trial, of the images that the trial kept with it
};

struct SampleOrder {
  std::string trial;                             // id, of the attempt's file
  std::string spec;                              // EncodeTrialSpec
  std::string attempt_file, parameters;          // absolute path; digest of its parameters, by the trial's row
  std::string teacher_file, teacher_parameters;  // of the teacher, the same; empty unless it labels
  std::string data_path;                         // where the data set lies: read for an evaluation alone
  std::string folder;                            // absolute, there and empty: the images go into it
  std::string format;                            // a name of ListImageSetFormats()
  SampleLabels labels = SampleLabels::student;
  std::int64_t count = 0;
  std::uint64_t seed = 0;  // of the latents
  bool evaluate = false;   // train a fresh classifier on the images and test it
};

// A fresh classifier, trained on the images and chosen by a part of them, on the test split.
struct SampleEvaluation {
  std::string network;
  std::int64_t training = 0, held_out = 0, test = 0;  // images
  std::int64_t epochs = 0, epoch = 0;                 // trained; the one that was chosen, counted from 1
  double held_out_accuracy = 0;                       // of that one, on the part that chose it
  double accuracy = 0;                                // on the test split
  double frechet_distance = 0;                        // between images and test split, in kFrechetFeatures; may be NaN
};

struct SampleReport {
  std::int64_t channels = 0, height = 0, width = 0;
  std::vector<std::int64_t> labels;  // how many images of each class
  std::string digest;                // SHA-256 of each image's bytes followed by its label as i64, little endian
  std::optional<SampleEvaluation> evaluation;
};

// One JSON object each; round-trips exactly. Error: damage, naming the field.
[[nodiscard]] std::string EncodeSampleOrder(const SampleOrder& order);
[[nodiscard]] Result<SampleOrder> DecodeSampleOrder(const std::string& json);
[[nodiscard]] std::string EncodeSampleReport(const SampleReport& report);
[[nodiscard]] Result<SampleReport> DecodeSampleReport(const std::string& json);

}  // namespace retort::cluster
