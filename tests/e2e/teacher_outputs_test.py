#!/usr/bin/env python3
"""A loaded teacher with more outputs than the data set has classes: `outputs` says which of them are the classes.

usage: teacher_outputs_test.py --retort PROGRAM --source DIR
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
import sweep_run  # noqa: E402

OPTIONS = sweep_run.parse_options("retort", "source")
PLACES = [12, 3, 7, 0, 9, 14, 1, 11, 5, 8]  # of the ten digits among fifteen outputs
STUDENTS = """
[teacher]
own = {{ network = "logistic", weights = "{weights}"{outputs} }}
[sweep]
name = "outputs"
zip.row = [
  {{ method = "dpdfd", reading = "working", teacher = "own", steps = 4, replay = 2, student_steps = 2, student_batch = 16, generator_width = 8, latent = 16 }},
  {{ method = "dpsd-label", reading = "working", teacher = "own", steps = 4, replay = 2, student_steps = 2, student_batch = 16, generator_width = 8, latent = 16 }},
]
[table.main]
rows = ["method"]
"""


def widen(path, wide):
    """Writes the safetensors of a linear classifier of ten classes as one of fifteen outputs; those that are no digit win."""
    with open(path, "rb") as file:
        data = file.read()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    header, body, parts = json.loads(data[8:end]), b"", {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        row = (last - first) // entry["shape"][0]
        rows = [struct.pack(f"<{row // 4}f", *[9.0] * (row // 4))] * 15
        for digit, place in enumerate(PLACES):
            rows[place] = data[end + first + row * digit:end + first + row * (digit + 1)]
        parts[name] = {"dtype": entry["dtype"], "shape": [15, *entry["shape"][1:]], "data_offsets": [len(body), len(body) + 15 * row]}
        body += b"".join(rows)
    text = json.dumps(parts).encode()
    with open(wide, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


class TeacherOutputsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="retort-outputs-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = {**os.environ, "XDG_CACHE_HOME": os.path.join(self.folder, "cache")}
        self.head = sweep_run.SMALL_DIGITS.format(source=os.path.abspath(OPTIONS.source))
        trained = self.write("trained", '[sweep]\nname = "trained"\ngrid.method = ["dp-gd"]\n', self.head.replace("batch = 64\n", "steps = 30\n"))
        self.retort("run", trained, "--quiet", "--slots", "1", "--results", "trained")
        self.expected = next(iter(self.trials("trained").values()))
        self.retort("export", self.expected["trial"], "student", "--format", "safetensors", "--out", "ten.safetensors", "--results", "trained")
        widen(os.path.join(self.folder, "ten.safetensors"), os.path.join(self.folder, "wide.safetensors"))

    def write(self, name, text, head=None):
        path = os.path.join(self.folder, name + ".toml")
        kept = [line for line in self.head.splitlines() if not line.startswith(("noise_multiplier", "norm_bound", "batch"))]
        with open(path, "w", encoding="utf-8") as file:
            file.write(("\n".join(kept + ["batch = 16", ""]) if head is None else head) + text)
        return path

    def sweep(self, name, outputs=None, weights="wide.safetensors"):
        said = "" if outputs is None else f", outputs = {outputs}"
        return self.write(name, STUDENTS.format(weights=weights, outputs=said))

    def retort(self, *words, code=0):
        run = subprocess.run([OPTIONS.retort, *words], capture_output=True, text=True, cwd=self.folder, env=self.environment, check=False)
        self.assertEqual(run.returncode, code, f"{' '.join(words)}\n{run.stdout}\n{run.stderr}")
        return run

    def trials(self, results):
        return {trial["name"]: trial for trial in json.loads(self.retort("list", "--results", results, "--json").stdout)["trials"]}

    def run_sweep(self, path, results):
        self.retort("run", path, "--quiet", "--slots", "2", "--results", results)
        trials = self.trials(results)
        self.assertEqual({trial["state"] for trial in trials.values()}, {"succeeded"})
        accuracy = {(trial["spec"]["role"], trial["spec"]["method"]): trial["metrics"]["test.accuracy"] for trial in trials.values()}
        return accuracy, trials

    def test_named_outputs_teach_as_the_classes(self):
        plain, _ = self.run_sweep(self.sweep("plain", weights="ten.safetensors"), "plain")
        named, trials = self.run_sweep(self.sweep("named", PLACES), "named")
        self.assertEqual(plain[("teacher", "loaded")], self.expected["metrics"]["test.accuracy"])
        self.assertEqual(named[("teacher", "loaded")], plain[("teacher", "loaded")])
        self.assertGreater(named[("teacher", "loaded")], 0.3)
        other, _ = self.run_sweep(self.sweep("other", PLACES[::-1]), "other")
        self.assertLess(other[("teacher", "loaded")], named[("teacher", "loaded")] - 0.1, "another order is noticed")
        self.assertIn("its outputs 12 3 7 0 9 14 1 11 5 8 are the classes", self.retort("plan", self.sweep("named", PLACES)).stdout)
        teacher = next(trial for trial in trials.values() if trial["spec"]["role"] == "teacher")
        self.assertEqual(teacher["spec"]["outputs"], "12 3 7 0 9 14 1 11 5 8")
        self.retort("verify", "--results", "named")
        self.retort("archive", "--results", "named", "--out", "named.rows")
        os.remove(os.path.join(self.folder, "wide.safetensors"))
        shown = self.retort("table", self.sweep("named", PLACES), "main", "--from", "named.rows")
        self.assertIn("wide.safetensors' is not there", shown.stderr)
        self.assertIn(f"{100 * named[('student', 'dpdfd')]:.2f}", shown.stdout, "rows are shown where the weights are absent")

    def test_outputs_that_do_not_fit_are_refused(self):
        short = self.retort("plan", self.sweep("short", PLACES[:9]), code=2).stderr
        self.assertIn("short.toml:", short)
        self.assertIn("teacher.own.outputs", short)
        self.assertIn("has 10 classes: name one output for each class", short)
        for name, outputs, words in (("beyond", [*PLACES[:9], 15], "write integers from 0 to 14"), ("unnamed", None, "The file has 15 outputs")):
            run = subprocess.run([OPTIONS.retort, "run", self.sweep(name, outputs), "--quiet", "--slots", "1", "--results", name],
                                 capture_output=True, text=True, cwd=self.folder, env=self.environment, check=False)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(words, run.stdout + run.stderr)
            self.assertIn("teacher.own.outputs", run.stdout + run.stderr)


if __name__ == "__main__":
    sys.exit(0 if sweep_run.all_tests_pass() else 1)
