// Requests of users to the run that holds a results folder, and its answers: files in a folder below it.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "orchestrator/core/amend_request.h"
#include "orchestrator/core/core.h"
#include "orchestrator/core/outbox.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

[[nodiscard]] std::string GetRequestsPath(const std::string& results);

struct ReceivedRequest {
  std::string name;  // for the answer; names grow with the time at which they were made
  Result<AmendRequest> request;
};

// The side of the run.
class RequestInbox {
 public:
  static constexpr double kLookSeconds = 1;
  static constexpr std::size_t kMaxAtOnce = 16;   // requests of one call of Look
  static constexpr std::size_t kMaxAnswers = 64;  // answers that nobody fetched; older ones are removed

  RequestInbox(storage::Env& env, std::string results);

  // Returns the requests that were not returned before, oldest first, also those that cannot be read. Looks at most
  // once in kLookSeconds.
  [[nodiscard]] std::vector<ReceivedRequest> Look(Now now);
  // Writes the answer; a final one ends the request, whose file goes. Error: environment; a request that
  // stays for this reason is not given out again by this object.
  [[nodiscard]] Status Answer(const AddressedAnswer& answer);

 private:
  void RemoveOldAnswers(const std::vector<std::string>& names);
  storage::Env& env_;
  std::string folder_;
  std::set<std::string> given_out_;
  double next_ = 0;  // monotonic
};

// The side of the user. `name`: from RequestName. Error: environment, e.g. a folder that may not be written.
[[nodiscard]] Status SubmitRequest(storage::Env& env, const std::string& results, const std::string& name,
                                   const AmendRequest& request);
// Unique for process, host and time.
[[nodiscard]] std::string RequestName(double unix_seconds, const std::string& host, int process);
[[nodiscard]] bool IsRequestWaiting(storage::Env& env, const std::string& results, const std::string& name);
[[nodiscard]] Status WithdrawRequest(storage::Env& env, const std::string& results, const std::string& name);
// Nothing while there is none. A final answer is removed.
[[nodiscard]] std::optional<AmendAnswer> FetchAnswer(storage::Env& env, const std::string& results,
                                                     const std::string& name);
// Returns how many requests wait for an answer, for the commands that only read.
[[nodiscard]] std::size_t CountRequests(storage::Env& env, const std::string& results);

}  // namespace retort::orchestrator
