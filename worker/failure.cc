#include "worker/failure.h"

#include <c10/util/Exception.h>

#include <new>
#include <string_view>

namespace retort::worker {
namespace {

// The CPU allocator throws a plain c10::Error; its text is all there is to tell it by.
bool IsAllocationFailure(std::string_view text) {
  return text.find("can't allocate memory") != std::string_view::npos ||
         text.find("out of memory") != std::string_view::npos;
}

}  // namespace

Failure FailureOf(const Status& status, FailureKind otherwise) {
  switch (status.code()) {
    case StatusCode::usage: return {FailureKind::configuration, status.message()};
    case StatusCode::cancelled: return {FailureKind::stopped, status.message()};
    case StatusCode::ok:
    case StatusCode::refused:
    case StatusCode::environment:
    case StatusCode::damage: break;
  }
  return {otherwise, status.message()};
}

std::optional<Failure> CatchTorch(const std::function<std::optional<Failure>()>& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Failure{FailureKind::out_of_memory, "The worker could not allocate memory."};
  } catch (const c10::OutOfMemoryError& error) {
    return Failure{FailureKind::out_of_memory, error.what_without_backtrace()};
  } catch (const c10::Error& error) {
    const bool memory = IsAllocationFailure(error.what_without_backtrace());
    return Failure{memory ? FailureKind::out_of_memory : FailureKind::internal, error.what_without_backtrace()};
  } catch (const std::exception& error) {
    return Failure{FailureKind::internal, error.what()};
  }
}

}  // namespace retort::worker
