#include "orchestrator/journal/journal.h"

#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "storage/formats/byte_codec.h"

namespace retort::orchestrator {
namespace {

using storage::ByteReader;
using storage::ByteWriter;
using Numbers = std::vector<std::pair<std::string, double>>;

// First and last byte of a packed payload. JSON begins with a brace; and since a payload never ends in a
// zero, a record that is damaged at the end of the file is never taken for one that was cut short.
constexpr std::uint8_t kPacked = 1;

void PutAttempt(ByteWriter& bytes, AttemptId attempt) {
  bytes.U64(attempt.trial.bits());
  bytes.U32(attempt.number);
}

void PutNumbers(ByteWriter& bytes, const Numbers& numbers) {
  bytes.U32(static_cast<std::uint32_t>(numbers.size()));
  for (const auto& [name, value] : numbers) {
    bytes.Text(name);
    bytes.F64(value);
  }
}

// Each takes its event apart by all of its fields, so that a new field cannot be forgotten here.
void Pack(ByteWriter& bytes, storage::DeltaTextTable& texts, const TrialPlanned& event) {
  const auto& [spec, spec_json] = event;
  texts.Put(bytes, spec_json);
}

void Pack(ByteWriter& bytes, storage::DeltaTextTable&, const PlanAdopted& event) {
  const auto& [order] = event;
  bytes.U32(static_cast<std::uint32_t>(order.size()));
  for (const TrialId id : order) bytes.U64(id.bits());
}

void Pack(ByteWriter& bytes, storage::DeltaTextTable&, const AttemptLeased& event) {
  const auto& [attempt, generation, members] = event;
  PutAttempt(bytes, attempt);
  bytes.U64(generation.value);
  bytes.U32(static_cast<std::uint32_t>(members.size()));
  for (const auto& [rank, slot] : members) {
    bytes.U32(static_cast<std::uint32_t>(rank));
    bytes.U32(static_cast<std::uint32_t>(slot));
  }
}

void Pack(ByteWriter& bytes, storage::DeltaTextTable&, const AttemptStarted& event) {
  const auto& [attempt] = event;
  PutAttempt(bytes, attempt);
}

void Pack(ByteWriter& bytes, storage::DeltaTextTable&, const CheckpointNoted& event) {
  const auto& [attempt, step, digest] = event;
  PutAttempt(bytes, attempt);
  bytes.I64(step);
  bytes.Text(digest);
}

void Pack(ByteWriter& bytes, storage::DeltaTextTable&, const ProgressNoted& event) {
  const auto& [attempt, step, total_steps, phase] = event;
  PutAttempt(bytes, attempt);
  bytes.I64(step);
  bytes.I64(total_steps);
  bytes.Text(phase);
}

void Pack(ByteWriter& bytes, storage::DeltaTextTable&, const AttemptEnded& event) {
  const auto& [attempt, succeeded, for_good, failure, detail, metrics, timings, digest, file, retry_at] = event;
  PutAttempt(bytes, attempt);
  bytes.U8(static_cast<std::uint8_t>((succeeded ? 1 : 0) | (for_good ? 2 : 0)));
  bytes.Text(GetFailureName(failure));
  bytes.Text(detail);
  PutNumbers(bytes, metrics);
  PutNumbers(bytes, timings);
  bytes.Text(digest);
  bytes.Text(file);
  bytes.F64(retry_at);
}

void Pack(ByteWriter& bytes, storage::DeltaTextTable& texts, const RowWritten& event) {
  const auto& [row] = event;
  bytes.U64(TrialId::FromHex(row.trial).value_or(TrialId()).bits());
  texts.Put(bytes, storage::EncodeRow(row));
}

template <typename T>
concept Packable = requires(ByteWriter& bytes, storage::DeltaTextTable& texts, const T& event) {
  Pack(bytes, texts, event);
};

AttemptId TakeAttempt(ByteReader& bytes) {
  const TrialId trial(bytes.U64());
  return {trial, bytes.U32()};
}

Numbers TakeNumbers(ByteReader& bytes) {
  Numbers numbers;
  for (std::uint32_t left = bytes.U32(); left > 0 && bytes.ok(); --left) {
    std::string name = bytes.Text();
    numbers.emplace_back(std::move(name), bytes.F64());
  }
  return numbers;
}

}  // namespace

// Unpack mirrors Pack.
class JournalCodec::Unpacking {
 public:
  Unpacking(JournalCodec& codec, std::string_view payload) : codec_(codec), bytes_(payload) {}

  Result<JournalRecord> Take(EventType type) {
    (void)bytes_.U8();  // kPacked
    event_.at = bytes_.F64();
    Status status = TakeFields(type);
    const bool closed = bytes_.U8() == kPacked && bytes_.ok() && bytes_.AtEnd();
    if (status.ok() && !closed) status = DamageError("its length is wrong");
    if (!status.ok())
      return Status(status.code(),
                    "packed journal event of type " + std::to_string(static_cast<int>(type)) + ": " + status.message());
    if (type == EventType::row_written) return JournalRecord(std::move(row_));
    return JournalRecord(std::move(event_));
  }

 private:
  template <typename T>
  Status As() {
    T event;
    RETORT_RETURN_IF_ERROR(Unpack(event));
    event_.event = std::move(event);
    return {};
  }

  Status TakeFields(EventType type) {
    switch (type) {
      case EventType::trial_planned:
        return As<TrialPlanned>();
      case EventType::plan_adopted:
        return As<PlanAdopted>();
      case EventType::attempt_leased:
        return As<AttemptLeased>();
      case EventType::attempt_started:
        return As<AttemptStarted>();
      case EventType::checkpoint_noted:
        return As<CheckpointNoted>();
      case EventType::progress_noted:
        return As<ProgressNoted>();
      case EventType::attempt_ended:
        return As<AttemptEnded>();
      case EventType::row_written:
        return UnpackRow();
      default:
        return DamageError("events of this type are never packed");
    }
  }

  Status Unpack(TrialPlanned& event) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view stored, codec_.texts_->Take(bytes_));
    codec_.texts_->Expand(stored, event.spec_json);
    RETORT_ASSIGN_OR_RETURN(event.spec, codec_.specs_.Read(event.spec_json));
    return {};
  }
  Status Unpack(PlanAdopted& event) {
    for (std::uint32_t left = bytes_.U32(); left > 0 && bytes_.ok(); --left) event.order.emplace_back(bytes_.U64());
    return {};
  }
  Status Unpack(AttemptLeased& event) {
    event.attempt = TakeAttempt(bytes_);
    event.generation.value = bytes_.U64();
    for (std::uint32_t left = bytes_.U32(); left > 0 && bytes_.ok(); --left) {
      const int rank = static_cast<int>(bytes_.U32());
      event.members.emplace_back(rank, static_cast<int>(bytes_.U32()));
    }
    return {};
  }
  Status Unpack(AttemptStarted& event) {
    event.attempt = TakeAttempt(bytes_);
    return {};
  }
  Status Unpack(CheckpointNoted& event) {
    event.attempt = TakeAttempt(bytes_);
    event.step = bytes_.I64();
    event.digest = bytes_.Text();
    return {};
  }
  Status Unpack(ProgressNoted& event) {
    event.attempt = TakeAttempt(bytes_);
    event.step = bytes_.I64();
    event.total_steps = bytes_.I64();
    event.phase = bytes_.Text();
    return {};
  }
  Status Unpack(AttemptEnded& event) {
    event.attempt = TakeAttempt(bytes_);
    const std::uint8_t flags = bytes_.U8();
    event.succeeded = (flags & 1U) != 0;
    event.for_good = (flags & 2U) != 0;
    const std::optional<FailureKind> failure = ParseFailureName(bytes_.TextView());
    if (bytes_.ok() && (!failure || flags > 3)) return DamageError("an unknown failure kind");
    event.failure = failure.value_or(FailureKind::none);
    event.detail = bytes_.Text();
    event.metrics = TakeNumbers(bytes_);
    event.timings = TakeNumbers(bytes_);
    event.parameters_digest = bytes_.Text();
    event.file = bytes_.Text();
    event.retry_at = bytes_.F64();
    return {};
  }
  Status UnpackRow() {
    row_.trial = TrialId(bytes_.U64());
    RETORT_ASSIGN_OR_RETURN(const std::string_view stored, codec_.texts_->Take(bytes_));
    row_.row = StoredRow(row_.trial, codec_.texts_, stored);
    return {};
  }

  JournalCodec& codec_;
  ByteReader bytes_;
  JournalEvent event_;
  PackedRow row_;
};

std::string JournalCodec::Encode(const JournalEvent& event) {
  return std::visit(
      [&](const auto& alternative) -> std::string {
        if constexpr (Packable<std::remove_cvref_t<decltype(alternative)>>) {
          ByteWriter bytes;
          bytes.U8(kPacked);
          bytes.F64(event.at);
          Pack(bytes, *texts_, alternative);
          bytes.U8(kPacked);
          return std::move(bytes).Take();
        } else {
          return EncodeEvent(event);
        }
      },
      event.event);
}

Result<JournalRecord> JournalCodec::Decode(std::uint16_t type, std::string_view payload) {
  if (!payload.empty() && static_cast<std::uint8_t>(payload.front()) == kPacked)
    return Unpacking(*this, payload).Take(static_cast<EventType>(type));
  RETORT_ASSIGN_OR_RETURN(JournalEvent event, DecodeEvent(type, payload));
  return JournalRecord(std::move(event));
}

std::string GetJournalPath(const std::string& results) { return results + "/journal.log"; }
std::string GetLedgerPath(const std::string& results) { return results + "/ledger.log"; }
std::string LockPath(const std::string& results) { return results + "/lock"; }

Status ReplayRecord(const storage::Record& record, JournalCodec& codec, Core& core) {
  Result<JournalRecord> decoded = codec.Decode(record.type, record.payload);
  if (!decoded.ok()) return decoded.status();
  if (auto* packed = std::get_if<PackedRow>(&*decoded)) return core.Restore(packed->trial, std::move(packed->row));
  return core.Apply(std::get<JournalEvent>(*decoded));
}

Status ReplayJournal(const storage::LogContents& contents, JournalCodec& codec, Core& core) {
  for (const storage::Record& record : contents.records) {
    const Status status = ReplayRecord(record, codec, core);
    if (!status.ok())
      return {status.code(), status.message() + " (record at offset " + std::to_string(record.offset) + ")"};
  }
  return {};
}

Result<Journal> Journal::Open(storage::Env& env, const std::string& results, Core& core) {
  storage::LogContents contents;
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<storage::RecordLog> log,
                          storage::RecordLog::Open(env, GetJournalPath(results), storage::LogKind::journal, &contents));
  JournalCodec codec;
  RETORT_RETURN_IF_ERROR(ReplayJournal(contents, codec, core));
  return Journal(std::move(log), std::move(codec));
}

Status Journal::Commit(const std::vector<JournalEvent>& events) {
  if (events.empty()) return {};
  for (const JournalEvent& event : events)
    log_->Append(static_cast<std::uint16_t>(FindEventType(event.event)), codec_.Encode(event));
  return log_->Sync();
}

}  // namespace retort::orchestrator
