// print_curve ATTEMPT_H5 CURVE: its values, one a line, in the order of the steps.
#include <cstdio>

#include "storage/results/attempt_file.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto file = retort::storage::ReadAttemptFile(argv[1]);
  if (!file.ok()) {
    std::fprintf(stderr, "%s\n", file.status().message().c_str());
    return 1;
  }
  const auto found = file->curves.find(argv[2]);
  if (found == file->curves.end()) return 1;
  for (const auto& [step, value] : found->second) std::printf("%.9g\n", value);
  return 0;
}
