#include "storage/log/delta_text.h"

#include <limits>
#include <utility>

namespace retort::storage {
namespace {

enum Form : std::uint8_t { kPlain = 0, kTemplate = 1, kChanged = 2 };

constexpr std::size_t kMaxTemplates = 64;  // that a writer makes; a reader takes what it finds
constexpr std::size_t kMaxU16 = std::numeric_limits<std::uint16_t>::max();

Status Malformed(const char* what) { return DamageError(std::string("a stored text ") + what); }

}  // namespace

DeltaTextTable::Template DeltaTextTable::Cut(std::string_view text) {
  Template cut;
  cut.text = text;
  for (std::size_t at = text.find(','); at != std::string_view::npos; at = text.find(',', at + 1))
    cut.ends.push_back(static_cast<std::uint32_t>(at));
  cut.ends.push_back(static_cast<std::uint32_t>(text.size()));
  return cut;
}

bool DeltaTextTable::Compare(const Template& known, const Template& wanted, std::vector<Change>& changes) {
  changes.clear();
  if (known.ends.size() != wanted.ends.size() || known.ends.size() > kMaxU16) return false;
  const std::string_view mine = known.text, theirs = wanted.text;
  std::size_t my_begin = 0, their_begin = 0, cost = 0;
  for (std::size_t i = 0; i < known.ends.size(); ++i) {
    const std::string_view piece = theirs.substr(their_begin, wanted.ends[i] - their_begin);
    if (mine.substr(my_begin, known.ends[i] - my_begin) != piece) {
      cost += piece.size() + 4;
      if (piece.size() > kMaxU16 || cost > theirs.size() / 2) return false;
      changes.push_back({static_cast<std::uint16_t>(i), piece});
    }
    my_begin = known.ends[i] + 1;
    their_begin = wanted.ends[i] + 1;
  }
  return true;
}

void DeltaTextTable::Put(ByteWriter& bytes, std::string_view text) {
  Template wanted = Cut(text);
  std::vector<Change> changes;
  for (std::size_t i = templates_.size(); i-- > 0;) {
    if (!Compare(templates_[i], wanted, changes)) continue;
    bytes.U8(kChanged);
    bytes.U16(static_cast<std::uint16_t>(i));
    bytes.U16(static_cast<std::uint16_t>(changes.size()));
    for (const Change& change : changes) {
      bytes.U16(change.piece);
      bytes.U16(static_cast<std::uint16_t>(change.text.size()));
      bytes.Raw(change.text);
    }
    return;
  }
  const bool keep = templates_.size() < kMaxTemplates;
  bytes.U8(keep ? kTemplate : kPlain);
  bytes.Text(text);
  if (keep) templates_.push_back(std::move(wanted));
}

Result<std::string_view> DeltaTextTable::Take(ByteReader& reader) {
  const std::string_view before = reader.rest();
  const std::uint8_t form = reader.U8();
  if (form == kPlain || form == kTemplate) {
    const std::string_view text = reader.TextView();
    if (!reader.ok()) return Malformed("ends early");
    if (form == kTemplate) {
      if (templates_.size() > kMaxU16) return Malformed("follows too many of its kind");
      templates_.push_back(Cut(text));
    }
  } else if (form == kChanged) {
    const std::size_t index = reader.U16();
    if (index >= templates_.size()) return Malformed("refers to a text that does not precede it");
    const std::size_t pieces = templates_[index].ends.size();
    std::size_t next = 0;
    for (std::size_t left = reader.U16(); left > 0; --left) {
      const std::size_t piece = reader.U16();
      (void)reader.Raw(reader.U16());
      if (!reader.ok()) return Malformed("ends early");
      if (piece < next || piece >= pieces) return Malformed("changes a piece that is not there");
      next = piece + 1;
    }
  } else {
    return Malformed("has an unknown form");
  }
  if (!reader.ok()) return Malformed("ends early");
  return before.substr(0, before.size() - reader.rest().size());
}

void DeltaTextTable::Expand(std::string_view stored, std::string& text) const {
  ByteReader reader(stored);
  if (reader.U8() != kChanged) {
    text = reader.TextView();
    return;
  }
  const Template& known = templates_[reader.U16()];
  text.clear();
  std::size_t copied = 0;
  for (std::size_t left = reader.U16(); left > 0; --left) {
    const std::size_t piece = reader.U16();
    const std::size_t begin = piece == 0 ? 0 : known.ends[piece - 1] + 1;
    text.append(known.text, copied, begin - copied);
    text.append(reader.Raw(reader.U16()));
    copied = known.ends[piece];
  }
  text.append(known.text, copied, std::string::npos);
}

}  // namespace retort::storage
