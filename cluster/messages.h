// The messages between worker, agent and orchestrator, and the frame that carries them. Each struct is one payload; the
// envelope adds the attempt, generation and sequence it belongs to. Payloads are JSON objects with the field names
// below; decoding names the field that is missing or wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/base/failure_kind.h"
#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "experiments/privacy/privacy_event.h"

namespace retort::cluster {

// Append-only; the numbers travel.
enum class MessageType : std::uint16_t {
  hello = 1,
  gang_address = 2,
  reserve = 3,
  settle = 4,
  progress = 5,
  checkpoint_committed = 6,
  ended = 7,
  answer = 8,
  start = 20,
  gang_ready = 21,
  reserved = 22,
  stop = 23,
  register_agent = 40,
  lease = 41,
  heartbeat = 42,
  drain = 43,
  shutdown = 44,
  worker_lost = 45,
};

// worker -> agent (-> orchestrator)
struct Hello {
  std::string build;
  std::string device;
  std::vector<std::string> capabilities;
};
struct GangAddress {
  std::string blob;
};
struct Reserve {
  std::uint64_t id = 0;
  privacy::PrivacyEvent event;
  std::int64_t count = 0;
  bool drawn = false;  // before, and the ledger has lost it: charged whatever budgets say
};
struct Settle {
  std::uint64_t id = 0;
  std::int64_t used = 0;
};
// The phase of a worker that builds what it trains, before its first step, and says nothing more until that is done.
inline constexpr std::string_view kPreparingPhase = "preparing";
struct Progress {
  std::int64_t step = 0;
  std::int64_t total_steps = 0;                        // 0 while its data is loaded and it prepares
  std::string phase;                                   // "train", "release", "evaluate", ...
  std::vector<std::pair<std::string, double>> series;  // newest value of each curve
};
struct CheckpointCommitted {
  std::int64_t step = 0;
  std::string digest;
  double seconds = 0;      // that writing and syncing it took
  std::int64_t bytes = 0;  // of its tensors
};
struct Ended {
  bool succeeded = false;
  FailureKind failure = FailureKind::none;
  std::string detail;                                   // for people: what happened, where
  std::vector<std::pair<std::string, double>> metrics;  // "test.accuracy", ...; deterministic, not timings
  std::vector<std::pair<std::string, double>> timings;  // "seconds", ...; provenance only
  std::string parameters_digest;                        // SHA-256 hex over the final parameters
  std::string file;                                     // attempt.h5, relative to the results folder
};
// To the process that started the worker for one question, as an audit does (SendAnswer). Ended follows.
struct Answer {
  std::string text;
};

// agent -> worker
struct Start {
  std::string spec;  // EncodeTrialSpec (experiments/methods/spec_codec.h)
  int gang_rank = 0;
  int gang_size = 1;
  std::string device;             // "cpu", "cuda:0"
  std::string trial_directory;    // absolute; holds attempt-<n>/
  std::string attempt_directory;  // absolute; created by the worker
  std::string teacher_file;       // absolute path of the parent's attempt.h5, or empty
  std::string data_path;          // absolute
  std::string sweep;              // sweep name, for attempt.h5
  std::string gang_host;          // address of this member that the others reach; empty without a gang
  // What the ledger has charged to the trial so far, equal events aggregated: its earlier attempts, which are over.
  std::vector<privacy::PrivacyEvent> charged = {};
  std::vector<std::string> teacher_claims = {};  // EncodeClaim: of the parent's row, which follow from the ledger
  std::string teacher_parameters = {};           // digest that the parent's row has; empty where it is not known
};
struct GangReady {
  std::string blob;
};
struct Reserved {
  std::uint64_t id = 0;
  bool granted = false;
  std::string refusal;
};
struct Stop {
  bool save = true;
  double deadline_seconds = 0;
};

// agent <-> orchestrator
struct Register {
  std::string host;
  int slots = 0;
  std::vector<std::string> devices;
  std::string build;
  std::string address;        // of the host, as other hosts reach it
  int seats_per_slot = 1;     // workers that one slot can hold: slot + n * slots is the n-th more of it
  std::string identity = {};  // of the host, where its name may be that of another; empty = the name is
  std::vector<std::string> device_uuids = {};  // by slot; empty, or an empty text, where unknown
};
struct Lease {
  std::vector<std::pair<int, int>> members;
  int slot = 0;
  Start start;
};  // members: (world rank, slot)
struct Heartbeat {
  double uptime_seconds = 0;
  std::int64_t memory_available = 0;  // bytes of the host that new processes can have; 0 = not known
  std::int64_t worker_peak = 0;       // bytes that the largest of its workers has used at once; 0 = not known
};
struct Drain {
  bool save = true;
  double deadline_seconds = 0;
};
struct Shutdown {};
// The agent's own observation about a worker that cannot speak for itself.
struct WorkerLost {
  FailureKind failure = FailureKind::worker_crash;
  std::string detail;
};

using Message =
    std::variant<Hello, GangAddress, Reserve, Settle, Progress, CheckpointCommitted, Ended, Start, GangReady, Reserved,
                 Stop, Register, Lease, Heartbeat, Drain, Shutdown, WorkerLost, Answer>;

[[nodiscard]] MessageType FindMessageType(const Message& message);
// "Hello", "GangAddress", ...; empty for a number that no message has.
[[nodiscard]] std::string_view GetMessageTypeName(MessageType type);
[[nodiscard]] std::string EncodePayload(const Message& message);
// Error: refused, naming message type and field.
[[nodiscard]] Result<Message> DecodePayload(MessageType type, std::string_view payload);

// The one frame that everything travels in: over the worker's socketpair, over MPI, in process.

inline constexpr std::uint16_t kEnvelopeVersion = 1;
inline constexpr std::size_t kMaxEnvelopeBytes = std::size_t{4} << 20;

// `attempt` and `generation` are zero in messages that belong to no attempt (Hello, Register, ...).
struct Envelope {
  AttemptId attempt;
  Generation generation;
  std::uint64_t sequence = 0;
  Message message;
};

// length, version, type, attempt, generation, sequence, payload, CRC-32C; little endian.
[[nodiscard]] std::string Encode(const Envelope& envelope);
// Error: refused, naming the field that is wrong (length, version, type, crc, or a payload field).
[[nodiscard]] Result<Envelope> Decode(std::string_view bytes);
// Returns the length of the whole frame that begins with `first_bytes` (at least four), for a reader that gets
// it in pieces. Error: refused, field length, when no frame is that short or that long.
[[nodiscard]] Result<std::size_t> DecodeEnvelopeLength(std::string_view first_bytes);

}  // namespace retort::cluster
