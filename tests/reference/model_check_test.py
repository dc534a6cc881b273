#!/usr/bin/env python3
"""Beside torchvision: `retort model check` gives its logits and parameter counts from weights in every container, and a
file that Retort writes loads into it again.

usage: model_check_test.py RETORT SOURCE_DIR quick | all | ARCH...
Every parameter and running statistic is random. quick: the networks that are quick to ask; the round trip is run with
both.
Exit 77 where torch, torchvision, NumPy or safetensors is missing (bash cluster/setup.sh --bench brings them).
"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

PYTHON = os.environ.get("RETORT_TORCH_PYTHON", "")
if PYTHON and os.path.exists(PYTHON) and os.path.realpath(sys.prefix) != os.path.realpath(os.path.dirname(os.path.dirname(PYTHON))):
    os.execv(PYTHON, [PYTHON, *sys.argv])
try:
    import numpy
    import safetensors.torch
    import torch
    import torchvision
except (ImportError, OSError) as missing:
    print(f"skipped: {missing}; bash cluster/setup.sh --bench brings it")
    sys.exit(77)

QUICK = ["shufflenet_v2_x1_0", "googlenet"]
ALL = QUICK + ["mobilenet_v2", "resnet18", "alexnet", "vgg19_bn", "resnet34", "resnet50", "wide_resnet50_2", "densenet161", "vit_b_16"]
TOLERANCE = 1e-4


def make(name):
    """Random, and such that activations neither die nor explode."""
    torch.manual_seed(7)
    options = {"aux_logits": False, "init_weights": True} if name == "googlenet" else {}
    network = getattr(torchvision.models, name)(weights=None, **options)
    for entry, tensor in network.state_dict().items():
        if entry.endswith("running_var"):
            tensor.uniform_(0.5, 1.5)
        elif entry.endswith(("running_mean", "bias")):
            tensor.normal_(0, 0.1)
        elif entry.endswith("num_batches_tracked"):
            tensor.fill_(5)
        elif tensor.dim() == 1:
            tensor.uniform_(0.8, 1.2)
        elif not tensor.any():
            tensor.normal_(0, 0.05)  # ViT's head begins at zero
    return network.eval()


def tar_writer(source):
    """torch.save of 0.1 is no more: the script of the fixtures writes as it did."""
    path = f"{source}/tests/unit/storage/fixtures/make_weights.py"
    spec = importlib.util.spec_from_file_location("make_weights", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.save_tar


def containers(state, folder, save_tar):
    torch.save(state, f"{folder}/zip.pth")
    yield "torch-zip", f"{folder}/zip.pth"
    torch.save(state, f"{folder}/legacy.pth", _use_new_zipfile_serialization=False)
    yield "torch-legacy", f"{folder}/legacy.pth"
    save_tar(state, f"{folder}/tar.pth")
    yield "torch-tar", f"{folder}/tar.pth"
    safetensors.torch.save_file(state, f"{folder}/state.safetensors")
    yield "safetensors", f"{folder}/state.safetensors"


def ask(retort, *words):
    run = subprocess.run([retort, "model", "check", *words, "--json"], capture_output=True, text=True)
    assert run.returncode == 0, f"{words}: exit {run.returncode}\n{run.stdout}{run.stderr}"
    return json.loads(run.stdout)


def check(retort, name, folder, save_tar):
    network = make(name)
    count = sum(p.numel() for p in network.parameters())
    images = numpy.random.default_rng(3).normal(size=(2, 3, 224, 224)).astype("float32")
    numpy.save(f"{folder}/images.npy", images)
    with torch.inference_mode():
        expected = network(torch.from_numpy(images)).numpy()
    for container, path in containers(network.state_dict(), folder, save_tar):
        report = ask(retort, name, "--weights", path, "--input", f"{folder}/images.npy", "--logits-out", f"{folder}/logits.npy", "--force")
        assert report["weights"]["container"] == container, report["weights"]
        assert report["parameters"] == count, (name, report["parameters"], count)
        logits = numpy.load(f"{folder}/logits.npy")
        error = numpy.abs(logits - expected).max() / numpy.abs(expected).max()
        print(f"{name} {container}: relative difference {error:.2e}, {count} parameters")
        assert error <= TOLERANCE, (name, container, error)


SWEEP = """
retort = 1
[data.things]
reader = "pictures"
path = "{source}/tests/fixtures/folders/things"
resize = 32
crop = 32
split = {{ train = [0, 2], test = [2, 3] }}
[teacher]
own = {{ network = "resnet18", weights = "{weights}" }}
[trial]
teacher = "own"
student = "logistic"
threads = 1
steps = 1
batch = 4
student_batch = 4
student_steps = 1
replay = 0
latent = 8
generator_width = 4
"""


def round_trip(retort, source, folder):
    """Weights that become a teacher come back as torchvision's, whichever format they are exported in."""
    torch.manual_seed(11)
    classes = len(os.listdir(f"{source}/tests/fixtures/folders/things"))
    network = torchvision.models.resnet18(num_classes=classes)
    for name, tensor in network.state_dict().items():
        if name.endswith(("running_var", "running_mean")):
            tensor.uniform_(0.5, 1.5)
    torch.save(network.state_dict(), f"{folder}/own.pth")
    with open(f"{folder}/sweep.toml", "w", encoding="utf-8") as file:
        file.write(SWEEP.format(source=source, weights=f"{folder}/own.pth"))

    def call(*words):
        run = subprocess.run([retort, *words, "--results", f"{folder}/results"], capture_output=True, text=True)
        assert run.returncode == 0, f"{words}: exit {run.returncode}\n{run.stdout}{run.stderr}"
        return run.stdout

    call("run", f"{folder}/sweep.toml", "--quiet")
    [teacher] = [t["name"] for t in json.loads(call("list", "--json"))["trials"] if t["name"].startswith("teacher")]
    images = torch.randn(2, 3, 64, 64)
    for kind in ("torch", "safetensors"):
        call("export", teacher, "student", "--format", kind, "--out", f"{folder}/back.{kind}")
        path = f"{folder}/back.{kind}"
        state = torch.load(path, weights_only=True) if kind == "torch" else safetensors.torch.load_file(path)
        back = torchvision.models.resnet18(num_classes=classes)
        back.load_state_dict(state, strict=True)
        with torch.inference_mode():
            assert torch.equal(back.eval()(images), network.eval()(images)), kind
        print(f"round trip by {kind}: the same logits")


def main():
    retort, source, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    save_tar = tar_writer(source)
    for name in {"all": ALL, "quick": QUICK}.get(names[0], names):
        with tempfile.TemporaryDirectory() as folder:
            check(retort, name, folder, save_tar)
    if names[0] in ("all", "quick"):
        with tempfile.TemporaryDirectory() as folder:
            round_trip(retort, source, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
