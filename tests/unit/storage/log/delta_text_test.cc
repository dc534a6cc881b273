#include "storage/log/delta_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace retort::storage {
namespace {

std::string SpecLike(int seed) {
  std::string text = "{\"role\":\"student\"";
  for (int i = 0; i < 40; ++i) text += ",\"key" + std::to_string(i) + "\":" + std::to_string(i);
  return text + ",\"seed\":" + std::to_string(seed) + "}";
}

std::string Stored(const std::vector<std::string>& texts) {
  DeltaTextTable table;
  ByteWriter bytes;
  for (const std::string& text : texts) table.Put(bytes, text);
  return bytes.bytes();
}

TEST(TextTable, TextsComeBackInTheOrderInWhichTheyWereWritten) {
  const std::vector<std::string> texts = {SpecLike(1),
                                          SpecLike(22),
                                          "",
                                          ",",
                                          ",,,",
                                          "a,b",
                                          "no commas",
                                          SpecLike(22),
                                          ",",
                                          "",
                                          "x,b",
                                          SpecLike(333),
                                          SpecLike(4) + ",",
                                          std::string(70000, 'y') + "," + SpecLike(5)};
  const std::string bytes = Stored(texts);
  DeltaTextTable table;
  ByteReader reader(bytes);
  for (const std::string& text : texts) {
    const Result<std::string_view> stored = table.Take(reader);
    ASSERT_TRUE(stored.ok()) << stored.status().message();
    std::string expanded = "what was there before";
    table.Expand(*stored, expanded);
    EXPECT_EQ(expanded, text);
  }
  EXPECT_TRUE(reader.AtEnd());
}

TEST(TextTable, TextThatResemblesAnEarlierOneTakesLittleRoom) {
  const std::size_t alone = Stored({SpecLike(1)}).size();
  EXPECT_LT(Stored({SpecLike(1), SpecLike(2)}).size(), alone + 30);
}

TEST(TextTable, AWriterThatGoesOnNeedsNoMoreThanWhatAReaderHas) {
  const std::string bytes = Stored({SpecLike(1)});
  DeltaTextTable table;
  ByteReader reader(bytes);
  ASSERT_TRUE(table.Take(reader).ok());
  ByteWriter more;
  table.Put(more, SpecLike(2));
  EXPECT_EQ(bytes + more.bytes(), Stored({SpecLike(1), SpecLike(2)}));
}

TEST(TextTable, DamagedFormsAreNeverReadBeyondTheEnd) {
  const std::string whole = Stored({SpecLike(1), SpecLike(2), "plain"});
  const auto take_all = [](const std::string& bytes) {
    DeltaTextTable table;
    ByteReader reader(bytes);
    std::string text;
    while (!reader.AtEnd()) {
      const Result<std::string_view> stored = table.Take(reader);
      if (!stored.ok()) return stored.status().code() == StatusCode::damage;
      table.Expand(*stored, text);
    }
    return true;
  };
  for (std::size_t size = 0; size <= whole.size(); ++size) EXPECT_TRUE(take_all(whole.substr(0, size)));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const unsigned flip : {0x01U, 0x80U, 0xFFU}) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(static_cast<unsigned char>(bytes[i]) ^ flip);
      EXPECT_TRUE(take_all(bytes)) << i;
    }
  }
}

TEST(TextTable, AReferenceToNoTextIsDamage) {
  DeltaTextTable table;
  ByteReader reader(std::string_view("\x02\x00\x00\x00\x00", 5));
  EXPECT_EQ(table.Take(reader).status().code(), StatusCode::damage);
}

}  // namespace
}  // namespace retort::storage
