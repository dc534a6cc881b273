#!/usr/bin/env python3
"""The Python package runs a small sweep and opens what it left: rows, claims, curves, samples, the student; and says what is wrong.

usage: results_test.py RETORT SOURCE_DIR
Exit 77 where no Python has torch, h5py and pandas.
"""
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile

RETORT, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
sys.path.insert(0, os.path.join(SOURCE, "tests", "testing"))
import torch_python  # noqa: E402

torch_python.enter(SOURCE)
os.environ["PATH"] = os.path.dirname(RETORT) + os.pathsep + os.environ["PATH"]
import torch  # noqa: E402

import retort  # noqa: E402
from retort import programs  # noqa: E402

SWEEP = """retort = 1
[data.digits]
reader = "idx"
path = "{source}/experiments/data/mnist10k"
split = {{ shuffle = 1, train = [0, 64], test = [64, 96] }}
[teacher]
single = {{ network = "logistic", epochs = 1 }}
[trial]
data = "digits"
teacher = "single"
student = "datalens-x0.125"
threads = 1
steps = 4
batch = 4
student_steps = 1
student_batch = 4
replay = 0
latent = 8
generator_width = 4
[sweep]
name = "small"
seeds = [0, 1]
"""


def refused(kind, function, *arguments):
    """What the error says."""
    try:
        function(*arguments)
    except kind as error:
        return str(error)
    raise AssertionError(f"{function.__name__}{arguments} is let through")


def check_tables(results):
    rows = retort.rows(results)
    students = rows[rows["role"] == "student"]
    assert len(rows) == 4 and len(students) == 2 and set(rows["state"]) == {"succeeded"}, rows
    assert students["test_accuracy"].between(0, 1).all() and sorted(students["seed"]) == [0, 1], students
    assert rows.equals(retort.rows(os.path.join(results, "results.h5")))
    claims = retort.claims(results)
    assert set(claims["name"]) <= set(rows["name"]) and len(claims) > 0, claims
    assert claims["status"].isin(["proven", "paper-formula", "audited", "unbounded"]).all(), claims
    assert all(isinstance(one, list) for one in claims["assumptions"])
    name = students["name"].iloc[0]
    curves = retort.curves(results, name)
    assert set(curves["trial"]) == {f"{name}-{students['trial'].iloc[0]}"} and curves["value"].notna().all(), curves
    assert set(curves["step"]) <= set(range(5)) and len(retort.curves(results)) > len(curves)
    samples = retort.samples(results, name)
    assert samples["images"].shape[1:] == (1, 28, 28) and len(samples["step"]) == len(samples["images"]) > 0
    assert samples["images"].dtype == "uint8" and "claim" in samples
    assert name in refused(KeyError, retort.curves, results, "nobody")
    assert "2 trials" in refused(KeyError, retort.samples, results, "dpdfd")
    teacher = rows[rows["role"] == "teacher"]["name"].iloc[0]
    assert "no samples" in refused(KeyError, retort.samples, results, teacher)
    assert "nowhere" in refused(FileNotFoundError, retort.rows, "nowhere")
    return name


def check_student(results, name):
    for form in ("torch", "safetensors", "npz"):
        subprocess.run([RETORT, "export", name, "student", "--format", form, "--out", f"student.{form}", "--results", results], check=True)
    student = retort.load_student("student.torch")
    other = retort.load_student("student.safetensors")
    images = student.prepare(torch.rand(5, 1, 28, 28))
    assert torch.equal(student(images), other(images)) and not student.training
    assert list(student.state_dict()) == list(torch.load("student.torch", weights_only=True)), "names and their order are the file's"
    assert student.facts["classes"] == student(images).shape[1] == 10 and student.facts["name"].startswith(name), student.facts
    again = retort.load_student("student.torch")
    again.load_state_dict(other.state_dict())
    assert torch.equal(again.double()(images.double()).argmax(1), student(images).argmax(1))
    traced = torch.jit.trace(student, images)
    assert torch.allclose(traced(images[:2]), student(images[:2]))
    loss = student.train()(images).square().sum()
    loss.backward()
    assert all(parameter.grad is not None for parameter in student.parameters()), "it can be trained further"
    assert "[rows, 1, 28, 28]" in refused(ValueError, student, torch.zeros(1, 3, 32, 32))


def check_other_files():
    torch.save({"fc.weight": torch.zeros(2, 2)}, "plain.pth")
    assert "does not say what its layers are" in refused(retort.NoStudent, retort.load_student, "plain.pth")
    assert "safetensors" in refused(retort.NoStudent, retort.load_student, "student.npz")
    with open("text", "w", encoding="ascii") as file:
        file.write("no network")
    assert "neither" in refused(retort.NoStudent, retort.load_student, "text")
    assert "retort export" in refused(FileNotFoundError, retort.load_student, "nowhere.pth")
    data = open("student.safetensors", "rb").read()
    open("cut.safetensors", "wb").write(data[:-400])
    assert "cannot be read" in refused(retort.NoStudent, retort.load_student, "cut.safetensors")
    changes = {"version": lambda text: dict(text, version=2), "kind": lambda text: dict(text, layers=[{"kind": "spline"}]),
               "lacks": lambda text: dict(text, layers=[{"kind": "linear", "name": "gone", "out": 10}])}
    for said, change in changes.items():
        with zipfile.ZipFile("student.torch") as whole, zipfile.ZipFile("changed.torch", "w") as changed:
            for entry in whole.infolist():
                text = whole.read(entry)
                if entry.filename.endswith("retort.json"):
                    text = json.dumps(change(json.loads(text)))
                changed.writestr(entry.filename, text)
        assert said in refused(ValueError, retort.load_student, "changed.torch"), said


def check_run():
    said = []
    ended = retort.run("small.toml", progress=said.append)
    assert ended.exit_code == 0 and ended.counts["succeeded"] == 4 and said, (ended, said)
    assert retort.run("small.toml", progress=None) == ended, "running a finished sweep does nothing"
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        retort.run("small.toml", "sweep.seeds=[0]", results="other")
    assert "trials" in shown.getvalue(), shown.getvalue()
    wrong = refused(retort.RunFailed, retort.run, "quickstrat")
    assert "quickstart" in wrong, wrong
    return ended.results


def check_programs():
    """A package whose torch is another one says so before its program would crash."""
    with tempfile.TemporaryDirectory() as site:
        home = programs.pathlib.Path(site) / "retort"
        (home / "libexec/retort").mkdir(parents=True)
        programs.HOME, programs.PROGRAMS = home, home / "libexec/retort"
        assert "no torch" in programs.find_torch_mismatch()
        (home.parent / "torch").mkdir()
        version = home.parent / "torch/version.py"
        version.write_text("__version__ = '2.10.0+cu130'\n")
        assert "2.10.0" in programs.find_torch_mismatch() and f"torch=={programs.TORCH}.*" in programs.find_torch_mismatch()
        version.write_text(f"__version__ = '{programs.TORCH}.9+cpu'\n")
        assert programs.find_torch_mismatch() is None
    with open(os.path.join(SOURCE, "pyproject.toml"), encoding="utf-8") as file:
        assert f"torch=={programs.TORCH}.*" in file.read(), "pyproject.toml names another torch"


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("small.toml", "w", encoding="utf-8") as file:
            file.write(SWEEP.format(source=SOURCE))
        results = check_run()
        name = check_tables(results)
        check_student(results, name)
        check_other_files()
        os.chdir("/")
    check_programs()
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
