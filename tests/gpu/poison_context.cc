// Preloaded into a worker by worker_gpu_test.py: when the file named by POISON_WHEN appears, takes it away
// and runs a kernel that traps on device 0, as faulty memory or a faulty kernel would. Needs the driver
// alone.
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

constexpr const char* kTrap = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry poison() { trap; }\n";

// A function of the driver by name and type; ends the thread's work when there is none.
template <typename Function>
Function* Driver(const char* name) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(driver, name));
}

void Poison() {
  auto* const retain = Driver<int(void**, int)>("cuDevicePrimaryCtxRetain");
  auto* const use = Driver<int(void*)>("cuCtxSetCurrent");
  auto* const load = Driver<int(void**, const void*)>("cuModuleLoadData");
  auto* const find = Driver<int(void**, void*, const char*)>("cuModuleGetFunction");
  auto* const launch =
      Driver<int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**)>(
          "cuLaunchKernel");
  void *context = nullptr, *module = nullptr, *kernel = nullptr;
  if (retain == nullptr || use == nullptr || load == nullptr || find == nullptr || launch == nullptr) return;
  if (retain(&context, 0) != 0 || use(context) != 0) return;
  if (load(&module, kTrap) != 0 || find(&kernel, module, "poison") != 0) return;
  launch(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
}

[[gnu::constructor]] void Begin() {
  const char* const file = std::getenv("POISON_WHEN");
  if (file == nullptr) return;
  std::thread([file] {
    // In a program that never loads the driver this waits for ever; it ends with the program.
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(5)))
      if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr && ::unlink(file) == 0) return Poison();
  }).detach();
}

}  // namespace
