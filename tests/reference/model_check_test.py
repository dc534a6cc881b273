#!/usr/bin/env python3
"""Beside torchvision: `retort model check` gives its logits and parameter counts from weights in every container, and a
file that Retort writes loads into it again.

usage: model_check_test.py RETORT [all | ARCH...]
Every parameter and running statistic is random. Without words after RETORT: the networks that are quick to ask.
Exit 77 where torchvision or NumPy is missing (bash cluster/setup.sh --tests brings them).
"""
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
    import torch
    import torchvision
except (ImportError, OSError) as missing:
    print(f"skipped: {missing}; bash cluster/setup.sh --tests brings it")
    sys.exit(77)

QUICK = ["shufflenet_v2_x1_0", "mobilenet_v2", "resnet18", "googlenet"]
ALL = QUICK + ["alexnet", "vgg19_bn", "resnet34", "resnet50", "wide_resnet50_2", "densenet161", "vit_b_16"]
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


def containers(state, folder):
    torch.save(state, f"{folder}/zip.pth")
    yield "torch-zip", f"{folder}/zip.pth"
    torch.save(state, f"{folder}/legacy.pth", _use_new_zipfile_serialization=False)
    yield "torch-legacy", f"{folder}/legacy.pth"
    try:
        import safetensors.torch
    except ImportError:
        return
    safetensors.torch.save_file(state, f"{folder}/state.safetensors")
    yield "safetensors", f"{folder}/state.safetensors"


def ask(retort, *words):
    run = subprocess.run([retort, "model", "check", *words, "--json"], capture_output=True, text=True)
    assert run.returncode == 0, f"{words}: exit {run.returncode}\n{run.stdout}{run.stderr}"
    return json.loads(run.stdout)


def check(retort, name, folder):
    network = make(name)
    count = sum(p.numel() for p in network.parameters())
    images = numpy.random.default_rng(3).normal(size=(2, 3, 224, 224)).astype("float32")
    numpy.save(f"{folder}/images.npy", images)
    with torch.inference_mode():
        expected = network(torch.from_numpy(images)).numpy()
    for container, path in containers(network.state_dict(), folder):
        report = ask(retort, name, "--weights", path, "--input", f"{folder}/images.npy", "--logits-out", f"{folder}/logits.npy")
        assert report["weights"]["container"] == container, report["weights"]
        assert report["parameters"] == count, (name, report["parameters"], count)
        logits = numpy.load(f"{folder}/logits.npy")
        error = numpy.abs(logits - expected).max() / numpy.abs(expected).max()
        print(f"{name} {container}: relative difference {error:.2e}, {count} parameters")
        assert error <= TOLERANCE, (name, container, error)


def main():
    retort, names = sys.argv[1], sys.argv[2:]
    names = ALL if names == ["all"] else names or QUICK
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            check(retort, name, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
