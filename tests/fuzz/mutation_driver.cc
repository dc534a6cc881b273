// Runs a fuzz target where libFuzzer is not linked: inputs follow from the target's seeds and a number, so
// every run is the same.
//   TARGET [--runs N] [--seed S]     N mutated inputs, after the seeds themselves
//   TARGET --seconds T [--seed S]    as many as begin within T seconds
//   TARGET ... --from TEXT           only of seeds that begin so, as one format of several does
//   TARGET FILE...                   these inputs
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace {

constexpr std::uint64_t kBatch = 500;         // inputs a child process
constexpr unsigned kHangSeconds = 60;         // of a batch
constexpr std::size_t kMostBytes = 1U << 18;  // of an input

class Mutation {
 public:
  Mutation(const std::vector<std::string>& seeds, std::uint64_t number)
      : seeds_(seeds), state_(number * 0x9E3779B97F4A7C15U + 0x1234567) {}

  std::string Input() {
    input_ = Seed();
    for (std::size_t left = 1 + Below(6); left > 0; --left) Mutate();
    input_.resize(std::min(input_.size(), kMostBytes));
    return std::move(input_);
  }

 private:
  // splitmix64
  std::uint64_t Next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  std::size_t Below(std::size_t bound) { return bound == 0 ? 0 : Next() % bound; }
  const std::string& Seed() { return seeds_[Below(seeds_.size())]; }
  std::size_t Place() { return Below(input_.size() + 1); }
  std::size_t Length() { return Below(Below(4) == 0 ? 4096 : 16); }

  void Overwrite(const std::string& bytes) {
    const std::size_t place = Place();
    input_.replace(place, std::min(bytes.size(), input_.size() - place), bytes);
  }
  std::string Integer() {
    constexpr std::uint64_t kValues[] = {0,      1,      2,          0x7F,       0x80,       0xFF,       0x7FFF,
                                         0xFFFF, 0x8000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1ULL << 62, ~0ULL};
    std::uint64_t value = kValues[Below(std::size(kValues))];
    if (Below(3) == 0) value = Next() >> Below(64);
    if (Below(2) == 0) return std::to_string(static_cast<std::int64_t>(value));
    std::string bytes(std::size_t{1} << Below(4), '\0');
    std::memcpy(bytes.data(), &value, bytes.size());
    return bytes;
  }
  void Mutate() {
    switch (Below(8)) {
      case 0:
        if (!input_.empty()) input_[Below(input_.size())] ^= static_cast<char>(1U << Below(8));
        break;
      case 1:
        if (!input_.empty()) input_[Below(input_.size())] = static_cast<char>(Next());
        break;
      case 2:
        Overwrite(Integer());
        break;
      case 3:
        input_.erase(Place(), Length());
        break;
      case 4:
        input_.insert(Place(), input_.substr(Place(), Length()));
        break;
      case 5:
        input_.insert(Place(), Integer());
        break;
      case 6:
        input_.resize(Below(4) == 0 ? Place() : input_.size());
        break;
      case 7: {
        const std::string& other = Seed();
        Overwrite(other.substr(Below(other.size() + 1), Length()));
        break;
      }
      default:
        break;
    }
  }

  const std::vector<std::string>& seeds_;
  std::uint64_t state_;
  std::string input_;
};

void Run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

class Campaign {
 public:
  Campaign(std::uint64_t runs, std::uint64_t seed, double seconds, const std::string& from)
      : seeds_(SeedsFrom(from)), runs_(runs), seed_(seed), seconds_(seconds) {}

  int Execute() {
    if (seeds_.empty()) {
      std::fprintf(stderr, "no seed begins so\n");
      return 2;
    }
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t inputs = seeds_.size() + runs_;
    for (std::uint64_t begin = 0; begin < inputs; begin += kBatch) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      if (seconds_ > 0 && passed.count() >= seconds_) {
        inputs = begin;
        break;
      }
      const std::uint64_t end = std::min(begin + kBatch, inputs);
      if (Survives(begin, end)) continue;
      for (std::uint64_t number = begin; number < end; ++number)
        if (!Survives(number, number + 1)) return Report(number);
      std::fprintf(stderr, "inputs %llu to %llu fail together and none alone\n", static_cast<unsigned long long>(begin),
                   static_cast<unsigned long long>(end));
      return 1;
    }
    std::printf("%llu inputs\n", static_cast<unsigned long long>(inputs));
    return 0;
  }

 private:
  static std::vector<std::string> SeedsFrom(const std::string& from) {
    std::vector<std::string> seeds = retort::testing::FuzzSeeds();
    std::erase_if(seeds, [&from](const std::string& seed) { return !seed.starts_with(from); });
    return seeds;
  }
  std::string MakeInput(std::uint64_t number) const {
    if (number < seeds_.size()) return seeds_[number];
    return Mutation(seeds_, (seed_ << 32U) + number).Input();
  }
  // A crash or a hang ends the child.
  bool Survives(std::uint64_t begin, std::uint64_t end) const {
    const pid_t child = fork();
    if (child == 0) {
      alarm(kHangSeconds);
      for (std::uint64_t number = begin; number < end; ++number) Run(MakeInput(number));
      _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  int Report(std::uint64_t number) const {
    const std::string path = "fuzz-failure-" + std::to_string(number) + ".bin";
    std::ofstream(path, std::ios::binary) << MakeInput(number);
    std::fprintf(stderr, "input %llu fails; it was written to %s: run this program with that file\n",
                 static_cast<unsigned long long>(number), path.c_str());
    return 1;
  }

  const std::vector<std::string> seeds_;
  const std::uint64_t runs_, seed_;
  const double seconds_;  // 0: no limit
};

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t runs = 10000, seed = 1;
  double seconds = 0;
  std::string from;
  bool files = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--runs" && i + 1 < argc) {
      runs = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--seconds" && i + 1 < argc) {
      seconds = std::strtod(argv[++i], nullptr);
      runs = std::uint64_t{1} << 31U;
    } else if (word == "--from" && i + 1 < argc) {
      from = argv[++i];
    } else {
      std::ifstream file(word, std::ios::binary);
      Run(std::string(std::istreambuf_iterator<char>(file), {}));
      files = true;
    }
  }
  return files ? 0 : Campaign(runs, seed, seconds, from).Execute();
}
