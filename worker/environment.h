// The only place of the worker that touches the process environment.
#pragma once

namespace retort::worker {

// OpenMP threads that wait by spinning starve their neighbours as soon as workers share cores, and the runtime
// reads how long to spin before main begins. When the variable is not set, sets it and starts this program
// again in place: same process, same descriptors, same parent. Returns when nothing had to be done, or when
// starting again failed.
void LimitSpinning(char** arguments);

}  // namespace retort::worker
