// Requests to cancel or retry trials of a run that goes on, and the answers to them. Both are files below the results
// folder, so that whoever may write there may ask. Bytes: storage/FORMAT.md. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/ids.h"
#include "experiments/base/status.h"

namespace retort::orchestrator {

enum class Amendment : std::uint8_t { retry = 1, cancel = 2 };  // append only: the numbers stand in requests

inline constexpr std::size_t kMaxRequestedTrials = 65'536;  // trials of one request
inline constexpr std::size_t kMaxRequestBytes = 1U << 20U;  // of a request or an answer
inline constexpr std::size_t kMaxSweepNameBytes = 1024;
inline constexpr std::size_t kMaxAnswerText = 16'384;  // bytes; a longer one is cut

struct RequestedTrial {
  TrialId trial;
  std::uint32_t attempts = 0;  // begun when the request was made: a trial that was tried since needs no retry
  bool operator==(const RequestedTrial&) const = default;
};

struct AmendRequest {
  Amendment amendment = Amendment::cancel;
  std::string sweep;  // name; a request of another sweep is refused
  std::vector<RequestedTrial> trials;
  bool operator==(const AmendRequest&) const = default;
};

enum class AnswerKind : std::uint8_t {
  done = 1,
  saving = 2,  // workers save their state; another answer follows
  refused = 3,
};

struct AmendAnswer {
  AnswerKind kind = AnswerKind::done;
  std::string text;              // for people; of a refusal its reason
  std::vector<TrialId> changed;  // the first kMaxRequestedTrials, with those that came along
  bool operator==(const AmendAnswer&) const = default;
};

// At most kMaxRequestedTrials trials and kMaxSweepNameBytes of name.
[[nodiscard]] std::string EncodeRequest(const AmendRequest& request);
// Error: usage for another version, damage for everything else that EncodeRequest does not write, naming the
// field.
[[nodiscard]] Result<AmendRequest> DecodeRequest(std::string_view bytes);
// Text and trials beyond the limits are left out.
[[nodiscard]] std::string EncodeAnswer(const AmendAnswer& answer);
// Error: as DecodeRequest.
[[nodiscard]] Result<AmendAnswer> DecodeAnswer(std::string_view bytes);

}  // namespace retort::orchestrator
