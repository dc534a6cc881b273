// The bytes behind a TrialId. An entry is
//   u32 key length, key, u8 type, value
// with the keys sorted by their bytes; value is u8 (type b), i64 (i), the bits of the double (d), or
// u32 length and bytes (s); integers are little endian. The first entry names the format. Enumerations
// are written by name. Keys that do not apply to the trial are absent, and so are those of
// SpecKey::quiet at their default.
#include "experiments/methods/canonical_encoding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "experiments/base/digests.h"
#include "experiments/base/number_text.h"
#include "experiments/base/status.h"
#include "experiments/methods/data_spec.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/networks.h"
#include "experiments/methods/spec_keys.h"

namespace retort {
namespace {

template <typename T>
void AppendLittleEndian(std::string& out, T value) {
  for (unsigned i = 0; i < sizeof(T); ++i) out += static_cast<char>((value >> (8 * i)) & 255U);
}

void AppendText(std::string& out, std::string_view text) {
  AppendLittleEndian(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

void AppendEntry(std::string& out, std::string_view key, std::string_view text) {
  AppendText(out, key);
  out += 's';
  AppendText(out, text);
}

void AppendEntry(std::string& out, std::string_view key, std::int64_t value) {
  AppendText(out, key);
  out += 'i';
  AppendLittleEndian(out, static_cast<std::uint64_t>(value));
}

void AppendEntry(std::string& out, const SpecKey& key, const KeyValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return AppendEntry(out, key.name, *text);
  if (const auto* count = std::get_if<std::int64_t>(&value)) {
    if (key.indexed) return AppendEntry(out, key.name, key.choices[static_cast<std::size_t>(*count)]);
    return AppendEntry(out, key.name, *count);
  }
  AppendText(out, key.name);
  if (const bool* flag = std::get_if<bool>(&value)) {
    out += 'b';
    out += *flag ? '\1' : '\0';
  } else {
    out += 'd';
    AppendLittleEndian(out, std::bit_cast<std::uint64_t>(std::get<double>(value)));
  }
}

// Appends what distinguishes sources with equal ranges: nothing for ranges over all examples.
void AppendSource(std::string& out, const std::string& name, const SplitSource& source) {
  if (!source.list.empty()) AppendEntry(out, name + ".list", source.digest);
  if (!source.part.empty()) AppendEntry(out, name + ".part", source.part);
}

void AppendSplit(std::string& out, const SplitSpec& split) {
  AppendEntry(out, "data.split.public.begin", split.public_range.begin);
  AppendEntry(out, "data.split.public.end", split.public_range.end);
  AppendSource(out, "data.split.public", split.public_source);
  AppendEntry(out, "data.split.shuffle", static_cast<std::int64_t>(split.shuffle));
  AppendEntry(out, "data.split.test.begin", split.test.begin);
  AppendEntry(out, "data.split.test.end", split.test.end);
  AppendSource(out, "data.split.test", split.test_source);
  AppendEntry(out, "data.split.train.begin", split.train.begin);
  AppendEntry(out, "data.split.train.end", split.train.end);
  AppendSource(out, "data.split.train", split.train_source);
  if (split.validation.size() == 0) return;
  AppendEntry(out, "data.split.validation.begin", split.validation.begin);
  AppendEntry(out, "data.split.validation.end", split.validation.end);
  AppendSource(out, "data.split.validation", split.validation_source);
}

// "0.4914 0.4822 0.4465"; empty where the constants of IDX files stand as they are.
std::string ScaleText(const DataSpec& data, const std::vector<double> PixelScale::*which) {
  if (data.reader == "idx" && data.mean.empty()) return "";
  const PixelScale scale = FindPixelScale(data);
  std::string text;
  for (const double value : scale.*which) text += (text.empty() ? "" : " ") + FormatReal(value);
  return text;
}

// "crop_top 0.08 resize 0 size 224 224 crop 0"; empty where images are taken as they are.
std::string PreprocessingText(const Preprocessing& p) {
  if (p == Preprocessing()) return "";
  std::string text = "crop_top " + FormatReal(p.crop_top) + " resize " + std::to_string(p.resize) + " size " +
                     std::to_string(p.height) + " " + std::to_string(p.width) + " crop " + std::to_string(p.crop);
  if (p.exif_orientation) text += " exif";
  if (p.on_error == OnError::skip_and_count) text += " skip";
  return text;
}

// "6 9"
std::string ClassesText(const std::vector<std::int64_t>& classes) {
  std::string text;
  for (const std::int64_t label : classes) text += (text.empty() ? "" : " ") + std::to_string(label);
  return text;
}

// Entries that have no key in the table. `stop` is the next key of the table, so that all entries come out sorted.
class Extras {
 public:
  explicit Extras(const TrialSpec& spec) : spec_(spec) {}

  void AppendBefore(std::string& out, std::string_view stop) {
    while (next_ < kNames.size() && kNames[next_] < stop) Append(out, kNames[next_++]);
  }
  void AppendRest(std::string& out) {
    while (next_ < kNames.size()) Append(out, kNames[next_++]);
  }

 private:
  static constexpr std::array<std::string_view, 17> kNames = {"data.classes",
                                                              "data.digest",
                                                              "data.mean",
                                                              "data.preprocessing",
                                                              "data.reader",
                                                              "data.sensitive_classes",
                                                              "data.split",
                                                              "data.std",
                                                              "data.target",
                                                              "data.version",
                                                              "draw",
                                                              "generator.layers",
                                                              "method_revision",
                                                              "network.layers",
                                                              "parent",
                                                              "score",
                                                              "score_noise"};

  static void AppendUnlessEmpty(std::string& out, std::string_view name, const std::string& text) {
    if (!text.empty()) AppendEntry(out, name, text);
  }

  void Append(std::string& out, std::string_view name) {
    static const DataSpec kNone;
    const DataSpec& data = spec_.data ? *spec_.data : kNone;
    if (name == "data.classes") return AppendEntry(out, name, data.classes);
    if (name == "data.digest") return AppendEntry(out, name, data.digest);
    if (name == "data.mean" && spec_.data) return AppendUnlessEmpty(out, name, ScaleText(data, &PixelScale::mean));
    if (name == "data.preprocessing") return AppendUnlessEmpty(out, name, PreprocessingText(data.preprocessing));
    if (name == "data.reader") return AppendEntry(out, name, data.reader);
    if (name == "data.sensitive_classes") return AppendUnlessEmpty(out, name, ClassesText(data.sensitive_classes));
    if (name == "data.split") return AppendSplit(out, data.split);
    if (name == "data.std" && spec_.data) return AppendUnlessEmpty(out, name, ScaleText(data, &PixelScale::std));
    if (name == "data.target") return AppendUnlessEmpty(out, name, data.target);
    if (name == "data.version") return AppendUnlessEmpty(out, name, data.version);
    if (name == "draw") return AppendUnlessEmpty(out, name, spec_.draw);
    if (name == "generator.layers")
      return AppendUnlessEmpty(out, name, spec_.generator.layers ? *spec_.generator.layers : "");
    if (name == "score") return AppendUnlessEmpty(out, name, spec_.score);
    if (name == "score_noise")
      return AppendUnlessEmpty(out, name, spec_.score_noise > 0 ? FormatExactNumber(spec_.score_noise) : "");
    if (name == "method_revision") return AppendEntry(out, name, static_cast<std::int64_t>(GetMethodRevision(spec_)));
    if (name == "network.layers") return AppendUnlessEmpty(out, name, spec_.layers ? *spec_.layers : "");
    if (name == "parent" && spec_.parent) AppendEntry(out, name, spec_.parent->Hex());
  }

  const TrialSpec& spec_;
  std::size_t next_ = 0;
};

}  // namespace

std::string EncodeCanonically(const TrialSpec& spec) {
  static const TrialSpec kDefaults;
  const TrialKind kind = FindKind(spec);
  std::string out;
  out.reserve(1280);
  AppendEntry(out, "!format", "retort-trial-1");
  AppendEntry(out, "!role", spec.role == Role::teacher ? "teacher" : "student");
  Extras extras(spec);
  for (const std::uint8_t index : GetIdentityOrder()) {
    const SpecKey& key = ListSpecKeys()[index];
    if (!key.AppliesTo(kind, spec.source)) continue;
    if (spec.stop.metric == StopMetric::none && key.name.starts_with("stop_")) continue;
    if ((key.quiet & MakeMask(kind)) != 0 && key.get(spec) == key.get(kDefaults)) continue;
    if (key.name == "generator_width" && spec.generator.layers) continue;  // the layers have widths of their own
    // Of dp-merf the one of the zoo, as `generator` is younger than its trials.
    if (key.name == "generator" && spec.generator.network == kClassGenerator) continue;
    extras.AppendBefore(out, key.name);
    AppendEntry(out, key, key.get(spec));
  }
  extras.AppendRest(out);
  return out;
}

TrialId ComputeTrialId(const TrialSpec& spec) {
  const auto digest = ComputeSha256(EncodeCanonically(spec));
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 8; ++i) bits = (bits << 8) | digest[i];
  return TrialId(bits);
}

}  // namespace retort
