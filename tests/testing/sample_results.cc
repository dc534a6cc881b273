// Writes a small results folder, for the tests of other programs' readers: sample_results DIR
#include <cstdio>
#include <string>

#include "storage/results/attempt_file.h"
#include "storage/results/result_file.h"
#include "tests/testing/storage_samples.h"

namespace {

retort::Status WriteSample(const std::string& results) {
  using namespace retort::storage;
  const ResultRow row = retort::testing::SampleRow();
  const std::string attempt = results + "/" + row.attempt_file;
  Env& env = PosixEnv();
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(attempt.substr(0, attempt.find_last_of('/'))));
  RETORT_RETURN_IF_ERROR(WriteAttemptFile(env, attempt, retort::testing::SampleAttempt()));
  return WriteResultFile(env, results, "quickstart", {row, retort::testing::SampleFailedRow()},
                         {retort::testing::SampleLedgerEntry()});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: sample_results DIR\n", stderr);
    return 2;
  }
  const retort::Status status = WriteSample(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return retort::GetExitCode(status.code());
}
