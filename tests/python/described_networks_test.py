#!/usr/bin/env python3
"""Networks that a sweep file describes, beside Python's torch: the CIFAR ResNet-20 in fifteen lines has its logits from a checkpoint
as its users have them; exported students, one of them trained with DP-SGD, are in Python, as TorchScript and in ONNX Runtime what they are in the
program.

usage: described_networks_test.py RETORT SOURCE_DIR
RETORT_DATA: where it has weights/cifar10-resnet20-12fca82f.th (akamaster/pytorch_resnet_cifar10), that file too.
Exit 77 where no Python has torch, or none onnx and onnxruntime.
"""
import json
import os
import subprocess
import sys
import tempfile

RETORT, SOURCE = sys.argv[1:3]
sys.path.insert(0, os.path.join(SOURCE, "tests", "testing"))
import onnx_answers  # noqa: E402
import torch_python  # noqa: E402

torch_python.enter(SOURCE)
if onnx_answers.find_python() is None:
    print("skipped: no Python here has onnx and onnxruntime; bash cluster/setup.sh --tests brings them")
    sys.exit(77)
import numpy  # noqa: E402
import torch  # noqa: E402

import retort  # noqa: E402

sys.path.insert(0, os.path.join(SOURCE, "tests", "unit", "worker", "fixtures"))
from resnet20_reference import ResNet20  # noqa: E402

TOLERANCE = 1e-5
RESNET20 = """[network.resnet20]
layers = [
  { kind = "conv", out = 16, kernel = 3, padding = 1, bias = false, name = "conv1" },
  { kind = "batch_norm", name = "bn1" },
  "relu",
  { kind = "basic_block", out = 16, times = 3, name = "layer1" },
  { kind = "basic_block", out = 32, times = 3, stride = 2, shortcut = "A", name = "layer2" },
  { kind = "basic_block", out = 64, times = 3, stride = 2, shortcut = "A", name = "layer3" },
  "spatial_mean",
  { kind = "linear", out = "classes", name = "linear" },
]
"""
SWEEP = """retort = 1
[data.set]
reader = "pictures"
path = "{source}/tests/fixtures/folders/things"
size = [32, 32]
split = {{ train = [0, 1], public = [1, 2], test = [2, 3] }}
{network}
[network.small]
layers = [
  {{ kind = "conv", out = 8, kernel = 3, stride = 2, padding = 1, groups = 1 }}, {{ kind = "group_norm", groups = 4 }}, "gelu",
  {{ kind = "basic_block", out = 12, stride = 2, norm = "group", groups = 4, shortcut = "A" }},
  {{ kind = "basic_block", out = 16, stride = 2, norm = "group", groups = 4, shortcut = "B" }},
  {{ kind = "residual", layers = [{{ kind = "conv", out = 16, kernel = 3, padding = 1 }}, {{ kind = "leaky", slope = 0.1 }}] }},
  {{ kind = "avg_pool", kernel = 2 }}, "flatten", {{ kind = "layer_norm" }}, {{ kind = "dropout", rate = 0.2 }},
  {{ kind = "linear", out = 24 }}, "tanh", {{ kind = "linear", out = "classes", name = "fc" }},
]
{private}
[teacher]
t = {{ network = "logistic", epochs = 1, batch = 2 }}
[trial]
threads = 1
noise = "seeded"
delta = 1e-4
steps = 2
[sweep]
name = "own"
zip.row = [
  {free}, student = "resnet20" }},
  {free}, student = "small" }},
  {{ method = "dpsgd", student = "private", noise = "secure", batch = 1, noise_multiplier = 1, norm_bound = 0.1, lr = 0.5 }},
]
"""
FREE = '{ method = "dpdfd", teacher = "t", batch = 4, student_batch = 4, student_steps = 1, replay = 0, latent = 8, generator_width = 4'
# The ResNet-20 with norms that DP-SGD can use.
PRIVATE = (RESNET20.replace("[network.resnet20]", "[network.private]").replace('kind = "batch_norm"', 'kind = "group_norm", groups = 4')
           .replace('kind = "basic_block"', 'kind = "basic_block", norm = "group", groups = 4'))


def call(*words):
    run = subprocess.run([RETORT, *words], capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"{words}: exit {run.returncode}\n{run.stdout}{run.stderr}"
    return run.stdout


def logits_of(name, folder, images, *words):
    numpy.save(f"{folder}/images.npy", images)
    call("model", "check", name, *words, "--input", f"{folder}/images.npy", "--logits-out", f"{folder}/logits.npy", "--force")
    return numpy.load(f"{folder}/logits.npy")


def difference(given, expected):
    assert given.shape == expected.shape and numpy.abs(expected).max() > 0
    return numpy.abs(given - expected).max() / numpy.abs(expected).max()


def check(what, error):
    print(f"{what}: relative difference {error:.1e}", flush=True)
    assert error <= TOLERANCE, (what, error)


def images_of(rows, shape):
    return numpy.random.default_rng(3).normal(size=(rows, *shape)).astype("float32")


def random_network():
    torch.manual_seed(7)
    network = ResNet20()
    for name, value in network.state_dict().items():
        if name.endswith("running_var"):
            value.uniform_(0.5, 1.5)
        elif name.endswith(("running_mean", "bias")):
            value.normal_(0, 0.1)
    return network.eval()


def check_checkpoint(sweep, folder, path, network):
    images = images_of(16, (3, 32, 32))
    with torch.inference_mode():
        expected = network(torch.from_numpy(images)).numpy()
    check(os.path.basename(path), difference(logits_of("resnet20", folder, images, "--sweep", sweep, "--weights", path), expected))


def check_checkpoints(sweep, folder):
    network = random_network()
    state = {"module." + name: value for name, value in network.state_dict().items()}
    for name, zipped in (("twin.th", False), ("twin.pth", True)):
        torch.save({"best_prec1": 91.7, "state_dict": state}, f"{folder}/{name}", _use_new_zipfile_serialization=zipped)
        check_checkpoint(sweep, folder, f"{folder}/{name}", network)
    published = os.path.join(os.environ.get("RETORT_DATA", ""), "weights", "cifar10-resnet20-12fca82f.th")
    if not os.path.exists(published):
        print(f"not compared: there is no {published} (set RETORT_DATA)")
        return
    saved = torch.load(published, map_location="cpu", weights_only=True)["state_dict"]
    network.load_state_dict({name.removeprefix("module."): value for name, value in saved.items()}, strict=False)
    check_checkpoint(sweep, folder, published, network)


def check_onnx(name, folder, trial, images, expected):
    path, python = f"{folder}/student.onnx", onnx_answers.find_python()
    call("export", trial, "student", "--format", "onnx", "--out", path, "--force", "--results", f"{folder}/r")
    ask = [python, onnx_answers.__file__, path, f"{folder}/answer.npy", f"{folder}/images.npy"]
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    run = subprocess.run(ask, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert numpy.array_equal(numpy.load(f"{folder}/images.npy"), images)
    check(f"{name} ONNX Runtime", difference(numpy.load(f"{folder}/answer.npy"), expected))
    said = json.loads(run.stdout)
    assert said["network"] == name and said["trial"] == trial and json.loads(said["image"]) == list(images.shape[1:]), said
    assert json.loads(said["retort"])["claims"] == json.loads(said["claims"]) and len(json.loads(said["mean"])) == 3, said
    if name == "private":
        assert any(claim["status"] == "proven" for claim in json.loads(said["claims"])), said["claims"]


def check_torchscript(name, folder, trial, images, expected):
    path, extra = f"{folder}/student.pt", {"retort.json": ""}
    call("export", trial, "student", "--format", "torchscript", "--out", path, "--force", "--results", f"{folder}/r")
    module = torch.jit.load(path, _extra_files=extra)
    with torch.no_grad():
        check(f"{name} TorchScript", difference(module(torch.from_numpy(images)).numpy(), expected))
    check(f"{name} TorchScript as a teacher", difference(logits_of("torchscript", folder, images, "--torchscript", "--weights", path), expected))
    said = json.loads(extra["retort.json"])
    assert said["network"] == name and said["trial"] == trial and said["image"] == list(images.shape[1:]), said
    if name == "private":
        assert any(claim["status"] == "proven" for claim in said["claims"]), said["claims"]


def check_students(sweep, folder):
    call("run", sweep, "--quiet", "--results", f"{folder}/r")
    trials = json.loads(call("list", "--json", "--results", f"{folder}/r"))["trials"]
    students = {trial["spec"]["network"]: trial["trial"] for trial in trials if trial["spec"]["role"] == "student"}
    assert set(students) == {"resnet20", "small", "private"}, students
    for name, trial in students.items():
        for form in ("safetensors", "torch"):
            path = f"{folder}/student.{form}"
            call("export", trial, "student", "--format", form, "--out", path, "--force", "--results", f"{folder}/r")
            student = retort.load_student(path)
            assert student.facts["network"] == name, student.facts
            images = images_of(3, student.facts["image"])
            expected = logits_of(name, folder, images, "--sweep", sweep, "--weights", path)
            with torch.inference_mode():
                check(f"{name} {form}", difference(student(torch.from_numpy(images)).numpy(), expected))
        check_onnx(name, folder, trial, images, expected)
        check_torchscript(name, folder, trial, images, expected)


def main():
    assert len(RESNET20.splitlines()) <= 15
    with tempfile.TemporaryDirectory() as folder:
        sweep = f"{folder}/own.toml"
        with open(sweep, "w", encoding="utf-8") as file:
            file.write(SWEEP.format(source=SOURCE, network=RESNET20, private=PRIVATE, free=FREE))
        check_checkpoints(sweep, folder)
        check_students(sweep, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
