// The bytes behind a TrialId. An entry is
//   u32 key length, key, u8 type, value
// with the keys sorted by their bytes; value is u8 (type b), i64 (i), the bits of the double (d), or
// u32 length and bytes (s); integers are little endian. The first entry names the format. Enumerations
// are written by name. Keys that do not apply to the trial are absent, and so are those of
// SpecKey::quiet at their default.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "experiments/spec/sha256.h"
#include "experiments/spec/spec_codec.h"
#include "experiments/spec/spec_keys.h"
#include "experiments/spec/status.h"

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

void AppendSplit(std::string& out, const SplitSpec& split) {
  AppendEntry(out, "data.split.public.begin", split.public_range.begin);
  AppendEntry(out, "data.split.public.end", split.public_range.end);
  AppendEntry(out, "data.split.shuffle", static_cast<std::int64_t>(split.shuffle));
  AppendEntry(out, "data.split.test.begin", split.test.begin);
  AppendEntry(out, "data.split.test.end", split.test.end);
  AppendEntry(out, "data.split.train.begin", split.train.begin);
  AppendEntry(out, "data.split.train.end", split.train.end);
}

// Entries that no key of the table stands for; `stop` is the next key of the table, so that all are sorted.
class Extras {
 public:
  explicit Extras(const TrialSpec& spec) : spec_(spec) {}

  void AppendBefore(std::string& out, std::string_view stop) {
    while (next_ < 6 && kNames[next_] < stop) Append(out, next_++);
  }
  void AppendRest(std::string& out) {
    while (next_ < 6) Append(out, next_++);
  }

 private:
  static constexpr std::string_view kNames[6] = {"data.classes", "data.digest",     "data.reader",
                                                 "data.split",   "method_revision", "parent"};

  void Append(std::string& out, int index) {
    static const DataSpec kNone;
    const DataSpec& data = spec_.data ? *spec_.data : kNone;
    switch (index) {
      case 0:
        AppendEntry(out, kNames[0], data.classes);
        break;
      case 1:
        AppendEntry(out, kNames[1], data.digest);
        break;
      case 2:
        AppendEntry(out, kNames[2], data.reader);
        break;
      case 3:
        AppendSplit(out, data.split);
        break;
      case 4:
        AppendEntry(out, kNames[4], static_cast<std::int64_t>(MethodRevision(spec_)));
        break;
      default:
        if (spec_.parent) AppendEntry(out, kNames[5], spec_.parent->Hex());
    }
  }

  const TrialSpec& spec_;
  int next_ = 0;
};

}  // namespace

int MethodRevision(const TrialSpec& spec) {
  switch (KindOf(spec)) {
    case TrialKind::plain_teacher:
      return 1;
    case TrialKind::ensemble_teacher:
      return 1;
    case TrialKind::dpsgd_teacher:
      return 1;
    case TrialKind::gradient_student:
      return 2;
    case TrialKind::distilled_student:
      return 1;
    case TrialKind::vote_student:
      return 1;
    case TrialKind::dpsgd_student:
      return 1;
    case TrialKind::sleeper:
      return 1;
    case TrialKind::loaded_teacher:
      return 1;
  }
  return 0;
}

std::string CanonicalEncoding(const TrialSpec& spec) {
  static const TrialSpec kDefaults;
  const TrialKind kind = KindOf(spec);
  std::string out;
  out.reserve(1280);
  AppendEntry(out, "!format", "retort-trial-1");
  AppendEntry(out, "!role", spec.role == Role::teacher ? "teacher" : "student");
  Extras extras(spec);
  for (const std::uint8_t index : IdentityOrder()) {
    const SpecKey& key = SpecKeys()[index];
    if (!key.AppliesTo(kind, spec.source)) continue;
    if (spec.stop_metric == StopMetric::none && key.name.starts_with("stop_")) continue;
    if ((key.quiet & MaskOf(kind)) != 0 && key.get(spec) == key.get(kDefaults)) continue;
    extras.AppendBefore(out, key.name);
    AppendEntry(out, key, key.get(spec));
  }
  extras.AppendRest(out);
  return out;
}

TrialId ComputeTrialId(const TrialSpec& spec) {
  const auto digest = Sha256Of(CanonicalEncoding(spec));
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 8; ++i) bits = (bits << 8) | digest[i];
  return TrialId(bits);
}

}  // namespace retort
