// What the journal records, in the order it happened. Replaying the events of a journal rebuilds the
// scheduling state; nothing else may change it. Bytes: storage/FORMAT.md, section "journal".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/base/failure_kind.h"
#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "storage/results/result_file.h"

namespace retort::orchestrator {

// Of the results folder as a whole: journal events, folder layout, row fields.
// Version 1 has journals of JSON alone; it is still read, and goes on as version 2.
inline constexpr int kResultsFormatVersion = 2;

// Append only: record types on disk.
enum class EventType : std::uint16_t {
  sweep_opened = 1,
  trial_planned = 2,
  plan_adopted = 3,
  run_started = 4,
  attempt_leased = 5,
  attempt_started = 6,
  checkpoint_noted = 7,
  progress_noted = 8,
  attempt_ended = 9,
  row_written = 10,
  trial_cancelled = 11,
  trial_reopened = 12,
  sweep_interrupted = 13,
  slot_drained = 14,
  packing_measured = 15,
  slot_restored = 16,
  agent_noted = 17,
  ledger_noted = 18,
  data_noted = 19,
  root_noted = 20,
};

// First record of a journal; again when the sweep file was edited.
struct SweepOpened {
  int format_version = kResultsFormatVersion;
  std::string name;
  std::string resolved_toml;
  std::string provenance_json;
};
// A trial becomes known, or the fields of a known one that are no part of its identity changed (data
// path, deadline, priority). Its state is kept.
struct TrialPlanned {
  TrialSpec spec;
  std::string spec_json;  // EncodeTrialSpec(spec), as it is stored
};
[[nodiscard]] TrialPlanned MakeTrialPlanned(const TrialSpec& spec);
// The sweep is now these trials, in this order. Known trials that are not listed are out of the plan.
struct PlanAdopted {
  std::vector<TrialId> order;
};
// A new orchestrator took over: what was leased or running before died with its predecessor and is
// queued again.
struct RunStarted {
  std::string provenance_json;
};
struct AttemptLeased {
  AttemptId attempt;
  Generation generation;
  std::vector<std::pair<int, int>> members;  // (world rank, slot)
};
struct AttemptStarted {
  AttemptId attempt;
};  // the first sign of life of its worker
struct CheckpointNoted {
  AttemptId attempt;
  std::int64_t step = 0;
  std::string digest;
};
// At most one each kProgressNoteSeconds for an attempt.
struct ProgressNoted {
  AttemptId attempt;
  std::int64_t step = 0, total_steps = 0;
  std::string phase;
};
struct AttemptEnded {
  AttemptId attempt;
  bool succeeded = false;
  bool for_good = true;  // false: the trial is queued again, not before `retry_at`
  FailureKind failure = FailureKind::none;
  std::string detail;
  std::vector<std::pair<std::string, double>> metrics, timings;
  std::string parameters_digest;
  std::string file;     // attempt.h5, relative to the results folder
  double retry_at = 0;  // unix seconds
};
// The trial's immutable result; a reopened trial gets another one.
struct RowWritten {
  storage::ResultRow row;
};
struct TrialCancelled {
  TrialId trial;
};
// Back into the queue, its failure counts forgotten; trials that failed because of it wait for it again.
struct TrialReopened {
  TrialId trial;
};
struct SweepInterrupted {
  std::string cause;
};

// Different trials failed at one place, and until now nothing succeeded there: it gets no more of them in this
// run.
struct SlotDrained {
  int rank = 0;
  int slot = 0;
  std::string host;
  std::vector<TrialId> trials;  // that failed there, and nowhere else
};

// How fast trials of one shape were that shared a device, and what follows from it.
struct PackingMeasured {
  std::string host;
  std::string device;  // "cpu" stands for all CPU slots of the host
  std::string shape;   // of the trials, for people
  int width = 0;       // trials at once
  double rate = 0;     // their steps per second in sum; 0 = not measured
  int than_width = 0;  // in comparison with so many
  double than_rate = 0;
  bool kept = false;  // false: at most `than_width` from now on
  std::string cause;  // of a refusal, where it was not the rate
};

// A drained slot gets work again: enough of what failed there failed elsewhere as well.
struct SlotRestored {
  int rank = 0;
  int slot = 0;
  std::string host;
  TrialId trial;  // that failed in a second place
};

enum class AgentChange : std::uint8_t { joined, lost, returned };

// An agent came with its devices, was given up because nothing was heard of it, or was heard of again.
struct AgentNoted {
  int rank = 0;
  AgentChange change = AgentChange::joined;
  std::string host;                  // of one that joined
  std::vector<std::string> devices;  // by slot, of the same: "cuda:0", "cpu"
};

// The ledger held so many reservations, on disk, before this was written. One that holds fewer has lost some.
struct LedgerNoted {
  std::uint64_t reservations = 0;
};

// A data set of the sweep is stored packed: what names its examples, however they are stored.
struct DataNoted {
  std::string digest;    // as stored
  std::string unpacked;  // that its files would have unpacked
};

// The results root in which the folder was first run: what it charges is known there. In another one it is a copy, or
// was moved.
struct RootNoted {
  std::string root;  // MarkKey::Name of the root's key
};

using Event =
    std::variant<SweepOpened, TrialPlanned, PlanAdopted, RunStarted, AttemptLeased, AttemptStarted, CheckpointNoted,
                 ProgressNoted, AttemptEnded, RowWritten, TrialCancelled, TrialReopened, SweepInterrupted, SlotDrained,
                 PackingMeasured, SlotRestored, AgentNoted, LedgerNoted, DataNoted, RootNoted>;

struct JournalEvent {
  double at = 0;  // unix seconds
  Event event;
};

[[nodiscard]] EventType FindEventType(const Event& event);
// One JSON object; doubles round-trip exactly, non-finite ones as "nan", "inf", "-inf".
[[nodiscard]] std::string EncodeEvent(const JournalEvent& event);
// Error: damage, naming the event and the field that is missing or wrong; usage for a type that this
// version does not know.
[[nodiscard]] Result<JournalEvent> DecodeEvent(std::uint16_t type, std::string_view payload);

}  // namespace retort::orchestrator
