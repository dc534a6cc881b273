#include "experiments/base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace retort {
namespace {

std::string Library(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

TEST(JsonWriter, WritesWhatTheLibraryWrites) {
  JsonWriter json;
  json.BeginObject().Key("a").Integer(-7).Key("b").BeginArray().Flag(true).Text("x").BeginArray().EndArray();
  json.EndArray().Key("c").BeginObject().EndObject().Key("d").Raw("{\"e\":null}").Key("f").Number(0.25).EndObject();
  EXPECT_EQ(json.Take(), Library({{"a", -7},
                                  {"b", {true, "x", nlohmann::ordered_json::array()}},
                                  {"c", nlohmann::ordered_json::object()},
                                  {"d", {{"e", nullptr}}},
                                  {"f", 0.25}}));
}

TEST(JsonWriter, EscapesAnyByteAsTheLibraryDoes) {
  std::vector<std::string> texts = {"",      "plain",         "\"quoted\" and \\", "tab\tline\n",
                                    "ε ≤ 3", "torn \xe2\x82", "\"\xff\\"};
  for (int c = 0; c < 256; ++c) texts.push_back(std::string("a") + static_cast<char>(c) + "b");
  for (const std::string& text : texts) EXPECT_EQ(JsonWriter().Text(text).Take(), Library(text));
}

TEST(JsonWriter, NumbersReadBackAsTheSameDouble) {
  for (const double value : {0.0, -0.0, 1.0, -3.0, 0.1, 1e-5, 1e5, 123456789.0, 1e22, 1.0 / 3, 5e-324,
                             std::numeric_limits<double>::max(), std::nextafter(1.0, 2.0)}) {
    const auto read = nlohmann::json::parse(JsonWriter().Number(value).Take());
    ASSERT_TRUE(read.is_number_float()) << value;
    EXPECT_EQ(read.get<double>(), value);
    EXPECT_EQ(std::signbit(read.get<double>()), std::signbit(value));
  }
  EXPECT_EQ(JsonWriter().Number(std::numeric_limits<double>::infinity()).Take(), "null");
}

}  // namespace
}  // namespace retort
