// Outcome types that cross module borders. Exceptions of third-party libraries are caught at one
// named function per library and turned into a Status there; a broken invariant ends the process
// through RETORT_CHECK.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace retort {

// Who has to act on an error. The process exit code follows from it (ExitCode below).
enum class StatusCode : std::uint8_t {
  ok,
  usage,        // the user's command line or sweep file: exit 2
  environment,  // disk, network, MPI, missing library or file: exit 3
  damage,       // stored bytes are not what was written: exit 1
  refused,      // a rule of the system says no (a budget, a state transition): exit 1
  cancelled,    // a deadline or a stop request came first: exit 75
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message, std::vector<std::string> choices = {})
      : code_(code), message_(std::move(message)), choices_(std::move(choices)) {}

  [[nodiscard]] bool ok() const { return code_ == StatusCode::ok; }
  [[nodiscard]] StatusCode code() const { return code_; }
  // One or more whole sentences: what happened, and what would put it right.
  [[nodiscard]] const std::string& message() const { return message_; }
  // What would have been valid where a word was not, the nearest first; may be empty.
  [[nodiscard]] const std::vector<std::string>& choices() const { return choices_; }

 private:
  StatusCode code_ = StatusCode::ok;
  std::string message_;
  std::vector<std::string> choices_;
};

inline Status UsageError(std::string message, std::vector<std::string> choices = {}) {
  return {StatusCode::usage, std::move(message), std::move(choices)};
}
inline Status EnvironmentError(std::string message) { return {StatusCode::environment, std::move(message)}; }
inline Status DamageError(std::string message) { return {StatusCode::damage, std::move(message)}; }
inline Status Refused(std::string message) { return {StatusCode::refused, std::move(message)}; }
inline Status Cancelled(std::string message) { return {StatusCode::cancelled, std::move(message)}; }

// The process exit code for a failed status; 0 for ok.
[[nodiscard]] int GetExitCode(StatusCode code);

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line, std::string_view detail);

// A value, or the Status that says why there is none. Reading the absent half is a broken
// invariant and ends the process.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}        // NOLINT(google-explicit-constructor)
  Result(Status status) : state_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    if (std::get<Status>(state_).ok()) CheckFailed("!status.ok()", __FILE__, __LINE__, "Result from ok Status");
  }

  [[nodiscard]] bool ok() const { return std::holds_alternative<T>(state_); }
  [[nodiscard]] Status status() const { return ok() ? Status() : std::get<Status>(state_); }
  [[nodiscard]] T& value() & {
    Require();
    return std::get<T>(state_);
  }
  [[nodiscard]] const T& value() const& {
    Require();
    return std::get<T>(state_);
  }
  [[nodiscard]] T&& value() && {
    Require();
    return std::get<T>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  void Require() const {
    if (!ok()) CheckFailed("result.ok()", __FILE__, __LINE__, std::get<Status>(state_).message());
  }
  std::variant<T, Status> state_;
};

}  // namespace retort

#define RETORT_CHECK(condition)                                                  \
  do {                                                                           \
    if (!(condition)) ::retort::CheckFailed(#condition, __FILE__, __LINE__, ""); \
  } while (false)

// Evaluates a Status expression and returns it from the enclosing function when it failed.
#define RETORT_RETURN_IF_ERROR(expression)                                                           \
  do {                                                                                               \
    if (::retort::Status retort_status_ = (expression); !retort_status_.ok()) return retort_status_; \
  } while (false)

#define RETORT_CONCAT_INNER(a, b) a##b
#define RETORT_CONCAT(a, b) RETORT_CONCAT_INNER(a, b)

// RETORT_ASSIGN_OR_RETURN(auto x, F()): x is F()'s value, or F()'s Status is returned.
#define RETORT_ASSIGN_OR_RETURN(declaration, expression)                                                      \
  auto RETORT_CONCAT(retort_result_, __LINE__) = (expression);                                                \
  if (!RETORT_CONCAT(retort_result_, __LINE__).ok()) return RETORT_CONCAT(retort_result_, __LINE__).status(); \
  declaration = std::move(RETORT_CONCAT(retort_result_, __LINE__)).value()
