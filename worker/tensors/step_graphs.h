// Steps that a device records once and then repeats without the host: one launch in place of one for each operation.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/status.h"

namespace retort::worker {

using Tensors = std::vector<at::Tensor>;

// Work that a device has recorded.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  // Has the device do it once more, behind what it was given before, without waiting for it. `body`: what does the same
  // without the graph; devices for tests compare the two. Error: environment.
  [[nodiscard]] virtual Status Replay(const std::function<Status()>& body) = 0;
};

// A device that can record what it is given to do. One thread at a time.
class GraphDevice {
 public:
  virtual ~GraphDevice() = default;
  // Before the first call of a trial, and after its last graph is gone.
  virtual void Begin() {}
  virtual void End() {}
  // Runs `body`, and the device notes what it is told to do instead of doing it. Tensors that `body` makes last no
  // longer than it does. Error: what `body` returned, or did that cannot be recorded. Nothing was done in any case.
  [[nodiscard]] virtual Result<std::unique_ptr<DeviceGraph>> Record(const std::function<Status()>& body) = 0;
  // Copies `from`, contiguous on the CPU, to `to`, behind what the device was given before. Does not wait; `from` may
  // change as soon as the call returns.
  virtual void Upload(const at::Tensor& from, const at::Tensor& to) = 0;
};

// Other processes whose devices do the same steps at the same time: operations with them are recorded, too.
class GraphPeers {
 public:
  virtual ~GraphPeers() = default;
  // With them so far.
  [[nodiscard]] virtual std::int64_t operations() const = 0;
  // Called by all of them at once: whether `own` is true for all. Error: of the peers.
  [[nodiscard]] virtual Result<bool> AllHave(bool own) = 0;
  // Returns when the device has done what it was given so far. Error: a peer is lost or late.
  [[nodiscard]] virtual Status AwaitReplay() = 0;
};

// Whether this thread is in the body of a region. Nothing may be paid for or let out there: a recorded body is not
// called again.
[[nodiscard]] bool IsInsideRegion();

// How often a region ran, by what.
struct RegionUse {
  std::string name;
  std::int64_t eager = 0, recorded = 0, replayed = 0;
  std::string declined;  // why some of it is not recorded; empty: nothing stands against it
};

// The recorded steps of one trial. Outlives its regions.
class StepGraphs {
 public:
  // `at`: the device that `device` records for. `peers`: null where steps are this process's alone; they run the same
  // regions in the same order, and those with operations between them record and replay together.
  StepGraphs(GraphDevice& device, at::Device at, GraphPeers* peers = nullptr)
      : device_(device), at_(at), peers_(peers) {
    device_.Begin();
  }
  ~StepGraphs() { device_.End(); }
  StepGraphs(const StepGraphs&) = delete;
  StepGraphs& operator=(const StepGraphs&) = delete;

  // Of every region so far, by name; those of one name are added up.
  [[nodiscard]] std::vector<RegionUse> Uses() const;

 private:
  friend class GraphRegion;
  GraphDevice& device_;
  at::Device at_;
  GraphPeers* peers_;
  bool inside_ = false;  // a region is running
  std::vector<std::shared_ptr<RegionUse>> uses_;
};

// A part of a step that is repeated with other numbers: run as it is on the CPU, and elsewhere recorded after its first
// runs and then replayed. Whatever differs from run to run is one of its inputs: a number that its body takes from
// elsewhere on the host keeps the value that it had when it was recorded. What the body changes in place (parameters,
// moments, running statistics) stays where it is in memory as long as the region lives.
class GraphRegion {
 public:
  // Computes the outputs from the inputs. Where those are recorded it is not called again, so it changes nothing on the
  // host.
  using Body = std::function<Result<Tensors>(const Tensors& inputs)>;

  // graphs null: nothing is ever recorded.
  GraphRegion(StepGraphs* graphs, std::string name);
  GraphRegion(GraphRegion&&) = default;

  // Whether runs are, or would be, recorded. Not inside another region, whose part this one then is.
  [[nodiscard]] bool Records() const;
  // Runs the body as it is from now on, and says why.
  void Decline(const std::string& why);
  // Returns what `body` makes of `inputs`, each of which lies on the device or the CPU, or is undefined. `constants`:
  // numbers on the host that the body uses; other ones are another recording, as are other shapes. The outputs have no
  // graph and are overwritten by the next run. Error: what the body returned, or of the peers. Throws c10::Error, with
  // the device's words, where that fails.
  [[nodiscard]] Result<Tensors> Run(const Tensors& inputs, const Body& body, const std::vector<double>& constants = {});

 private:
  // One shape of inputs.
  struct Shape {
    std::int64_t runs = 0;
    bool meets_peers = false;  // the body has operations with them
    Tensors inputs, outputs;   // what the recorded body reads and writes
    at::Tensor bytes, staged;  // inputs that come from the CPU, together: on the device, on the CPU
    std::unique_ptr<DeviceGraph> graph;
  };
  [[nodiscard]] Shape& FindShape(const Tensors& inputs, const std::vector<double>& constants);
  [[nodiscard]] Result<Tensors> RunEagerly(const Tensors& inputs, const Body& body);
  // From the shape's inputs to its outputs.
  [[nodiscard]] static Status RunInPlace(Shape& shape, const Body& body);
  [[nodiscard]] Status Record(Shape& shape, const Body& body);
  // Whether all peers have recorded the shape, which this process has where `own` is ok; says why where they have not.
  [[nodiscard]] Result<bool> AllRecorded(Shape& shape, const Status& own);
  void Fill(Shape& shape, const Tensors& inputs);
  StepGraphs* graphs_;
  std::shared_ptr<RegionUse> use_;
  std::map<std::vector<std::int64_t>, Shape> shapes_;
};

}  // namespace retort::worker
