// Record logs for fuzzing: checksums would keep nearly every input away from what decodes the records.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/formats/byte_codec.h"
#include "storage/log/record_log.h"
#include "tests/testing/fault_injection_env.h"

namespace retort::testing {

inline constexpr char kFramed = 'F';

// An input that begins with 'F' holds records (type u16, length u32, payload) that are framed with the right
// checksums; any other is the file itself.
inline std::string MakeLogFile(std::string_view input, storage::LogKind kind) {
  if (input.empty() || input.front() != kFramed) return std::string(input);
  FaultInjectionEnv env;
  auto log = storage::RecordLog::Open(env, "log", kind);
  RETORT_CHECK(log.ok());
  storage::ByteReader reader(input.substr(1));
  while (!reader.AtEnd()) {
    const std::uint16_t type = reader.U16();
    const std::uint32_t length = reader.U32();
    (*log)->Append(type, reader.Raw(std::min<std::uint64_t>(length, reader.rest().size())));
  }
  RETORT_CHECK((*log)->Sync().ok());
  return env.Bytes("log");
}

// The framed input of a log's records.
inline std::string FramedInput(const storage::LogContents& contents) {
  storage::ByteWriter input;
  input.U8(static_cast<std::uint8_t>(kFramed));
  for (const storage::Record& record : contents.records) {
    input.U16(record.type);
    input.Text(record.payload);
  }
  return std::move(input).Take();
}

// Both forms of a log that lies in `env`.
inline std::vector<std::string> LogSeeds(FaultInjectionEnv& env, const std::string& path, storage::LogKind kind) {
  const auto contents = storage::ReadRecordLog(env, path, kind);
  RETORT_CHECK(contents.ok());
  return {env.Bytes(path), FramedInput(*contents)};
}

}  // namespace retort::testing
