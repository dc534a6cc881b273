#include "storage/formats/event_file.h"

#include <bit>
#include <cmath>
#include <limits>

#include "experiments/base/digests.h"
#include "storage/formats/protobuf_message.h"

namespace retort::storage {
namespace {

// Fields by their numbers in the protobuf files of TensorBoard 2: event.proto, summary.proto, tensor.proto,
// plugins/hparams/plugin_data.proto and google/protobuf/struct.proto.
namespace field {
constexpr std::uint32_t kEventTime = 1, kEventStep = 2, kEventVersion = 3, kEventSummary = 5;
constexpr std::uint32_t kSummaryValue = 1;
constexpr std::uint32_t kValueTag = 1, kValueNumber = 2, kValueTensor = 8, kValueMetadata = 9;
constexpr std::uint32_t kMetadataPlugin = 1, kMetadataClass = 4;
constexpr std::uint32_t kPluginName = 1, kPluginContent = 2;
constexpr std::uint32_t kTensorType = 1, kTensorShape = 2, kTensorString = 8;
constexpr std::uint32_t kShapeDimension = 2, kDimensionSize = 1;
constexpr std::uint32_t kHparamsStart = 3, kHparamsEnd = 4;
constexpr std::uint32_t kStartSetting = 1, kStartTime = 5, kEndStatus = 1, kEndTime = 2;
constexpr std::uint32_t kMapKey = 1, kMapValue = 2;
constexpr std::uint32_t kStructNumber = 2, kStructText = 3;
}  // namespace field

constexpr std::uint64_t kFloatTensor = 1, kStringTensor = 7;  // DataType
constexpr std::uint64_t kTensorClass = 2;                     // DataClass DATA_CLASS_TENSOR
constexpr std::uint64_t kSuccess = 1, kFailure = 2;           // Status of a session
constexpr std::uint32_t kMaskAddend = 0xA282EAD8;             // of TFRecord's checksums
constexpr std::string_view kVersion = "brain.Event:2";

using Message = ProtobufMessage;

std::uint32_t MaskedChecksum(std::string_view bytes) { return std::rotr(ComputeCrc32c(bytes), 15) + kMaskAddend; }

float RoundToNearest(double value) {
  constexpr double kMax = std::numeric_limits<float>::max();
  if (std::abs(value) <= kMax || std::isnan(value)) return static_cast<float>(value);
  return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(value > 0 ? 1 : -1));
}

std::string EncodeMetadata(std::string_view plugin, std::string_view content) {
  Message data;
  data.Bytes(field::kPluginName, plugin);
  if (!content.empty()) data.Bytes(field::kPluginContent, content);
  return Message().Bytes(field::kMetadataPlugin, data.bytes()).Integer(field::kMetadataClass, kTensorClass).bytes();
}

std::string EncodeSetting(const Hyperparameter& setting) {
  Message value;
  if (setting.is_number)
    value.Double(field::kStructNumber, setting.number);
  else
    value.Bytes(field::kStructText, setting.text);
  return Message().Bytes(field::kMapKey, setting.name).Bytes(field::kMapValue, value.bytes()).bytes();
}

}  // namespace

float RoundToFloat(double value, Rounding rounding) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nearest = RoundToNearest(value);
  if (rounding == Rounding::up && nearest < value) return std::nextafter(nearest, kInfinity);
  if (rounding == Rounding::down && nearest > value) return std::nextafter(nearest, -kInfinity);
  return nearest;
}

EventFile::EventFile(double at) {
  AddRecord(Message().Double(field::kEventTime, at).Bytes(field::kEventVersion, kVersion).bytes());
}

void EventFile::AddRecord(std::string_view event) {
  ByteWriter length;
  length.U64(event.size());
  bytes_.Raw(length.bytes());
  bytes_.U32(MaskedChecksum(length.bytes()));
  bytes_.Raw(event);
  bytes_.U32(MaskedChecksum(event));
}

void EventFile::AddSummary(double at, std::int64_t step, std::string_view value) {
  const std::string summary = Message().Bytes(field::kSummaryValue, value).bytes();
  Message event;
  event.Double(field::kEventTime, at);
  if (step != 0) event.Integer(field::kEventStep, static_cast<std::uint64_t>(step));
  AddRecord(event.Bytes(field::kEventSummary, summary).bytes());
}

void EventFile::AddScalar(std::string_view tag, std::int64_t step, double at, double value, Rounding rounding) {
  const float rounded = RoundToFloat(value, rounding);
  AddSummary(at, step, Message().Bytes(field::kValueTag, tag).Float(field::kValueNumber, rounded).bytes());
}

void EventFile::AddText(std::string_view tag, double at, std::string_view text) {
  const std::string dimension = Message().Integer(field::kDimensionSize, 1).bytes();
  const std::string tensor = Message()
                                 .Integer(field::kTensorType, kStringTensor)
                                 .Bytes(field::kTensorShape, Message().Bytes(field::kShapeDimension, dimension).bytes())
                                 .Bytes(field::kTensorString, text)
                                 .bytes();
  AddSummary(at, 0,
             Message()
                 .Bytes(field::kValueTag, tag)
                 .Bytes(field::kValueTensor, tensor)
                 .Bytes(field::kValueMetadata, EncodeMetadata("text", ""))
                 .bytes());
}

// The plugin's data stand in the metadata. The tensor is empty, and there, since values without one are not read.
void EventFile::AddPlugin(std::string_view tag, double at, std::string_view plugin, std::string_view content) {
  const std::string empty = Message().Bytes(field::kShapeDimension, "").bytes();
  AddSummary(at, 0,
             Message()
                 .Bytes(field::kValueTag, tag)
                 .Bytes(field::kValueTensor,
                        Message().Integer(field::kTensorType, kFloatTensor).Bytes(field::kTensorShape, empty).bytes())
                 .Bytes(field::kValueMetadata, EncodeMetadata(plugin, content))
                 .bytes());
}

void EventFile::AddHyperparameters(const std::vector<Hyperparameter>& settings, double began, double ended,
                                   bool succeeded) {
  Message start;
  for (const Hyperparameter& setting : settings) start.Bytes(field::kStartSetting, EncodeSetting(setting));
  start.Double(field::kStartTime, began);
  const Message end =
      Message().Integer(field::kEndStatus, succeeded ? kSuccess : kFailure).Double(field::kEndTime, ended);
  AddPlugin("_hparams_/session_start_info", began, "hparams",
            Message().Bytes(field::kHparamsStart, start.bytes()).bytes());
  AddPlugin("_hparams_/session_end_info", ended, "hparams", Message().Bytes(field::kHparamsEnd, end.bytes()).bytes());
}

std::string FormatEventFileName(double at) {
  return "events.out.tfevents." + std::to_string(static_cast<std::int64_t>(at)) + ".retort";
}

}  // namespace retort::storage
