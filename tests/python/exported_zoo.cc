// Writes networks and generators as ONNX or TorchScript, with what they answer, for exported_zoo.py.
//   exported_zoo FOLDER [torchscript]
// Each line of stdin: "NETWORK CHANNELS HEIGHT WIDTH" or "generator KIND CHANNELS HEIGHT WIDTH". Writes model.onnx or
// model.pt, input.npy (label.npy) and output.npy into the folder, and then a line "done".
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "experiments/base/rng_stream.h"
#include "storage/files/env.h"
#include "storage/formats/npy_file.h"
#include "storage/formats/onnx_file.h"
#include "worker/models/generators.h"
#include "worker/models/model_registry.h"
#include "worker/models/onnx/generator_graph.h"
#include "worker/models/onnx/network_graph.h"
#include "worker/models/recorded_module.h"
#include "worker/tensors/rng_streams.h"
#include "worker/tensors/tensor_codec.h"

namespace {

using namespace retort;
using namespace retort::worker;

constexpr std::int64_t kRows = 3, kClasses = 10;

class Folder {
 public:
  Folder(std::string path, bool torchscript) : path_(std::move(path)), torchscript_(torchscript) {}
  [[nodiscard]] bool torchscript() const { return torchscript_; }

  void PutArray(const std::string& name, const at::Tensor& tensor) const {
    const Status written = storage::WriteNpy(storage::PosixEnv(), path_ + "/" + name, MakeTensorBlob("", tensor));
    RETORT_CHECK(written.ok());
  }

  void PutModel(onnx::StatelessGraph made, const std::vector<storage::TensorBlob>& state) const {
    std::string graph = storage::EncodeOnnxGraph(made.graph);
    for (const std::string& name : made.state) {
      const auto found = std::find_if(state.begin(), state.end(), [&](const auto& blob) { return blob.name == name; });
      RETORT_CHECK(found != state.end());
      storage::AppendOnnxConstant(graph, *found);
    }
    const Result<std::string> model = storage::EncodeOnnxModel(std::move(graph), {"1", "of a test", {{"a", "b"}}});
    RETORT_CHECK(model.ok() && storage::PosixEnv().WriteFileAtomically(path_ + "/model.onnx", *model).ok());
  }

  void PutScript(const Result<std::string>& archive) const {
    if (!archive.ok()) CheckFailed("a recording", __FILE__, __LINE__, archive.status().message());
    RETORT_CHECK(storage::PosixEnv().WriteFileAtomically(path_ + "/model.pt", *archive).ok());
  }

 private:
  std::string path_;
  bool torchscript_;
};

at::Tensor DrawImages(ImageShape shape) {
  const at::Tensor rows = DrawNormalRows(kRows, shape.size(), RngStream(1, Purpose::latents));
  return rows.view({kRows, shape.channels, shape.height, shape.width});
}

// Norms, statistics, constants, and weights that begin at zero: a mistake about any of them would show.
void Disturb(Network& network) {
  for (const at::Tensor& leaf : network.parameters().leaves()) {
    if (leaf.dim() > 1 && leaf.abs().max().item<float>() > 0) continue;
    leaf.add_(DrawNormalRows(1, leaf.numel(), RngStream(2, Purpose::parameters)).view(leaf.sizes()) * 0.1);
  }
  BufferArena& buffers = network.buffers();
  for (std::size_t i = 0; i < network.plan().norm_channels.size(); ++i) {
    const at::Tensor drawn = DrawNormalRows(2, buffers.mean(i).size(0), RngStream(3, Purpose::parameters, i));
    buffers.mean(i).copy_(drawn[0] * 0.1);
    buffers.variance(i).copy_(drawn[1].abs() * 0.5 + 0.5);
  }
  if (const std::int64_t values = buffers.constants().numel(); values > 0)
    buffers.constants().copy_(DrawNormalRows(1, values, RngStream(4, Purpose::parameters))[0] * 0.3);
}

void WriteNetwork(const std::string& name, ImageShape shape, const Folder& folder) {
  const Result<std::vector<Layer>> layers = MakeLayers(name, kClasses);
  RETORT_CHECK(layers.ok());
  Network network(*layers, shape, RngStream(5, Purpose::parameters));
  Disturb(network);
  const at::Tensor images = DrawImages(shape);
  folder.PutArray("input.npy", images);
  folder.PutArray("output.npy", network.Forward(images).logits);
  if (folder.torchscript()) return folder.PutScript(RecordNetwork(network, "{\"a\":\"b\"}"));
  Result<onnx::StatelessGraph> graph = onnx::MakeNetworkGraph(*layers, shape);
  RETORT_CHECK(graph.ok());
  folder.PutModel(*std::move(graph), network.StateBlobs(""));
}

// Generators that a sweep file could describe, for images of 12 x 16 pixels in three channels.
constexpr const char* kDescribed =
    "linear name=fc out=96; reshape channels=8 height=3 width=4; batch_norm name=bn0; upsample; "
    "conv_transpose name=up out=6 kernel=3 stride=2 padding=1 output_padding=1; batch_norm name=bn1 affine=false; "
    "leaky slope=0.2; conv name=conv out=3 kernel=3 padding=1; tanh";
// For 82 x 82 pixels; 1 / 41 is not exact. Groups of every layer that has some.
constexpr const char* kDescribedInGroups =
    "linear name=fc out=20; reshape channels=20 height=1 width=1; "
    "conv_transpose name=t1 out=8 kernel=3 stride=2 padding=1 output_padding=1 groups=4 bias=false; group_norm name=n1 "
    "groups=2; gelu; "
    "upsample factor=41; conv name=c1 out=4 kernel=3 padding=1 groups=2; group_norm name=n2 groups=4; relu; "
    "conv_transpose name=t2 out=3 kernel=3 padding=1; sigmoid";
constexpr const char* kDescribedOfClass =
    "linear name=fc out=96; batch_norm name=bn0; relu; reshape channels=8 height=3 width=4; upsample; "
    "upsample bilinear=true; conv name=conv out=3 kernel=3 padding=1; sigmoid";

void WriteGenerator(const std::string& kind, ImageShape shape, const Folder& folder) {
  const RngStream stream(6, Purpose::parameters);
  if (kind.starts_with("conditional")) {
    ConditionalGeneratorSettings settings{.code = 5, .hidden = 20, .width = 8};
    if (kind == "conditional-described") settings.layers = std::make_shared<const std::string>(kDescribedOfClass);
    const auto generator = ConditionalGenerator::Create(shape, kClasses, settings, stream);
    const at::Tensor latents = DrawNormalRows(kRows, settings.code, RngStream(7, Purpose::latents)),
                     labels = at::arange(kRows, at::kLong) * 4;
    folder.PutArray("input.npy", latents);
    folder.PutArray("label.npy", labels);
    folder.PutArray("output.npy", (*generator)->Forward(latents, labels));
    if (folder.torchscript()) return folder.PutScript(RecordGenerator(**generator, kClasses, ""));
    folder.PutModel(*onnx::MakeGeneratorGraph(shape, kClasses, settings), (*generator)->parameters().ToBlobs(""));
    return;
  }
  GeneratorSettings settings;
  settings.latent = 7;
  settings.width = 8;
  if (kind == "described") settings.layers = std::make_shared<const std::string>(kDescribed);
  if (kind == "described-in-groups") settings.layers = std::make_shared<const std::string>(kDescribedInGroups);
  if (kind != "dafl") {
    settings.network = GeneratorNetwork::fast;
    settings.scale = {std::vector<double>(static_cast<std::size_t>(shape.channels), 0.3),
                      std::vector<double>(static_cast<std::size_t>(shape.channels), 0.2)};
  }
  const auto generator = Generator::Create(shape, settings, stream);
  const at::Tensor latents = DrawNormalRows(kRows, settings.latent, RngStream(7, Purpose::latents));
  folder.PutArray("input.npy", latents);
  folder.PutArray("output.npy", (*generator)->Forward(latents));
  if (folder.torchscript()) return folder.PutScript(RecordGenerator(**generator, settings.latent, ""));
  folder.PutModel(*onnx::MakeGeneratorGraph(shape, settings), (*generator)->parameters().ToBlobs(""));
}

}  // namespace

int main(int argc, char** argv) {
  RETORT_CHECK(argc == 2 || argc == 3);
  const Folder folder(argv[1], argc == 3 && std::string(argv[2]) == "torchscript");
  const at::NoGradGuard no_grad;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string name, kind;
    words >> name;
    if (name == "generator") words >> kind;
    ImageShape shape;
    words >> shape.channels >> shape.height >> shape.width;
    RETORT_CHECK(!words.fail());
    kind.empty() ? WriteNetwork(name, shape, folder) : WriteGenerator(kind, shape, folder);
    std::cout << "done" << std::endl;
  }
  return 0;
}
