#include "orchestrator/journal/request_inbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "experiments/base/digests.h"
#include "experiments/methods/spec_codec.h"
#include "storage/files/path_status.h"

namespace retort::orchestrator {
namespace {

constexpr std::string_view kRequestSuffix = ".request";
constexpr std::string_view kAnswerSuffix = ".answer";
constexpr std::size_t kMaxName = 64;

// The name without the suffix; nothing for a file of another kind, half a file among them.
std::optional<std::string> NameIn(std::string_view file, std::string_view suffix) {
  if (!file.ends_with(suffix)) return std::nullopt;
  const std::string_view name = file.substr(0, file.size() - suffix.size());
  const bool plain =
      !name.empty() && name.size() <= kMaxName && name.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
  return plain ? std::optional<std::string>(name) : std::nullopt;
}

std::string MakePath(const std::string& folder, const std::string& name, std::string_view suffix) {
  return folder + "/" + name + std::string(suffix);
}

std::vector<std::string> FilesIn(storage::Env& env, const std::string& folder) {
  if (!storage::MayExist(env, folder)) return {};
  Result<std::vector<std::string>> files = env.List(folder);
  return files.ok() ? *std::move(files) : std::vector<std::string>();
}

Result<AmendRequest> ReadRequest(storage::Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const std::string bytes, env.ReadSmallFile(path, kMaxRequestBytes));
  return DecodeRequest(bytes);
}

}  // namespace

std::string GetRequestsPath(const std::string& results) { return results + "/requests"; }

RequestInbox::RequestInbox(storage::Env& env, std::string results)
    : env_(env), folder_(GetRequestsPath(std::move(results))) {}

std::vector<ReceivedRequest> RequestInbox::Look(Now now) {
  std::vector<ReceivedRequest> received;
  if (now.monotonic < next_) return received;
  next_ = now.monotonic + kLookSeconds;
  const std::vector<std::string> files = FilesIn(env_, folder_);
  for (const std::string& file : files) {
    const std::optional<std::string> name = NameIn(file, kRequestSuffix);
    if (!name || given_out_.contains(*name)) continue;
    if (received.size() == kMaxAtOnce) break;
    given_out_.insert(*name);
    received.push_back({*name, ReadRequest(env_, folder_ + "/" + file)});
  }
  RemoveOldAnswers(files);
  return received;
}

Status RequestInbox::Answer(const AddressedAnswer& answer) {
  const Status written =
      env_.WriteFileAtomically(MakePath(folder_, answer.request, kAnswerSuffix), EncodeAnswer(answer.answer));
  if (answer.answer.kind == AnswerKind::saving) return written;
  RETORT_RETURN_IF_ERROR(env_.Remove(MakePath(folder_, answer.request, kRequestSuffix)));
  given_out_.erase(answer.request);
  return written;
}

void RequestInbox::RemoveOldAnswers(const std::vector<std::string>& names) {
  std::vector<std::string> answers;
  for (const std::string& name : names)
    if (NameIn(name, kAnswerSuffix)) answers.push_back(name);
  if (answers.size() <= kMaxAnswers) return;
  answers.resize(answers.size() - kMaxAnswers);
  for (const std::string& name : answers)
    if (!env_.Remove(folder_ + "/" + name).ok()) return;
}

Status SubmitRequest(storage::Env& env, const std::string& results, const std::string& name,
                     const AmendRequest& request) {
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(GetRequestsPath(results)));
  return env.WriteFileAtomically(MakePath(GetRequestsPath(results), name, kRequestSuffix), EncodeRequest(request));
}

std::string RequestName(double unix_seconds, const std::string& host, int process) {
  const std::string from = ComputeSha256Hex(fmt::format("{} {}", host, process)).substr(0, 12);
  return fmt::format("{:017.0f}-{}", unix_seconds * 1e6, from);
}

bool IsRequestWaiting(storage::Env& env, const std::string& results, const std::string& name) {
  return storage::MayExist(env, MakePath(GetRequestsPath(results), name, kRequestSuffix));
}

Status WithdrawRequest(storage::Env& env, const std::string& results, const std::string& name) {
  return env.Remove(MakePath(GetRequestsPath(results), name, kRequestSuffix));
}

std::optional<AmendAnswer> FetchAnswer(storage::Env& env, const std::string& results, const std::string& name) {
  const std::string path = MakePath(GetRequestsPath(results), name, kAnswerSuffix);
  if (!storage::MayExist(env, path)) return std::nullopt;
  const Result<std::string> bytes = env.ReadSmallFile(path, kMaxRequestBytes);
  if (!bytes.ok()) return std::nullopt;
  const Result<AmendAnswer> answer = DecodeAnswer(*bytes);
  if (!answer.ok()) return AmendAnswer{AnswerKind::refused, answer.status().message(), {}};
  // The run removes leftovers when there are too many.
  if (answer->kind != AnswerKind::saving) (void)env.Remove(path).ok();
  return *answer;
}

std::size_t CountRequests(storage::Env& env, const std::string& results) {
  std::size_t count = 0;
  for (const std::string& file : FilesIn(env, GetRequestsPath(results)))
    if (NameIn(file, kRequestSuffix)) ++count;
  return count;
}

}  // namespace retort::orchestrator
