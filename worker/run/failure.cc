#include "worker/run/failure.h"

#include <c10/util/Exception.h>
#include <dnnl.hpp>

#include <algorithm>
#include <initializer_list>
#include <new>
#include <string_view>

namespace retort::worker {
namespace {

bool HoldsAny(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// Most of what LibTorch throws is a plain c10::Error; only its text classifies it. After an error of the
// device every later call in the process fails as well, so it must not count as an error of the trial.
FailureKind ClassifyError(std::string_view text) {
  if (HoldsAny(text, {"can't allocate memory", "out of memory", "_STATUS_ALLOC_FAILED"}))
    return FailureKind::out_of_memory;
  if (HoldsAny(text, {"CUDA error", "CUDA driver error", "cuDNN error", "CUDNN_STATUS_", "CUBLAS_STATUS_",
                      "CUSOLVER_STATUS_", "CUFFT_"}))
    return FailureKind::device;
  return FailureKind::internal;
}

}  // namespace

Failure MakeFailure(const Status& status, FailureKind otherwise) {
  switch (status.code()) {
    case StatusCode::usage:
      return {FailureKind::configuration, status.message()};
    case StatusCode::cancelled:
      return {FailureKind::stopped, status.message()};
    case StatusCode::ok:
    case StatusCode::refused:
    case StatusCode::environment:
    case StatusCode::damage:
      break;
  }
  return {otherwise, status.message()};
}

Failure MakeReleaseFailure(const Status& status) {
  const bool device = ClassifyError(status.message()) == FailureKind::device;
  return {device ? FailureKind::device : FailureKind::disk, status.message()};
}

std::optional<Failure> CatchTorch(const std::function<std::optional<Failure>()>& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Failure{FailureKind::out_of_memory, "The worker could not allocate memory."};
  } catch (const c10::OutOfMemoryError& error) {
    return Failure{FailureKind::out_of_memory, error.what_without_backtrace()};
  } catch (const c10::Error& error) {
    return Failure{ClassifyError(error.what_without_backtrace()), error.what_without_backtrace()};
  } catch (const dnnl::error& error) {
    // oneDNN's text names the call; only its status says that memory was short, for data or for the code it generates.
    const bool memory = error.status == dnnl_out_of_memory;
    return Failure{memory ? FailureKind::out_of_memory : FailureKind::internal, error.what()};
  } catch (const std::exception& error) {
    return Failure{FailureKind::internal, error.what()};
  }
}

}  // namespace retort::worker
