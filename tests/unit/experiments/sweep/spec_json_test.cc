#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "experiments/methods/canonical_encoding.h"
#include "experiments/methods/spec_codec.h"
#include "experiments/methods/spec_keys.h"
#include "experiments/methods/teacher_outputs.h"

namespace retort {
namespace {

// Every field away from its default.
TrialSpec Unusual() {
  TrialSpec spec;
  for (const SpecKey& key : ListSpecKeys()) {
    if (key.set == nullptr) continue;
    KeyValue value = key.get(spec);
    if (auto* flag = std::get_if<bool>(&value))
      *flag = !*flag;
    else if (auto* text = std::get_if<std::string>(&value))
      *text = key.type == KeyType::indices ? "2 0" : key.choices.empty() ? "other" : key.choices.back();
    else if (auto* count = std::get_if<std::int64_t>(&value))
      *count = key.indexed ? *count ^ 1 : *count + 7;
    else if (auto* real = std::get_if<double>(&value))
      *real = std::nextafter(*real + 1.0 / 3, 10);
    key.set(spec, value);
  }
  auto data = std::make_shared<DataSpec>();
  data->name = "digits";
  data->reader = "idx";
  data->path = "/somewhere/else";
  data->digest = std::string(64, 'f');
  data->published_as = "mnist";
  data->split = {5, {0, 10}, {10, 20}, {20, 28}, {28, 30}, {}, {}, {}, {"", "/lists/apart.txt", "", 0, false}};
  data->budget = Budget{3.5, 1e-6};
  data->examples = 30;
  data->channels = 3;
  data->height = 32;
  data->width = 31;
  data->classes = 26;
  spec.data = data;
  spec.role = Role::teacher;
  spec.teacher = "single";
  spec.parent = TrialId(0x123456789abcdef0U);
  spec.id = TrialId(0xfedcba9876543210U);
  spec.seed = std::numeric_limits<std::int64_t>::max();
  spec.name = "teacher-single-digits-s0";
  spec.score = "validation.accuracy";
  spec.score_noise = 1.0 / 3;
  spec.axes = {{"sigma", "50"}, {"reading", "working"}};
  return spec;
}

TEST(SpecJson, EveryKeyComesBackExactly) {
  const TrialSpec spec = Unusual();
  const auto decoded = DecodeTrialSpec(EncodeTrialSpec(spec));
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  for (const SpecKey& key : ListSpecKeys()) EXPECT_EQ(key.get(*decoded), key.get(spec)) << key.name;
  EXPECT_EQ(decoded->role, spec.role);
  EXPECT_EQ(decoded->teacher, spec.teacher);
  EXPECT_EQ(decoded->parent, spec.parent);
  EXPECT_EQ(decoded->id, spec.id);
  EXPECT_EQ(decoded->name, spec.name);
  EXPECT_EQ(decoded->axes, spec.axes);
  EXPECT_EQ(decoded->score, spec.score);
  EXPECT_EQ(decoded->score_noise, spec.score_noise);
  EXPECT_EQ(decoded->data->split.validation, spec.data->split.validation);
  EXPECT_EQ(decoded->data->split.validation_source, spec.data->split.validation_source);
  EXPECT_EQ(EncodeTrialSpec(*decoded), EncodeTrialSpec(spec));
  EXPECT_EQ(EncodeCanonically(*decoded), EncodeCanonically(spec));
}

TEST(SpecJson, ReaderAgreesWithTheDecoderAndSharesTheDataSet) {
  TrialSpecReader reader;
  TrialSpec spec = Unusual();
  std::shared_ptr<const DataSpec> data;
  for (int i = 0; i < 3; ++i) {
    spec.seed = static_cast<std::uint64_t>(i);
    const auto read = reader.Read(EncodeTrialSpec(spec));
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(EncodeTrialSpec(*read), EncodeTrialSpec(spec));
    if (i > 0) {
      EXPECT_EQ(read->data, data);
    }
    data = read->data;
  }
  auto other = std::make_shared<DataSpec>(*spec.data);
  other->path = "/els\"ewhere{";
  spec.data = other;
  spec.name = "escaped \"name\"";
  for (int i = 0; i < 2; ++i) {
    const auto read = reader.Read(EncodeTrialSpec(spec));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(EncodeTrialSpec(*read), EncodeTrialSpec(spec));
  }
}

TEST(SpecJson, ReaderIsNoLessStrictThanTheDecoder) {
  const std::string whole = EncodeTrialSpec(Unusual());
  TrialSpecReader reader;
  ASSERT_TRUE(reader.Read(whole).ok());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string cut = whole.substr(0, i) + whole.substr(i + 1);
    const auto thorough = DecodeTrialSpec(cut);
    const auto read = reader.Read(cut);
    ASSERT_EQ(read.ok(), thorough.ok()) << cut;
    if (read.ok()) {
      EXPECT_EQ(EncodeTrialSpec(*read), EncodeTrialSpec(*thorough)) << i;
    }
    ASSERT_TRUE(reader.Read(whole).ok());
  }
}

// Readers that take the first and the last of two values would run another trial than was planned.
// Before dp-merf had the key, its trials were written with the generator of other methods.
TEST(SpecJson, TrialsOfDpMerfHaveItsGenerator) {
  TrialSpec spec;
  spec.method = "dp-merf";
  spec.data = std::make_shared<DataSpec>();
  for (const char* written : {"dafl", "fast", "dp-merf"}) {
    spec.generator.network = written;
    TrialSpecReader reader;
    ASSERT_TRUE(reader.Read(EncodeTrialSpec(TrialSpec(spec))).ok());  // then it scans
    for (const auto& read : {DecodeTrialSpec(EncodeTrialSpec(spec)), reader.Read(EncodeTrialSpec(spec))}) {
      ASSERT_TRUE(read.ok());
      EXPECT_EQ(read->generator.network, "dp-merf");
    }
  }
  spec.generator.network = "dafl";
  EXPECT_EQ(ComputeTrialId(DecodeTrialSpec(EncodeTrialSpec(spec)).value()), ComputeTrialId(spec));
  spec.method = "dpdfd";
  EXPECT_EQ(DecodeTrialSpec(EncodeTrialSpec(spec))->generator.network, "dafl");
}

TEST(SpecJson, RepeatedKeysAreRefused) {
  const std::string whole = EncodeTrialSpec(Unusual());
  const std::string inside = whole.substr(1, whole.size() - 2);
  TrialSpecReader reader;
  for (const std::string& twice :
       {"{\"data\":\"student\"," + inside + "}", "{" + inside + ",\"data\":{}}", "{" + inside + "," + inside + "}",
        "{\"seed\":1," + inside + "}", "{" + inside + ",\"axes\":[]}", "{\"role\":\"teacher\"," + inside + "}"}) {
    for (int again = 0; again < 3; ++again) EXPECT_FALSE(reader.Read(twice).ok()) << twice;
    EXPECT_NE(DecodeTrialSpec(twice).status().message().find("stands there twice"), std::string::npos);
    const auto right = reader.Read(whole);
    ASSERT_TRUE(right.ok());
    EXPECT_EQ(EncodeTrialSpec(*right), whole);
  }
  EXPECT_FALSE(DecodeTrialSpec("{\"data\":{\"name\":\"a\",\"name\":\"b\"}}").ok());
}

TEST(SpecJson, NumbersThatNoIntegerHoldsAreRefused) {
  const std::string whole = EncodeTrialSpec(Unusual());
  for (const std::string key :
       {"\"seed\":", "\"steps\":", "\"shuffle\":", "\"examples\":", "\"classes\":", "\"train\":["})
    for (const std::string number : {"1e95", "-1e95", "2.5", "99999999999999999999", "true", "null"}) {
      const std::size_t begin = whole.find(key) + key.size();
      const std::size_t end = whole.find_first_of(",]}", begin);
      const std::string json = whole.substr(0, begin) + number + whole.substr(end);
      EXPECT_FALSE(DecodeTrialSpec(json).ok()) << json;
    }
}

TEST(SpecJson, DataSetComesBackExactly) {
  const TrialSpec spec = Unusual();
  const auto decoded = DecodeTrialSpec(EncodeTrialSpec(spec));
  ASSERT_TRUE(decoded.ok());
  ASSERT_NE(decoded->data, nullptr);
  EXPECT_EQ(decoded->data->path, "/somewhere/else");
  EXPECT_EQ(decoded->data->published_as, "mnist");
  EXPECT_EQ(decoded->data->split.shuffle, 5U);
  EXPECT_EQ(decoded->data->split.public_range, (IndexRange{10, 20}));
  EXPECT_EQ(decoded->data->budget->epsilon, 3.5);
  EXPECT_EQ(decoded->data->budget->delta, 1e-6);
  EXPECT_EQ(decoded->data->channels, 3);
  EXPECT_EQ(decoded->data->width, 31);
  EXPECT_EQ(decoded->data->classes, 26);
}

TEST(SpecJson, DefaultSpecWithoutDataComesBack) {
  const auto decoded = DecodeTrialSpec(EncodeTrialSpec(TrialSpec{}));
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(EncodeTrialSpec(*decoded), EncodeTrialSpec(TrialSpec{}));
  EXPECT_EQ(decoded->data, nullptr);
  EXPECT_FALSE(decoded->parent.has_value());
}

TEST(SpecJson, KeysThatAreAbsentKeepTheirDefaults) {
  const auto decoded = DecodeTrialSpec(R"({"role":"student","sigma":5.0})");
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->release.sigma, 5);
  EXPECT_EQ(decoded->batch, TrialSpec{}.batch);
}

TEST(SpecJson, WhatItCannotKeepIsRefused) {
  for (const char* bad : {"", "{", "[]", R"({"sigmaa":1})", R"({"sigma":"x"})", R"({"reading":"wrong"})",
                          R"({"steps":1.5})", R"({"id":"12"})", R"({"data":{}})", R"({"steps":null})"}) {
    const auto decoded = DecodeTrialSpec(bad);
    EXPECT_FALSE(decoded.ok()) << bad;
    EXPECT_EQ(decoded.status().code(), StatusCode::damage) << bad;
  }
}

TEST(SpecJson, OutputsComeBackAndOtherTextIsRefused) {
  TrialSpec spec;
  spec.outputs = "0 217 482";
  const Result<TrialSpec> back = DecodeTrialSpec(EncodeTrialSpec(spec));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->outputs, "0 217 482");
  for (const char* bad : {"x", "1,2", "3 3", "-1", "1 ", " 1", "1  2", "99999999999999999999"}) {
    EXPECT_FALSE(DecodeTrialSpec(std::string(R"({"outputs":")") + bad + "\"}").ok()) << bad;
    EXPECT_FALSE(ParseOutputs(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace retort
