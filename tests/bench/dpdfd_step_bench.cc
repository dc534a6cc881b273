// Seconds of one dpdfd step (working reading), as retort-worker runs it: release, student steps, generator steps; or of
// one step of a plain teacher. Prints what tests/bench/peers/dpdfd_step.py prints, and which regions are not recorded.
// usage: dpdfd_step_bench key=value...
//   keys: method (dpdfd or plain), steps, warmup, batch, student_batch, student_steps, generator_width, threads,
//   network, precision, device (with plugin: cuda:0), graphs (off or auto)
#include <chrono>
#include <cstdio>

#include "tests/bench/preset_loop.h"

int main(int argc, char** argv) {
  using namespace retort::worker;
  const Options options = ListOptions(argc, argv);
  PresetLoop loop(options);
  std::printf("{\"seconds_per_step\": [");
  for (std::int64_t step = 0, warmup = Number(options, "warmup", 5); step < loop.spec().steps; ++step) {
    const auto began = std::chrono::steady_clock::now();
    loop.Step(step);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
    if (step >= warmup) std::printf("%s%.9f", step > warmup ? ", " : "", taken.count());
  }
  std::printf("], \"threads\": %d, \"declined\": \"%s\"}\n", loop.spec().threads, loop.Declined().c_str());
  return 0;
}
