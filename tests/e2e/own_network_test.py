#!/usr/bin/env python3
"""Networks that a sweep file describes, through the programs: trained as teachers and students, claimed, stopped and gone on
with, exported, and asked about.

usage: own_network_test.py --retort PROGRAM --source DIR
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
import sweep_run  # noqa: E402

OPTIONS = sweep_run.parse_options("retort", "source")
NETWORKS = """
[network.mine]
layers = [
  { kind = "conv", out = 4, kernel = 3, stride = 2, padding = 1 }, "relu", { kind = "max_pool", kernel = 2 },
  "flatten", { kind = "linear", out = "classes", name = "fc" },
]
[network.blocks]
layers = [
  { kind = "conv", out = 4, kernel = 3, stride = 2, bias = false, name = "stem" }, { kind = "group_norm", groups = 2 }, "relu",
  { kind = "basic_block", out = 8, stride = 2, norm = "group", groups = 2, shortcut = "A", name = "layer1" },
  { kind = "basic_block", out = 8, stride = 2, norm = "group", groups = 2, shortcut = "B", name = "layer2" },
  "spatial_mean", { kind = "linear", out = "classes", name = "fc" },
]
"""
EVERY = """
noise = "{noise}"
threads = 1
delta = 1e-4
steps = {steps}
replay = 2
student_steps = 2
student_batch = 16
generator_width = 8
latent = 16
checkpoint_every = "0s"
[teacher]
one = {{ network = "mine", epochs = 1 }}
four = {{ network = "blocks", members = 4, epochs = 1 }}
[sweep]
name = "own"
zip.row = [
  {{ method = "dpdfd", reading = "working", teacher = "one", student = "blocks", batch = 16 }},
  {{ method = "dpdfd", reading = "sound", teacher = "four", source = "public", queries = 64, vote_noise = 1, label_steps = 4, student = "mine" }},
  {{ method = "dpsgd", student = "mine", noise_multiplier = 1, batch = 64, norm_bound = 0.1, lr = 1 }},
  {{ method = "dpsgd", student = "blocks", noise_multiplier = 1, batch = 64, norm_bound = 0.1, lr = 1 }},
]
[table.main]
rows = ["method", "student"]
"""

MAKER = """
[network.maker]
layers = [
  { kind = "linear", out = 64 }, "relu", { kind = "linear", out = 196, bias = false, name = "wide" }, { kind = "batch_norm" },
  { kind = "reshape", channels = 4, height = 7, width = 7 }, { kind = "conv_transpose", out = 4, kernel = 2, stride = 2, name = "up" },
  "upsample", { kind = "conv", out = 1, kernel = 3, padding = 1 }, "tanh",
]
"""
MADE = """
batch = 16
[teacher]
one = { network = "logistic", epochs = 1 }
[sweep]
name = "made"
zip.row = [
  { method = "dpdfd", reading = "working", teacher = "one", student = "logistic", generator = "maker" },
  { method = "dpdfd", reading = "working", teacher = "one", student = "logistic" },
  { method = "dp-merf", student = "logistic", generator = "maker", noise_multiplier = 4, synthetic = 64, epochs = 1 },
]
"""


class OwnNetworkTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="retort-own-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = {**os.environ, "XDG_CACHE_HOME": os.path.join(self.folder, "cache")}

    def write(self, networks=NETWORKS, noise="secure", steps=4, rows=None):
        head = sweep_run.SMALL_DIGITS.format(source=os.path.abspath(OPTIONS.source)).split("[trial]")[0]
        path = os.path.join(self.folder, "own.toml")
        with open(path, "w", encoding="utf-8") as file:
            every = EVERY.format(noise=noise, steps=steps)
            file.write(head + networks + '[trial]\ndata = "digits"' + (every if rows is None else every.split("[teacher]")[0] + rows))
        return path

    def retort(self, *words, code=0):
        run = subprocess.run([OPTIONS.retort, *words], capture_output=True, text=True, cwd=self.folder, env=self.environment, check=False)
        self.assertEqual(run.returncode, code, f"{' '.join(words)}\n{run.stdout}\n{run.stderr}")
        return run

    def json(self, *words):
        return json.loads(self.retort(*words, "--json").stdout)

    def trials(self, results):
        return {trial["name"]: trial for trial in self.json("list", "--results", results)["trials"]}

    def test_trains_and_claims_as_any_network(self):
        sweep = self.write()
        self.retort("run", sweep, "--quiet", "--slots", "2", "--results", "r")
        trials = self.trials("r")
        self.assertEqual({trial["state"] for trial in trials.values()}, {"succeeded"})
        self.assertEqual(len(trials), 6)
        for trial in trials.values():
            if trial["spec"].get("method") != "dpsgd":
                continue
            shown = self.json("show", trial["trial"], "--results", "r")
            claims = [claim for claim in shown["claims"] if claim["adjacency"] == "example"]
            self.assertTrue(claims and all(claim["status"] == "proven" and 0 < claim["epsilon"] < 100 for claim in claims), claims)
            self.assertIn("linear name=fc out=classes", trial["spec"]["layers"])
        self.retort("verify", "--results", "r")
        again = self.json("plan", sweep, "--results", "r")
        self.assertFalse(any(trial["new"] for trial in again["trials"]), "the same description is the same trial")
        self.assertIn("blocks", self.retort("table", sweep, "--results", "r").stdout)

    def test_another_description_is_another_trial(self):
        def ids(networks):
            return {trial["name"].rpartition("-")[0]: trial["trial"] for trial in self.json("plan", self.write(networks))["trials"]}
        one, other = ids(NETWORKS), ids(NETWORKS.replace("out = 4, kernel = 3, stride = 2, padding = 1", "out = 5, kernel = 3, stride = 2, padding = 1"))
        self.assertEqual(set(one), set(other))
        changed = {name for name in one if one[name] != other[name]}
        self.assertEqual(len(changed), 4, "its teacher, that teacher's student, and the two that train it")
        self.assertEqual(ids(NETWORKS + "[network.third]\n" + NETWORKS.split("[network.mine]\n")[1].split("[network")[0]), one)

    def test_stopped_run_goes_on_with_the_same_network(self):
        sweep = self.write(noise="seeded", steps=40)
        self.retort("run", sweep, "--quiet", "--slots", "1", "--results", "whole")
        run = subprocess.Popen([OPTIONS.retort, "run", sweep, "--quiet", "--slots", "1", "--results", "stopped"], cwd=self.folder, env=self.environment)
        folder = os.path.join(self.folder, "stopped", "trials")
        sweep_run.wait_for(lambda: run.poll() is not None or any("checkpoint" in name for _, _, names in os.walk(folder) for name in names), "a checkpoint")
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(timeout=sweep_run.PATIENCE), 75)
        with open(sweep, "w", encoding="utf-8") as file:
            file.write("gone")  # what is left of it is in the results folder
        self.retort("run", os.path.join(self.folder, "stopped", "sweep.toml"), "--quiet", "--slots", "1", "--results", "stopped")
        whole, stopped = self.trials("whole"), self.trials("stopped")
        self.assertEqual({n: t["metrics"] for n, t in whole.items()}, {n: t["metrics"] for n, t in stopped.items()})

    def test_generator_trains_stops_exports_and_samples(self):
        sweep = self.write(MAKER, noise="seeded", steps=40, rows=MADE)
        planned = self.retort("plan", sweep).stdout
        self.assertIn("maker  9 layers, 14,129 parameters, from 16 values to pictures of digits", planned)
        self.retort("run", sweep, "--quiet", "--slots", "2", "--results", "whole")
        whole = self.trials("whole")
        self.assertEqual({trial["state"] for trial in whole.values()}, {"succeeded"})
        made = next(trial for trial in whole.values() if trial["spec"]["generator"] == "maker" and trial["spec"]["method"] == "dpdfd")
        self.assertIn("reshape channels=4 height=7 width=7", made["spec"]["generator_layers"])
        run = subprocess.Popen([OPTIONS.retort, "run", sweep, "--quiet", "--slots", "1", "--results", "stopped"], cwd=self.folder, env=self.environment)
        folder = os.path.join(self.folder, "stopped", "trials")
        sweep_run.wait_for(lambda: run.poll() is not None or any("checkpoint" in name for _, _, names in os.walk(folder) for name in names), "a checkpoint")
        run.kill()
        run.wait(timeout=sweep_run.PATIENCE)
        self.retort("run", sweep, "--quiet", "--slots", "2", "--results", "stopped")
        self.assertEqual({n: t["metrics"] for n, t in whole.items()}, {n: t["metrics"] for n, t in self.trials("stopped").items()})
        self.retort("export", made["trial"], "generator", "--format", "safetensors", "--out", "g.safetensors", "--results", "whole")
        with open(os.path.join(self.folder, "g.safetensors"), "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        self.assertEqual(header["up.weight"]["shape"], [4, 4, 2, 2])
        self.retort("sample", made["trial"], "--count", "20", "--format", "idx", "--out", "pictures", "--results", "whole")
        self.assertEqual(self.json("verify", "--results", "whole")["ok"], True)
        refused = self.retort("model", "check", "maker", "--sweep", sweep, "--image", "1x28x28", code=2).stderr
        self.assertIn("they are a generator's", refused)

    def test_weights_fit_the_description_alone(self):
        sweep = self.write()
        self.retort("run", sweep, "--quiet", "--slots", "2", "--results", "r")
        student = next(trial for trial in self.trials("r").values() if trial["spec"]["network"] == "blocks" and trial["spec"]["method"] == "dpsgd")
        self.retort("export", student["trial"], "student", "--format", "safetensors", "--out", "s.safetensors", "--results", "r")
        said = self.json("model", "check", "blocks", "--sweep", sweep, "--weights", "s.safetensors")
        self.assertTrue(said["ok"], said)
        self.assertEqual([said["keys"]["missing"], said["keys"]["unexpected"], said["keys"]["misshaped"]], [[], [], []])
        self.assertIn("conv1.weight", self.retort("model", "check", "mine", "--sweep", sweep, "--weights", "s.safetensors", code=1).stdout)
        refused = self.retort("model", "check", "mime", "--sweep", sweep, code=2).stderr
        self.assertIn("has no [network.mime]", refused)
        self.assertIn("mine", refused)
        teacher = 'one = { network = "blocks", weights = "s.safetensors" }'
        with open(sweep, encoding="utf-8") as file:
            text = file.read().replace('one = { network = "mine", epochs = 1 }', teacher)
        loaded = os.path.join(self.folder, "loaded.toml")
        with open(loaded, "w", encoding="utf-8") as file:
            file.write(text)
        self.retort("run", loaded, "--quiet", "--slots", "2", "--results", "l")
        named = {trial["spec"]["teacher"]: trial for trial in self.trials("l").values() if trial["spec"]["role"] == "teacher"}
        self.assertEqual(named["one"]["metrics"]["test.accuracy"], student["metrics"]["test.accuracy"])
        misfit = self.retort("model", "check", "mine", "--sweep", sweep, "--image", "1x2x2", code=2).stderr
        self.assertIn('max_pool (layer 3): its input is [4, 1, 1]', misfit)


if __name__ == "__main__":
    sys.exit(0 if sweep_run.all_tests_pass() else 1)
