// What the rows of the key table are written with.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "experiments/spec/spec_keys.h"

namespace retort::keys {

inline constexpr KindMask kPlain = MaskOf(TrialKind::plain_teacher);
inline constexpr KindMask kEnsemble = MaskOf(TrialKind::ensemble_teacher);
inline constexpr KindMask kDpsgd = MaskOf(TrialKind::dpsgd_teacher) | MaskOf(TrialKind::dpsgd_student);
inline constexpr KindMask kGradient = MaskOf(TrialKind::gradient_student);
inline constexpr KindMask kDistilled = MaskOf(TrialKind::distilled_student);
inline constexpr KindMask kLabelled = MaskOf(TrialKind::labelled_student);
inline constexpr KindMask kVotes = MaskOf(TrialKind::vote_student);
inline constexpr KindMask kResponse = MaskOf(TrialKind::response_student);
inline constexpr KindMask kQuery = MaskOf(TrialKind::query_student);
inline constexpr KindMask kRaw = MaskOf(TrialKind::raw_student);
inline constexpr KindMask kMerf = MaskOf(TrialKind::merf_student);
inline constexpr KindMask kLabel = MaskOf(TrialKind::label_student);
inline constexpr KindMask kFederated = MaskOf(TrialKind::federated_student);
inline constexpr KindMask kSpectral = MaskOf(TrialKind::spectral_student);
inline constexpr KindMask kGenerating = kGradient | kResponse | kRaw | kDistilled | kVotes;  // where the source is the generator
inline constexpr KindMask kDrawing = kGenerating & ~kRaw;               // where the source is procedural
inline constexpr KindMask kAsking = kGenerating | kQuery | kLabelled;  // students of a teacher
inline constexpr KindMask kPasses = kPlain | kMerf | kLabel | kFederated;  // that go over labelled examples in epochs
inline constexpr KindMask kLoaded = MaskOf(TrialKind::loaded_teacher);
inline constexpr KindMask kTrained = kPlain | kEnsemble | MaskOf(TrialKind::dpsgd_teacher);
inline constexpr KindMask kTeachers = kTrained | kLoaded;
inline constexpr KindMask kStudents = kAsking | kMerf | kLabel | kFederated | kSpectral | MaskOf(TrialKind::dpsgd_student);
inline constexpr KindMask kAll = kTrained | kStudents;  // that train something
inline constexpr KindMask kSleep = MaskOf(TrialKind::sleeper);

template <auto Field>
using FieldOf = std::remove_cvref_t<decltype(std::declval<TrialSpec&>().*Field)>;

template <auto Field>
KeyValue Get(const TrialSpec& spec) {
  using T = FieldOf<Field>;
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>)
    return spec.*Field;
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(spec.*Field);
  else
    return static_cast<std::int64_t>(spec.*Field);
}

template <auto Field>
void Set(TrialSpec& spec, const KeyValue& value) {
  using T = FieldOf<Field>;
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>)
    spec.*Field = std::get<T>(value);
  else if constexpr (std::is_floating_point_v<T>)
    spec.*Field = static_cast<T>(std::get<double>(value));
  else
    spec.*Field = static_cast<T>(std::get<std::int64_t>(value));
}

constexpr std::uint8_t PlacesOf(KindMask kinds) {
  return static_cast<std::uint8_t>(((kinds & (kStudents | kSleep)) != 0 ? kInTrial : kNowhere) |
                                   ((kinds & kTeachers) != 0 ? kInTeacher : kNowhere));
}

template <auto Field>
constexpr SpecKey Row(std::string_view name, Limits limits, KindMask kinds, std::string_view doc) {
  using T = FieldOf<Field>;
  SpecKey key;
  key.name = name;
  key.type = std::is_same_v<T, bool>       ? KeyType::flag
             : std::is_floating_point_v<T> ? KeyType::number
                                           : KeyType::count;
  key.get = Get<Field>;
  key.set = Set<Field>;
  key.limits = limits;
  key.kinds = kinds;
  key.places = PlacesOf(kinds);
  key.doc = doc;
  return key;
}

template <auto Field>
constexpr SpecKey Choice(std::string_view name, std::span<const std::string_view> choices, KindMask kinds,
                         std::string_view doc) {
  SpecKey key = Row<Field>(name, {}, kinds, doc);
  key.type = KeyType::choice;
  key.choices = choices;
  key.indexed = std::is_enum_v<FieldOf<Field>>;
  return key;
}

template <auto Field>
constexpr SpecKey Duration(std::string_view name, Limits limits, KindMask kinds, std::string_view doc) {
  SpecKey key = Row<Field>(name, limits, kinds, doc);
  key.type = KeyType::duration;
  return key;
}

template <auto Field>
constexpr SpecKey Text(std::string_view name, KeyType type, KindMask kinds, std::string_view doc) {
  SpecKey key = Row<Field>(name, {}, kinds, doc);
  key.type = type;
  key.identity = type != KeyType::path;
  return key;
}

constexpr SpecKey Named(std::string_view name, KeyValue (*get)(const TrialSpec&), KindMask kinds,
                        std::string_view doc) {
  SpecKey key;
  key.name = name;
  key.type = KeyType::name;
  key.get = get;
  key.kinds = kinds;
  key.places = kInTrial;
  key.identity = false;  // the digest and the parent's id stand for them
  key.doc = doc;
  return key;
}

constexpr SpecKey As(std::string_view trial_name, SpecKey key) {
  key.trial_name = trial_name;
  return key;
}
constexpr SpecKey Only(std::uint8_t places, SpecKey key) {
  key.places = places;
  return key;
}
constexpr SpecKey ZeroIs(std::string_view word, SpecKey key) {
  key.zero_word = word;
  return key;
}
constexpr SpecKey Inherited(SpecKey key) {
  key.inherited = true;
  return key;
}
constexpr SpecKey Execution(SpecKey key) {
  key.identity = false;
  key.inherited = true;
  return key;
}
// Used by trials of these kinds too, where that is their source.
constexpr SpecKey WithSource(QuerySource source, KindMask kinds, SpecKey key) {
  key.source_kinds.at(static_cast<std::size_t>(source)) = kinds;
  key.places = static_cast<std::uint8_t>(key.places | PlacesOf(kinds));
  return key;
}
constexpr SpecKey Generated(KindMask kinds, SpecKey key) { return WithSource(QuerySource::generator, kinds, key); }
constexpr SpecKey Procedural(KindMask kinds, SpecKey key) { return WithSource(QuerySource::procedural, kinds, key); }
constexpr SpecKey Public(KindMask kinds, SpecKey key) { return WithSource(QuerySource::public_split, kinds, key); }
constexpr SpecKey Mixed(KindMask kinds, SpecKey key) { return WithSource(QuerySource::public_mixes, kinds, key); }
// These kinds too, where their queries are made: by the generator or a procedure.
constexpr SpecKey Made(KindMask kinds, SpecKey key) { return Generated(kinds, Procedural(kinds, key)); }
constexpr SpecKey Quiet(KindMask kinds, SpecKey key) {
  key.quiet = kinds;
  return key;
}
constexpr SpecKey Quiet(SpecKey key) { return Quiet(key.kinds, key); }

// Of students that are fitted to a set of labelled pictures, public or drawn.
constexpr SpecKey Fitted(SpecKey key) { return Procedural(kVotes, Public(kVotes | kLabelled | kSpectral, key)); }

constexpr Limits From(double least, double most) { return {least, most, false}; }
constexpr Limits Above(double least, double most) { return {least, most, true}; }
inline constexpr Limits kCounts = From(1, 1e12);
inline constexpr Limits kFraction = From(0, 1);
inline constexpr Limits kWeight = From(0, 1e6);
inline constexpr Limits kRate = Above(0, 1e6);

}  // namespace retort::keys
