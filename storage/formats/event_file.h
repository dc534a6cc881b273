// Event files as TensorBoard reads them. A file is a row of records: length u64, its checksum u32, the bytes, their
// checksum u32, where a checksum is the CRC-32C rotated by 15 bits with 0xA282EAD8 added (TFRecord). Each record is a
// message `Event` of tensorflow/core/util/event.proto, encoded as protobuf.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/byte_codec.h"

namespace retort::storage {

// A setting of a run as the hyperparameter page shows it: a number where `number` is set.
struct Hyperparameter {
  std::string name, text;
  bool is_number = false;
  double number = 0;
};

// How a number becomes float32: to the nearest one; to the least that is not below it, for upper bounds; to the largest
// that is not above it, for lower ones.
enum class Rounding : unsigned char { nearest, up, down };
// Infinity and NaN stay. What lies beyond the range becomes infinite, or the last finite number where the other way is
// asked for.
[[nodiscard]] float RoundToFloat(double value, Rounding rounding);

// Builds one file in memory. Times are unix seconds. Names ("tags") may be any text; TensorBoard groups them by what
// stands before the first slash.
class EventFile {
 public:
  // Begins with the record that names the version.
  explicit EventFile(double at);

  // One point of a curve. TensorBoard keeps float32: `value` is rounded to it.
  void AddScalar(std::string_view tag, std::int64_t step, double at, double value,
                 Rounding rounding = Rounding::nearest);
  // Markdown.
  void AddText(std::string_view tag, double at, std::string_view text);
  // The settings of the run, which began and ended at these times. `succeeded`: false for one that failed.
  void AddHyperparameters(const std::vector<Hyperparameter>& settings, double began, double ended, bool succeeded);

  [[nodiscard]] std::string Take() && { return std::move(bytes_).Take(); }

 private:
  void AddRecord(std::string_view event);
  void AddSummary(double at, std::int64_t step, std::string_view value);
  void AddPlugin(std::string_view tag, double at, std::string_view plugin, std::string_view content);
  ByteWriter bytes_;
};

// The file name that TensorBoard looks for: "events.out.tfevents.1732838400.retort".
[[nodiscard]] std::string FormatEventFileName(double at);

}  // namespace retort::storage
