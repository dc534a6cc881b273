// What makes two trials the same.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "experiments/base/digests.h"
#include "experiments/methods/canonical_encoding.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/spec_codec.h"
#include "experiments/methods/spec_keys.h"
#include "tests/testing/kind_samples.h"

namespace retort {
namespace {

std::shared_ptr<DataSpec> Digits() {
  auto data = std::make_shared<DataSpec>();
  data->name = "digits";
  data->reader = "idx";
  data->path = "/data";
  data->digest = std::string(64, 'a');
  data->split = {1, {0, 80}, {80, 90}, {90, 100}, {}, {}, {}, {}, {}};
  data->examples = 100;
  return data;
}

// One trial of each kind, and data-free votes beside public ones.
std::vector<TrialSpec> Samples() {
  std::vector<TrialSpec> samples;
  for (const TrialKind kind : kTrialKinds) {
    TrialSpec spec = testing::MakeKindSample(kind);
    // of every reading when the ids below were taken
    spec.distill.dkd_beta = 8;
    spec.generator.information_entropy = TakesRawAnswers(kind) ? 0 : 5;
    spec.data = Digits();
    if (spec.role == Role::student && FindMethod(spec.method)->teachers != 0) spec.parent = TrialId(7);
    if (!IsSleeper(kind)) spec.stop.metric = StopMetric::loss;
    EXPECT_EQ(FindKind(spec), kind);
    samples.push_back(spec);
  }
  samples.push_back(samples[5]);
  samples.back().source = QuerySource::public_split;
  return samples;
}

KeyValue Edited(const SpecKey& key, const TrialSpec& spec) {
  KeyValue value = key.get(spec);
  if (auto* flag = std::get_if<bool>(&value))
    *flag = !*flag;
  else if (auto* text = std::get_if<std::string>(&value))
    *text += "x";
  else if (auto* count = std::get_if<std::int64_t>(&value))
    *count = key.indexed ? *count ^ 1 : *count + 1;
  else if (auto* real = std::get_if<double>(&value))
    *real = std::nextafter(*real, 1e9);
  return value;
}

bool SelectsKind(const SpecKey& key) {
  static const std::set<std::string_view> kSelectors = {"method", "reading", "source", "queries"};
  return kSelectors.contains(key.name);
}

TEST(Identity, EveryIdentityKeyThatAppliesChangesTheId) {
  for (const TrialSpec& spec : Samples()) {
    for (const SpecKey& key : ListSpecKeys()) {
      if (key.set == nullptr || !key.identity || !key.AppliesTo(FindKind(spec), spec.source)) continue;
      TrialSpec edited = spec;
      key.set(edited, Edited(key, spec));
      EXPECT_NE(ComputeTrialId(edited), ComputeTrialId(spec)) << GetKindName(FindKind(spec)) << " " << key.name;
    }
  }
}

TEST(Identity, NoOtherKeyChangesTheId) {
  for (const TrialSpec& spec : Samples()) {
    for (const SpecKey& key : ListSpecKeys()) {
      const bool counts = key.identity && key.AppliesTo(FindKind(spec), spec.source);
      if (key.set == nullptr || counts || SelectsKind(key)) continue;
      TrialSpec edited = spec;
      key.set(edited, Edited(key, spec));
      EXPECT_EQ(ComputeTrialId(edited), ComputeTrialId(spec)) << GetKindName(FindKind(spec)) << " " << key.name;
    }
  }
}

// Results folders name their trials by these: a key that is new leaves them as they are.
TEST(Identity, IdsOfEarlierVersionsStay) {
  const std::vector<TrialSpec> samples = Samples();
  const std::vector<std::string> ids = {"4d00061ff150efce", "acf58ea6db0f8c6c", "32be8749f22ad3d1", "707d2aa3cb244c49",
                                        "65406fe68e4b6e46", "b551f7f525a668ee", "cf7fc2ad964afc56", "135f50892723127a"};
  for (std::size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(ComputeTrialId(samples[i]).Hex(), ids[i]) << GetKindName(FindKind(samples[i]));
  EXPECT_EQ(ComputeTrialId(samples.back()).Hex(), "0582240e9c78410b");
}

TEST(Identity, LoadedTeacherIsIdentifiedByItsBytes) {
  TrialSpec spec = Samples()[static_cast<std::size_t>(TrialKind::loaded_teacher)];
  ASSERT_EQ(FindKind(spec), TrialKind::loaded_teacher);
  spec.weights_digest = std::string(64, 'b');
  TrialSpec elsewhere = spec;
  elsewhere.weights = "/elsewhere/weights.pth";
  elsewhere.seed = 7;
  EXPECT_EQ(ComputeTrialId(elsewhere), ComputeTrialId(spec));
  TrialSpec changed = spec;
  changed.weights_digest[63] = 'c';
  EXPECT_NE(ComputeTrialId(changed), ComputeTrialId(spec));
}

TEST(Identity, OutputsThatAreNotNamedLeaveTheEncoding) {
  TrialSpec spec = Samples()[static_cast<std::size_t>(TrialKind::loaded_teacher)];
  EXPECT_EQ(EncodeCanonically(spec).find("outputs"), std::string::npos);
  spec.outputs = "0 217";
  EXPECT_NE(EncodeCanonically(spec).find("outputs"), std::string::npos);
}

TEST(Identity, ExecutionKeysAreNotIdentity) {
  for (const char* name : {"deadline", "checkpoint_every", "priority", "reserve_block"}) {
    const SpecKey* key = FindKey(name, kInTrial);
    ASSERT_NE(key, nullptr) << name;
    EXPECT_FALSE(key->identity) << name;
  }
}

TEST(Identity, DataContentsAndSplitCountTheirNameAndPlaceDoNot) {
  const TrialSpec spec = Samples()[3];
  const auto with = [&spec](const auto& edit) {
    auto data = Digits();
    edit(*data);
    TrialSpec edited = spec;
    edited.data = data;
    return ComputeTrialId(edited) == ComputeTrialId(spec);
  };
  EXPECT_FALSE(with([](DataSpec& data) { data.digest[3] = 'b'; }));
  EXPECT_FALSE(with([](DataSpec& data) { data.reader = "other"; }));
  EXPECT_FALSE(with([](DataSpec& data) { data.classes = 11; }));
  EXPECT_FALSE(with([](DataSpec& data) { data.split.shuffle = 2; }));
  EXPECT_FALSE(with([](DataSpec& data) { data.split.train.end = 79; }));
  EXPECT_FALSE(with([](DataSpec& data) { data.split.public_range.begin = 81; }));
  EXPECT_FALSE(with([](DataSpec& data) { data.split.test.begin = 91; }));
  EXPECT_TRUE(with([](DataSpec& data) { data.name = "other"; }));
  EXPECT_TRUE(with([](DataSpec& data) { data.path = "/other"; }));
  EXPECT_TRUE(with([](DataSpec& data) { data.budget = Budget{1, 1e-5}; }));
  EXPECT_TRUE(with([](DataSpec& data) { data.published_as = "mnist"; }));
}

TEST(Identity, TheParentCountsAndItsNameDoesNot) {
  const TrialSpec spec = Samples()[3];
  TrialSpec edited = spec;
  edited.parent = TrialId(8);
  EXPECT_NE(ComputeTrialId(edited), ComputeTrialId(spec));
  edited = spec;
  edited.teacher = "another name";
  edited.name = "another name";
  edited.axes = {{"a", "b"}};
  EXPECT_EQ(ComputeTrialId(edited), ComputeTrialId(spec));
}

TEST(Identity, TeachersAndStudentsOfOneMethodDiffer) {
  TrialSpec teacher = Samples()[2];
  TrialSpec student = teacher;
  student.role = Role::student;
  student.source = teacher.source;
  EXPECT_NE(ComputeTrialId(teacher), ComputeTrialId(student));
}

std::uint32_t Length(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

// key -> value bytes; fails on anything that the format in canonical_encoding.cc does not allow.
std::vector<std::pair<std::string, std::string>> Entries(const std::string& bytes) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = Length(bytes, at);
    const std::string key = bytes.substr(at + 4, length);
    at += 4 + length;
    const char type = bytes.at(at++);
    std::size_t size = type == 'b' ? 1 : 8;
    if (type == 's') {
      size = Length(bytes, at);
      at += 4;
    }
    entries.emplace_back(key, bytes.substr(at, size));
    at += size;
    EXPECT_LE(at, bytes.size());
  }
  return entries;
}

TEST(Identity, EncodingIsLengthPrefixedWithSortedUniqueKeys) {
  for (const TrialSpec& spec : Samples()) {
    const auto entries = Entries(EncodeCanonically(spec));
    for (std::size_t i = 1; i < entries.size(); ++i) EXPECT_LT(entries[i - 1].first, entries[i].first);
    EXPECT_EQ(entries[0].second, "retort-trial-1");
  }
}

TEST(Identity, EncodingHoldsTheExactBitsOfDoubles) {
  const auto entries = Entries(EncodeCanonically(Samples()[3]));
  const std::map<std::string, std::string> values(entries.begin(), entries.end());
  const double lr = 1e-3;
  EXPECT_EQ(values.at("lr"), std::string(reinterpret_cast<const char*>(&lr), 8));
  EXPECT_EQ(values.at("reading"), "working");
  EXPECT_EQ(values.at("parent"), "0000000000000007");
}

TEST(Identity, IdIsTheFirstSixteenDigitsOfTheDigest) {
  for (const TrialSpec& spec : Samples()) {
    EXPECT_EQ(ComputeTrialId(spec).Hex(), ComputeSha256Hex(EncodeCanonically(spec)).substr(0, 16));
  }
}

TEST(Identity, Sha256MatchesTheStandard) {
  EXPECT_EQ(ComputeSha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(ComputeSha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace
}  // namespace retort
