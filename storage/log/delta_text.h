// Texts that resemble each other, kept as what differs. Specs and rows of one sweep are JSON of one shape:
// each is stored as the index of an earlier text and the pieces, cut at commas, that are not the same.
// Bytes: storage/FORMAT.md, "text".
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "storage/formats/byte_codec.h"

namespace retort::storage {

// Grows as texts are put or taken: a reader that takes the texts in the order in which they were written has the same
// table as the writer.
class DeltaTextTable {
 public:
  // Appends the text to `bytes`, and to the table if no text there resembles it.
  void Put(ByteWriter& bytes, std::string_view text);
  // The stored form of the next text, taken from `reader` and checked against the table, which grows if the
  // form says so. Error: damage.
  [[nodiscard]] Result<std::string_view> Take(ByteReader& reader);
  // The text of a stored form that Take returned. `text` is replaced.
  void Expand(std::string_view stored, std::string& text) const;

 private:
  struct Template {
    std::string text;
    std::vector<std::uint32_t> ends;  // of its pieces: offsets of the commas and the end
  };
  struct Change {
    std::uint16_t piece = 0;
    std::string_view text;
  };

  static Template Cut(std::string_view text);
  // Changes that make `text` of the template; false when the shapes differ or too much does.
  static bool Compare(const Template& known, const Template& wanted, std::vector<Change>& changes);
  std::deque<Template> templates_;
};

}  // namespace retort::storage
