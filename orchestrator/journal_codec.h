// Events as the journal stores them: the few that come with every trial packed, so that a long journal is
// read in no time, the others as the JSON of events.h. Bytes: storage/FORMAT.md, section "journal".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "experiments/spec/spec_codec.h"
#include "experiments/spec/status.h"
#include "orchestrator/events.h"
#include "orchestrator/stored_row.h"
#include "storage/text_table.h"

namespace retort::orchestrator {

// A row_written whose row stays packed until it is asked for.
struct PackedRow {
  TrialId trial;
  StoredRow row;
};

using JournalRecord = std::variant<JournalEvent, PackedRow>;

// What a record may refer to in the records before it: one codec for one journal, from its first record on,
// first decoding what is there and then encoding what is appended.
class JournalCodec {
 public:
  [[nodiscard]] std::string Encode(const JournalEvent& event);
  // Packed or JSON, as found. Error: damage, naming the event; usage for a type that this version does not
  // know.
  [[nodiscard]] Result<JournalRecord> Decode(std::uint16_t type, std::string_view payload);

 private:
  class Unpacking;
  std::shared_ptr<storage::TextTable> texts_ = std::make_shared<storage::TextTable>();
  TrialSpecReader specs_;
};

}  // namespace retort::orchestrator
