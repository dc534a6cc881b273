// Lines at the end of a terminal's text that are written again in place. Pure: the bytes to write come back.
// Between two writes the cursor is visible, on the line below the block, so a process that is killed leaves
// the terminal as it should be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/terminal.h"

namespace retort::orchestrator {

struct BlockLine {
  std::string text;  // one line without control characters, narrower than the screen
  bool problem = false;
  bool operator==(const BlockLine&) const = default;
};

class ScreenBlock {
 public:
  explicit ScreenBlock(bool color = false) : color_(color) {}

  // Makes the screen show `lines`, fewer than it is high, where the block was. Only lines that changed are
  // written; empty when none did.
  [[nodiscard]] std::string Redraw(std::vector<BlockLine> lines, const Screen& screen);
  // `text`, whole lines with their ends, above the block.
  [[nodiscard]] std::string Above(std::string_view text, const Screen& screen);
  // Takes the block away; the cursor is where it began.
  [[nodiscard]] std::string Erase(const Screen& screen);
  // The block stays where it is for good: what lies above the cursor is not known any more.
  void Forget() { drawn_.clear(); }

 private:
  [[nodiscard]] std::string ToFirstLine(std::size_t width) const;
  [[nodiscard]] std::string Erasure(std::size_t width) const;
  [[nodiscard]] std::string Painted(const BlockLine& line) const;
  bool color_;
  std::vector<BlockLine> drawn_;
  std::size_t width_ = 0;  // of the screen that they were drawn on
};

}  // namespace retort::orchestrator
