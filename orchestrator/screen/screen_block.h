// Redraws lines at the end of a terminal's text in place. Pure: returns the bytes to write.
// Between two writes the cursor is visible, on the line below the block, so a process that is killed leaves
// the terminal as it should be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/process/terminal.h"

namespace retort::orchestrator {

struct BlockLine {
  std::string text;  // one line without control characters, narrower than the screen
  bool problem = false;
  bool operator==(const BlockLine&) const = default;
};

class ScreenBlock {
 public:
  explicit ScreenBlock(bool color = false) : color_(color) {}

  // Replaces the block by `lines`, fewer than the screen is high. Only lines that changed are
  // written; empty when none did.
  [[nodiscard]] std::string Redraw(std::vector<BlockLine> lines, const Screen& screen);
  // Inserts `text`, whole lines with their ends, above the block.
  [[nodiscard]] std::string Above(std::string_view text, const Screen& screen);
  // Removes the block; the cursor is where it began.
  [[nodiscard]] std::string Erase(const Screen& screen);
  // Leaves the block on the screen for good, because what lies above the cursor is not known any more.
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
