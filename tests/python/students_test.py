#!/usr/bin/env python3
"""Every network that a sweep can name, exported after a step of training, is in Python what it is in the program: load_student
gives its logits, in both formats.

usage: students_test.py RETORT SOURCE_DIR quick | all | NETWORK...      quick: of each kind of layer a network, mostly small ones, by turns in one of the formats
Exit 77 where no Python has torch.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

RETORT, SOURCE, CHOSEN = sys.argv[1], sys.argv[2], sys.argv[3:]
sys.path.insert(0, os.path.join(SOURCE, "tests", "testing"))
import torch_python  # noqa: E402

torch_python.enter(SOURCE)
import numpy  # noqa: E402
import torch  # noqa: E402

import retort  # noqa: E402

TOLERANCE = 1e-5
FORMATS = ["safetensors", "torch"]
QUICK = ["datalens", "tanh-cnn", "hog-linear", "patch-linear", "scattering-linear", "mobilenet_v2", "shufflenet_v2_x1_0",
         "googlenet-transform-input", "vit_b_16", "resnet18-cifar", "wrn16-1-gn", "conv-small", "cnn-128"]
FROZEN = {"hog-linear", "patch-linear", "scattering-linear", "hog-scattering-linear"}
GREY = {"datalens", "tanh-cnn", "logistic", "hog-linear", "patch-linear", "scattering-linear", "hog-scattering-linear", "bn-cnn", "dense-mnist", "conv-small-mnist",
        "wrn16-1-gn", "resnet18-cifar-gn"}
COLOUR_TOO = {"logistic", "hog-linear", "patch-linear", "scattering-linear", "hog-scattering-linear"}
SWEEP = """retort = 1
[data.set]
reader = "{reader}"
path = "{source}/{path}"
{size}
split = {{ train = [0, {private}], public = [{private}, {public}], test = [{public}, {end}] }}
[teacher]
t = {{ network = "logistic", epochs = 1, batch = 2 }}
[trial]
data = "set"
threads = 1
noise = "seeded"
delta = 1e-4
steps = 2
[sweep]
name = "zoo"
zip.row = [
{rows}
]
"""
FREE = '{{ method = "dpdfd", reading = "working", teacher = "t", student = "{name}", batch = 4, student_batch = 4, student_steps = 1, replay = 0, latent = 8, generator_width = 4{more} }},'
LINEAR = '{{ method = "dp-gd", student = "{name}", batch = "full", noise_multiplier = 1, norm_bound = 0.1, lr = 1 }},'


def call(*words):
    run = subprocess.run([RETORT, *words], capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"{words}: exit {run.returncode}\n{run.stdout}{run.stderr}"
    return run.stdout


def network_names():
    said = subprocess.run([RETORT, "model", "check", "0"], capture_output=True, text=True, check=False).stderr
    names = re.search(r"there are (.*)\.", said).group(1).split(", ")
    assert len(names) > 40, said
    return names


def images_of(shape):
    return numpy.random.default_rng(3).normal(size=(3, *shape)).astype("float32")


def compare(name, path, folder):
    """The largest difference of logits, relative to the largest of them."""
    student = retort.load_student(path)
    images = images_of(student.facts["image"])
    numpy.save(f"{folder}/images.npy", images)
    call("model", "check", name, "--weights", path, "--input", f"{folder}/images.npy", "--logits-out", f"{folder}/logits.npy", "--force")
    expected = numpy.load(f"{folder}/logits.npy")
    with torch.inference_mode():
        given = student(torch.from_numpy(images)).numpy()
    assert numpy.abs(expected).max() > 0 and student.facts["network"] == name, (name, student.facts)
    return numpy.abs(given - expected).max() / numpy.abs(expected).max()


def check_set(names, folder, quick, **data):
    rows = "\n".join((LINEAR if name in FROZEN else FREE).format(name=name, more=data["more"]) for name in names)
    with open(f"{folder}/zoo.toml", "w", encoding="utf-8") as file:
        file.write(SWEEP.format(source=SOURCE, rows=rows, **data))
    results = f"{folder}/results"
    call("run", f"{folder}/zoo.toml", "--quiet", "--results", results)
    trials = json.loads(call("list", "--json", "--results", results))["trials"]
    students = {trial["spec"]["network"]: trial["trial"] for trial in trials if trial["spec"]["role"] != "teacher" and trial["spec"]["role"] != 0}
    assert set(students) >= set(names), (names, students)
    worst = 0.0
    for number, name in enumerate(names):
        # What a format holds is no matter of the network: of a quick run, the first has both.
        for form in FORMATS if number == 0 or not quick else FORMATS[number % 2:][:1]:
            path = f"{folder}/student.{form}"
            call("export", students[name], "student", "--format", form, "--out", path, "--force", "--results", results)
            error = compare(name, path, folder)
            print(f"{name} {form} {data['reader']}: relative difference {error:.1e}", flush=True)
            assert error <= TOLERANCE, (name, form, error)
            worst = max(worst, error)
    return worst


def main():
    names = network_names()
    assert set(QUICK) <= set(names), "a network has another name"
    names, quick = {"all": names, "quick": QUICK}.get(CHOSEN[0], CHOSEN), CHOSEN[0] == "quick"
    grey = dict(reader="idx", path="experiments/data/mnist10k", size="", private=64, public=128, end=192, more="")
    colour = dict(reader="pictures", path="tests/fixtures/folders/things", size="size = [32, 32]", private=1, public=2, end=3, more="")
    large = dict(colour, size="size = [64, 64]")
    sets = [([n for n in names if n in GREY], grey), ([n for n in names if n == "alexnet"], large),
            ([n for n in names if n != "alexnet" and (n not in GREY or n in COLOUR_TOO and not quick)], colour)]
    for chosen, data in sets:
        if chosen:
            with tempfile.TemporaryDirectory() as folder:
                print(f"{len(chosen)} networks of {data['reader']}, worst {check_set(chosen, folder, quick, **data):.1e}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
