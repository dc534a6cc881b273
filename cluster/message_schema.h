// The table behind the message codec: number, name and fields of every message. Private to messages.cc.
#pragma once

#include <string_view>
#include <tuple>

#include "cluster/messages.h"

namespace retort::cluster {

// Of text that ends in the journal: bytes that it has at most. What is for people is cut by the sender.
inline constexpr std::size_t kMostDigestBytes = 64;  // SHA-256 in hex
inline constexpr std::size_t kMostPhaseBytes = 256;
inline constexpr std::size_t kMostDetailBytes = 4096;

template <typename M, typename T>
struct Field {
  std::string_view name;
  T M::*member;
  std::size_t most = 0;  // bytes of a text; 0 = as the envelope allows
};
template <typename M, typename T>
Field(std::string_view, T M::*) -> Field<M, T>;
template <typename M, typename T>
Field(std::string_view, T M::*, std::size_t) -> Field<M, T>;

template <typename M>
struct Schema;

#define RETORT_MESSAGE(Type, number, ...)                        \
  template <>                                                    \
  struct Schema<Type> {                                          \
    using M = Type;                                              \
    static constexpr MessageType type = MessageType::number;     \
    static constexpr std::string_view name = #Type;              \
    static constexpr auto fields = std::make_tuple(__VA_ARGS__); \
  }
#define RETORT_FIELD(member) \
  Field { #member, &M::member }
#define RETORT_TEXT(member, most) \
  Field { #member, &M::member, most }

RETORT_MESSAGE(Hello, hello, RETORT_FIELD(build), RETORT_FIELD(device), RETORT_FIELD(capabilities));
RETORT_MESSAGE(GangAddress, gang_address, RETORT_FIELD(blob));
RETORT_MESSAGE(Reserve, reserve, RETORT_FIELD(id), RETORT_FIELD(event), RETORT_FIELD(count), RETORT_FIELD(drawn));
RETORT_MESSAGE(Settle, settle, RETORT_FIELD(id), RETORT_FIELD(used));
RETORT_MESSAGE(Progress, progress, RETORT_FIELD(step), RETORT_FIELD(total_steps),
               RETORT_TEXT(phase, kMostPhaseBytes), RETORT_FIELD(series));
RETORT_MESSAGE(CheckpointCommitted, checkpoint_committed, RETORT_FIELD(step),
               RETORT_TEXT(digest, kMostDigestBytes), RETORT_FIELD(seconds), RETORT_FIELD(bytes));
RETORT_MESSAGE(Ended, ended, RETORT_FIELD(succeeded), RETORT_FIELD(failure),
               RETORT_TEXT(detail, kMostDetailBytes), RETORT_FIELD(metrics), RETORT_FIELD(timings),
               RETORT_TEXT(parameters_digest, kMostDigestBytes), RETORT_FIELD(file));
RETORT_MESSAGE(Answer, answer, RETORT_FIELD(text));

RETORT_MESSAGE(Start, start, RETORT_FIELD(spec), RETORT_FIELD(gang_rank), RETORT_FIELD(gang_size),
               RETORT_FIELD(device), RETORT_FIELD(trial_directory), RETORT_FIELD(attempt_directory),
               RETORT_FIELD(teacher_file), RETORT_FIELD(data_path), RETORT_FIELD(sweep), RETORT_FIELD(gang_host),
               RETORT_FIELD(charged), RETORT_FIELD(teacher_claims), RETORT_FIELD(teacher_parameters));
RETORT_MESSAGE(GangReady, gang_ready, RETORT_FIELD(blob));
RETORT_MESSAGE(Reserved, reserved, RETORT_FIELD(id), RETORT_FIELD(granted), RETORT_FIELD(refusal));
RETORT_MESSAGE(Stop, stop, RETORT_FIELD(save), RETORT_FIELD(deadline_seconds));

RETORT_MESSAGE(Register, register_agent, RETORT_FIELD(host), RETORT_FIELD(slots), RETORT_FIELD(devices),
               RETORT_FIELD(build), RETORT_FIELD(address), RETORT_FIELD(seats_per_slot),
               RETORT_FIELD(identity), RETORT_FIELD(device_uuids));
RETORT_MESSAGE(Lease, lease, RETORT_FIELD(members), RETORT_FIELD(slot), RETORT_FIELD(start));
RETORT_MESSAGE(Heartbeat, heartbeat, RETORT_FIELD(uptime_seconds), RETORT_FIELD(memory_available),
               RETORT_FIELD(worker_peak));
RETORT_MESSAGE(Drain, drain, RETORT_FIELD(save), RETORT_FIELD(deadline_seconds));
RETORT_MESSAGE(Shutdown, shutdown);
RETORT_MESSAGE(WorkerLost, worker_lost, RETORT_FIELD(failure), RETORT_TEXT(detail, kMostDetailBytes));

#undef RETORT_FIELD
#undef RETORT_TEXT
#undef RETORT_MESSAGE

}  // namespace retort::cluster
