#include "orchestrator/cli/commands/console.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace retort::orchestrator::cli {
namespace {

class ConsoleTest : public ::testing::Test {
 protected:
  [[nodiscard]] Console Make(bool json = false) {
    ConsoleOptions options;
    options.json = json;
    return {[this](std::string_view text) { out_ += text; }, [this](std::string_view text) { err_ += text; }, options};
  }
  std::string out_, err_;
};

TEST_F(ConsoleTest, WhatMessagesQuoteReachesNoTerminalAsControls) {
  const std::string hostile = "a\x1b[2Jb\x07\xff\u202E\nsecond line";
  Make().Message(hostile);
  EXPECT_EQ(err_, "ab ? \nsecond line\n");
  err_.clear();
  EXPECT_EQ(Make().Fail(UsageError(hostile)), 2);
  EXPECT_EQ(err_, "error: ab ? \nsecond line\n");
  err_.clear();
  Make().Warn({hostile, "", 0, 0, "", {}, ""});
  EXPECT_EQ(err_, "warning: ab ? \nsecond line\n");
  EXPECT_EQ(out_, "");
}

// Class folders, tensors of weights and the like have names that others gave them.
TEST_F(ConsoleTest, WhatTextsQuoteReachesNoTerminalAsControls) {
  Make().Text("class a\x1b[2J\xff\u202Eb\x9b\n  next\n");
  EXPECT_EQ(out_, "class a? b?\n  next\n");
  out_.clear();
  ConsoleOptions options;
  options.color_out = true;
  const auto write = [this](std::string_view text) { out_ += text; };
  const Console console(write, write, options);
  console.Text(console.Paint(Tint::red, "worst") + " \x1b[2Jof \x1b[31;5mall\n");
  EXPECT_EQ(out_, "\x1b[31mworst\x1b[0m of all\n");
  out_.clear();
  Make(true).Text("{\"\xC3\xBC\": 1}\n");
  EXPECT_EQ(out_, "{\"\xC3\xBC\": 1}\n");
}

TEST_F(ConsoleTest, TextIsFittedToATerminalAndNowhereElse) {
  ConsoleOptions options;
  options.width = 30;
  const auto write = [this](std::string_view text) { out_ += text; };
  const auto written = [&] {
    const Console console(write, write, options);
    out_.clear();
    console.Data("one two three four five six seven\n");
    console.Text("one two three four five six seven\n");
    return out_;
  };
  EXPECT_EQ(written(), "one two three four five six seven\none two three four five six seven\n");
  options.live = true;
  EXPECT_EQ(written(), "one two three four five six seven\none two three four five six\n  seven\n");
  options.json = true;
  EXPECT_EQ(written(), "one two three four five six seven\none two three four five six seven\n");
}

TEST_F(ConsoleTest, DocumentOfAnErrorHasItsChoices) {
  EXPECT_EQ(Make(true).Fail(UsageError("there is no x", {"y", "z"})), 2);
  const auto document = nlohmann::json::parse(out_);
  EXPECT_EQ(document.at("errors").at(0).at("choices"), (nlohmann::json{"y", "z"}));
  EXPECT_EQ(err_, "");
}

}  // namespace
}  // namespace retort::orchestrator::cli
