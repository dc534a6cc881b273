#include "cluster/answer.h"

#include "cluster/envelope.h"

namespace retort::cluster {
namespace {

FailureKind FailureFor(StatusCode code) {
  switch (code) {
    case StatusCode::usage:
    case StatusCode::refused:
      return FailureKind::configuration;
    case StatusCode::damage:
      return FailureKind::disk;
    default:
      return FailureKind::internal;
  }
}

}  // namespace

Status SendAnswer(SocketLink& link, const Result<std::string>& answer) {
  Ended ended;
  ended.succeeded = answer.ok();
  if (answer.ok()) {
    RETORT_RETURN_IF_ERROR(link.Send({{}, {}, 0, Answer{*answer}}));
  } else {
    ended.failure = FailureFor(answer.status().code());
    ended.detail = answer.status().message();
  }
  return link.Send({{}, {}, 0, ended});
}

}  // namespace retort::cluster
