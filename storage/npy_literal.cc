#include "storage/npy_literal.h"

namespace retort::storage {
namespace {

constexpr std::size_t kMostShapeExtents = 64, kMostDigits = 18, kMostText = 64;

class LiteralReader {
 public:
  LiteralReader(std::string_view text, std::size_t& at) : text_(text), at_(at) { at_ = 0; }

  bool Read(NpyLiteral& literal) {
    unsigned seen = 0;
    if (!Take('{')) return false;
    while (!Take('}')) {
      std::string key;
      if (!Text(key) || !Take(':') || !Value(key, literal, seen)) return false;
      if (!Take(',') && !Peek('}')) return false;
    }
    Spaces();
    return at_ == text_.size() && seen == 7;
  }

 private:
  bool Value(const std::string& key, NpyLiteral& literal, unsigned& seen) {
    if (key == "descr") return Once(seen, 1) && Text(literal.descr);
    if (key == "fortran_order") return Once(seen, 2) && Truth(literal.fortran_order);
    return key == "shape" && Once(seen, 4) && Shape(literal.shape);
  }
  static bool Once(unsigned& seen, unsigned bit) {
    if ((seen & bit) != 0) return false;
    seen |= bit;
    return true;
  }
  void Spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool Peek(char wanted) {
    Spaces();
    return at_ < text_.size() && text_[at_] == wanted;
  }
  bool Take(char wanted) {
    if (!Peek(wanted)) return false;
    ++at_;
    return true;
  }
  bool Text(std::string& out) {
    const char quote = Peek('"') ? '"' : '\'';
    if (!Take(quote)) return false;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\\' && out.size() < kMostText)
      out += text_[at_++];
    return at_ < text_.size() && text_[at_++] == quote;
  }
  bool Truth(bool& out) {
    Spaces();
    out = text_.substr(at_).starts_with("True");
    if (!out && !text_.substr(at_).starts_with("False")) return false;
    at_ += out ? 4 : 5;
    return true;
  }
  bool Extent(std::int64_t& out) {
    Spaces();
    const std::size_t begin = at_;
    for (out = 0; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (at_ - begin == kMostDigits) return false;
      out = out * 10 + (text_[at_] - '0');
    }
    if (at_ > begin && at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2's long
    return at_ > begin;
  }
  bool Shape(std::vector<std::int64_t>& out) {
    if (!Take('(')) return false;
    while (!Take(')')) {
      if (out.size() == kMostShapeExtents || !Extent(out.emplace_back())) return false;
      if (!Take(',') && (!Peek(')') || out.size() == 1)) return false;  // (3) is a number, no shape
    }
    return true;
  }

  std::string_view text_;
  std::size_t& at_;
};

}  // namespace

bool ParseNpyLiteral(std::string_view text, NpyLiteral& literal, std::size_t& at) {
  return LiteralReader(text, at).Read(literal);
}

}  // namespace retort::storage
