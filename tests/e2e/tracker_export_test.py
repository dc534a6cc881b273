"""`retort export … curves --format tensorboard` and `--format mlflow`: what is written is what `show` and the CSV say, by
readers of this test's own and, where they can be imported, by TensorBoard's and MLflow's; an ε never stands alone.

usage: tracker_export_test.py --retort PROGRAM --source DIR
"""
import csv
import io
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
import event_files  # noqa: E402
import exported_facts  # noqa: E402
from sweep_run import SMALL_DIGITS, parse_options, run_tests  # noqa: E402

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError:
    EventAccumulator = None
try:
    import mlflow
except ImportError:
    mlflow = None

OPTIONS = None
FOLDER = None
SWEEP = SMALL_DIGITS + """
steps = 6
[teacher]
raw = {{ network = "logistic", epochs = 1, batch = 64, lr = 0.1 }}
[sweep]
name = "tracked: ü"
seeds = [0, 1]
zip.row = [
  {{ method = "dpsgd", noise = "secure" }},
  {{ method = "dpdfd", reading = "working", teacher = "raw", batch = 16, student_batch = 16, generator_width = 4, latent = 8 }},
]
"""
REFUTES = {"kind": "canary", "subject": "a script", "ran": True, "claim": None, "confidence": 0.95, "alarm_lower": 9,
           "alarm_proven": 1, "proven": 1, "mu_lower": None, "mu_proven": None, "detectable": None, "ceiling": None,
           "figures": [], "note": ""}
NAPS = """
retort = 1
[trial]
method = "sleep"
steps = 1
seconds = 0.01
[sweep]
name = "naps"
seeds = [0, 1]
"""


def path(*words):
    return os.path.join(FOLDER, *words)


def retort(*words):
    return subprocess.run([OPTIONS.retort, *words], cwd=FOLDER, capture_output=True, text=True, timeout=200, check=False,
                          env={**os.environ, "XDG_CACHE_HOME": path("cache")})


def asked(*words):
    done = retort(*words, "--json", "--results", "results")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def export(trial, form, out, *words):
    return retort("export", trial, "curves", "--format", form, "--out", out, "--results", "results", *words)


def read(*words):
    with open(path(*words), encoding="utf-8") as file:
        return file.read()


def content(name):
    with open(path(name), "rb") as file:
        return file.read()


def snapshot(folder):
    return {os.path.relpath(os.path.join(root, name), path(folder)): open(os.path.join(root, name), "rb").read()
            for root, _, names in os.walk(path(folder)) for name in names}


def curves_of(trial):
    """{curve: {step: value}} of the CSV."""
    out = f"{trial}.csv"
    if not os.path.exists(path(out)):
        assert export(trial, "csv", out).returncode == 0
    rows = list(csv.DictReader(io.StringIO(read(out))))
    return {name: {int(row["step"]): float(row[name]) for row in rows if row[name]} for name in rows[0] if name != "step"}


def float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def same(left, right):
    return left == right or (math.isnan(left) and math.isnan(right))


def succeeded():
    return [trial for trial in asked("list")["trials"] if trial["state"] == "succeeded"]


class TrackerExportTest(unittest.TestCase):
    def event_file(self, name):
        (found,) = os.listdir(path("board", name))
        self.assertRegex(found, r"^events\.out\.tfevents\.\d{10}\.retort$")
        return path("board", name, found)

    def run_folder(self, trial):
        (experiment,) = [name for name in os.listdir(path("mlruns")) if name.isdigit()]
        return ("mlruns", experiment, trial["trial"])

    def expect_epsilon(self, names, claims):
        """`names`: {name: value}. Each claim's worth, relation and δ stand in the name of its ε."""
        self.assertEqual(len(names), len(claims))
        for claim, (name, value) in zip(claims, names.items()):
            self.assertIn(f".{claim['adjacency']}.{claim['neighbour']}", name)
            if claim["status"] == "proven":
                self.assertTrue(name.startswith("proven."), name)
                self.expect_bound(value, claim["epsilon"], math.inf)
                self.assertEqual(float(name.split("delta-")[1]), claim["delta"])
            elif claim["epsilon"] == "inf":
                self.assertTrue(name.startswith("no-bound."), name)
                self.assertEqual(value, math.inf)
            elif claim["status"] == "audited":
                self.assertTrue(name.startswith("audited-lower-bound."), name)
                self.expect_bound(value, claim["lower"], -math.inf)
            else:
                self.assertTrue(name.startswith("paper-formula-not-a-guarantee."), name)
                self.expect_bound(value, claim["epsilon"], math.inf)

    def expect_bound(self, value, epsilon, side):
        """`value` is `epsilon`, or one of the next numbers of float32 on that side of it."""
        self.assertTrue(min(epsilon, side) <= value <= max(epsilon, side), (value, epsilon))
        self.assertAlmostEqual(value / epsilon, 1, delta=2 ** -22)

    def test_EventsAreThoseOfTheCsv(self):
        lengths = set()
        for trial in succeeded():
            told = event_files.read(self.event_file(trial["name"]))
            self.assertEqual(told["version"], "brain.Event:2")
            curves = curves_of(trial["trial"])
            lengths |= {len(points) for points in curves.values()}
            for name, points in curves.items():
                scalars = {step: value for step, _, value in told["scalars"]["curve/" + name]}
                self.assertEqual(scalars.keys(), points.keys(), name)
                for step, value in points.items():
                    self.assertTrue(same(scalars[step], float32(value)), (name, step))
            for name, value in trial["metrics"].items():
                ((step, _, found),) = told["scalars"]["metric/" + name]
                self.assertTrue(same(found, float32(value)), name)
                self.assertEqual(step, max(max(points) for points in curves.values()))
            groups = [tag.split("/")[0] for tag in told["scalars"]]
            self.assertEqual(groups.count("curve"), len(curves))
            self.assertEqual(groups.count("metric"), len(trial["metrics"]))
        self.assertGreater(max(lengths), 1)

    def test_EveryEpsilonNamesItsClaim(self):
        worths = set()
        for trial in succeeded():
            claims = asked("show", trial["trial"])["claims"]
            self.assertTrue(claims)
            worths |= {claim["status"] for claim in claims}
            told = event_files.read(self.event_file(trial["name"]))
            scalars = {tag[len("epsilon/"):]: points[0][2] for tag, points in told["scalars"].items() if tag[:8] == "epsilon/"}
            self.expect_epsilon(scalars, claims)
            stored = {name: float(read(*self.run_folder(trial), "metrics", "epsilon", name).split()[1]) for name in scalars}
            self.expect_epsilon(stored, claims)
            for name, claim in zip(scalars, claims):
                line = read(*self.run_folder(trial), "tags", "retort.claim." + name)
                self.assertIn(claim["adjacency"], line)
                self.assertIn("∞" if claim["epsilon"] == "inf" else f"{claim['epsilon']:.3f}", line)
                self.assertIn(line, told["texts"]["privacy"])
        self.assertLessEqual({"proven", "unbounded"}, worths)

    def test_SettingsAreThoseOfTheTrial(self):
        for trial in succeeded():
            told = event_files.read(self.event_file(trial["name"]))
            spec = trial["spec"]
            for key in ("method", "data", "seed", "batch", "steps"):
                if key not in told["settings"]:
                    self.assertEqual((key, spec["role"]), ("steps", "teacher"))
                    continue
                value = spec["data"]["name"] if key == "data" else spec[key]
                self.assertEqual(told["settings"][key], value, key)
                self.assertEqual(read(*self.run_folder(trial), "params", key), str(value))
                self.assertIn(f"| {key} | {value} |", told["texts"]["settings"])
            everything = "".join(str(value) for value in told["settings"].values())
            self.assertNotIn(OPTIONS.source, everything)
            self.assertEqual(told["status"], 1)

    def test_TimesAreTheJournalsNotTheClocks(self):
        newest = asked("status")["newest_event"]
        for trial in succeeded():
            told = event_files.read(self.event_file(trial["name"]))
            self.assertTrue(BEGAN <= told["began"] <= told["ended"] <= newest)
            self.assertTrue(all(told["began"] <= at <= told["ended"] for at in told["times"]))
            for points in told["scalars"].values():
                self.assertEqual([at for _, at, _ in points], sorted(at for _, at, _ in points))
        time.sleep(1.1)
        for form, out in (("tensorboard", "board"), ("mlflow", "mlruns")):
            before = snapshot(out)
            self.assertEqual(export("all", form, out, "--force").returncode, 0)
            self.assertEqual(snapshot(out), before)

    def test_MlflowFilesAreThoseOfTheTrial(self):
        for trial in succeeded():
            folder = self.run_folder(trial)
            for name, value in trial["metrics"].items():
                at, found, _ = read(*folder, "metrics", name).split()
                self.assertTrue(same(float(found), float(value)), name)
                self.assertTrue(BEGAN * 1000 <= int(at) <= time.time() * 1000)
            for name, points in curves_of(trial["trial"]).items():
                lines = [line.split() for line in read(*folder, "metrics", "curve", name).splitlines()]
                self.assertEqual({int(step): float(value) for _, value, step in lines}, points)
            meta = read(*folder, "meta.yaml")
            self.assertIn("status: 3\n", meta)
            self.assertIn(f'run_name: "{trial["name"]}"\n', meta)
            self.assertEqual(read(*folder, "tags", "retort.row_digest"), trial["row_digest"])
            self.assertEqual(json.loads(read(*folder, "artifacts", "claims.json")), asked("show", trial["trial"])["claims"])
        (experiment,) = [name for name in os.listdir(path("mlruns")) if name.isdigit()]
        self.assertIn('name: "tracked: ü"\n', read("mlruns", experiment, "meta.yaml"))

    def test_MlflowTakesEveryNameAndLength(self):
        for name in snapshot("mlruns"):
            for kind, most in (("params", 6000), ("tags", 8000)):
                if f"/{kind}/" in name:
                    self.assertLessEqual(len(read("mlruns", name)), most)
            key = re.sub(r"^\d+/[0-9a-f]{16}/\w+/", "", name)
            self.assertRegex(key, r"^[\w.\-/ ]{1,250}$")

    def test_ChangedBytesOfEventsAreSeen(self):
        name = self.event_file(succeeded()[0]["name"])
        with open(name, "rb") as file:
            whole = file.read()
        self.assertEqual(event_files.crc32c(b"123456789"), 0xE3069283)
        for at in (0, 9, 13, len(whole) // 2, len(whole) - 1):
            changed = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:]
            with self.assertRaises(ValueError):
                list(event_files.records(changed))
        with self.assertRaises(ValueError):
            list(event_files.records(whole[:-1]))

    def test_OneTrialIsExportedAlone(self):
        trial = succeeded()[0]
        done = export(trial["name"], "tensorboard", "alone", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual([one["name"] for one in told["trials"]], [trial["name"]])
        self.assertEqual(told["trials"][0]["points"], sum(len(points) for points in curves_of(trial["trial"]).values()))
        self.assertEqual(told["out"], "alone")
        self.assertEqual(sorted(os.listdir(path("alone"))), sorted(["export.json", trial["name"]]))
        del told["out"]
        self.assertEqual(json.loads(read("alone", "export.json")), told)

    def test_OnlyAnExportIsReplaced(self):
        trial = succeeded()[0]["name"]
        os.makedirs(path("mine"))
        with open(path("mine", "notes.txt"), "w", encoding="utf-8") as file:
            file.write("mine\n")
        for form in ("tensorboard", "mlflow"):
            done = export(trial, form, "board")
            self.assertEqual(done.returncode, 2)
            self.assertIn("--force", done.stderr)
            done = export(trial, form, "mine", "--force")
            self.assertEqual(done.returncode, 2)
            self.assertIn("holds something else", done.stderr)
            self.assertEqual(export(trial, form, "mine/notes.txt", "--force").returncode, 2)
        self.assertEqual(read("mine", "notes.txt"), "mine\n")

    def test_AnExportOfManyTrialsIsReplaced(self):
        trial = succeeded()[0]["name"]
        self.assertEqual(export(trial, "mlflow", "many").returncode, 0)
        document = json.loads(read("many", "export.json"))
        document["left_out"] = [f"trial {number} is queued" for number in range(300_000)]
        with open(path("many", "export.json"), "w", encoding="utf-8") as file:
            json.dump(document, file, indent=2)
        self.assertGreater(os.path.getsize(path("many", "export.json")), 8 << 20)
        done = export(trial, "mlflow", "many", "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(read("many", "export.json"))["left_out"], [])

    def test_ALinkDoesNotMakeAnExport(self):
        os.makedirs(path("linked"))
        os.symlink(path("board", "export.json"), path("linked", "export.json"))
        done = export(succeeded()[0]["name"], "mlflow", "linked", "--force")
        self.assertEqual(done.returncode, 2)
        self.assertIn("holds something else", done.stderr)

    def test_TrialsThatTrainNothingAreCalledSo(self):
        with open(path("naps.toml"), "w", encoding="utf-8") as file:
            file.write(NAPS)
        self.assertEqual(retort("run", "naps.toml", "--results", "naps", "--quiet").returncode, 0)
        done = retort("export", "all", "curves", "--format", "mlflow", "--out", "dreams", "--results", "naps")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no trial in naps left curves: their methods train nothing", " ".join(done.stderr.split()))
        self.assertNotIn("retort run", done.stderr)
        self.assertFalse(os.path.exists(path("dreams")))

    def test_WhatIsLeftOutIsCalledByItsReason(self):
        with open(path("mixed.toml"), "w", encoding="utf-8") as file:
            file.write(SMALL_DIGITS.format(source=OPTIONS.source) + 'steps = 1\n[sweep]\nname = "mixed"\nseeds = [0]\n'
                       'zip.row = [ { method = "dpsgd" }, { method = "sleep", seconds = 0.01 } ]\n')
        self.assertEqual(retort("run", "mixed.toml", "--results", "mixed", "--quiet").returncode, 0)
        done = retort("export", "all", "curves", "--format", "tensorboard", "--out", "mixture", "--results", "mixed")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("left out: 1 trial that left no curves", done.stderr)
        self.assertNotIn("did not succeed", done.stderr)
        (said,) = json.loads(read("mixture", "export.json"))["left_out"]
        self.assertIn("left no curves: its method trains nothing", said)

    def test_AllIsNoTrialOfOtherFormats(self):
        done = retort("export", "all", "curves", "--format", "csv", "--out", "all.csv", "--results", "results")
        self.assertEqual(done.returncode, 2)
        self.assertIn("`all` goes with", done.stderr)
        self.assertIn("csv, tensorboard or mlflow", retort("export", "x", "curves", "--format", "png", "--out", "x").stderr)
        self.assertIn("valid are csv", retort("export", "x", "ledger", "--format", "mlflow", "--out", "x").stderr)

    def test_NothingIsLeftOfAnExportThatFails(self):
        shutil.copytree(path("results"), path("broken"))
        trial = succeeded()[-1]
        row = next(name for name in snapshot("broken") if trial["trial"] in name and name.endswith("attempt.h5"))
        os.unlink(path("broken", row))
        before = set(os.listdir(FOLDER))
        for form in ("tensorboard", "mlflow"):
            done = retort("export", "all", "curves", "--format", form, "--out", "partial", "--results", "broken")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("attempt.h5", done.stderr)
        self.assertEqual({name for name in set(os.listdir(FOLDER)) - before if "partial" in name}, set())

    def test_OnlyTrialsThatSucceededAreExported(self):
        with open(path("one.toml"), "w", encoding="utf-8") as file:
            file.write(SMALL_DIGITS.format(source=OPTIONS.source) + 'method = "dpsgd"\nsteps = 1\n[sweep]\nname = "one"\n'
                       'seeds = [0, 1]\nquota = { trials = 1 }\n')
        self.assertEqual(retort("run", "one.toml", "--results", "one", "--quiet").returncode, 1)
        trials = json.loads(retort("list", "--results", "one", "--json").stdout)["trials"]
        (waiting,) = [one["name"] for one in trials if one["state"] == "queued"]
        done = retort("export", waiting, "curves", "--format", "mlflow", "--out", "none", "--results", "one")
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{waiting} is queued: only a trial that has succeeded leaves curves", " ".join(done.stderr.split()))
        self.assertFalse(os.path.exists(path("none")))
        done = retort("export", "all", "curves", "--format", "mlflow", "--out", "exported", "--results", "one", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual((len(told["trials"]), told["left_out"]), (1, [f"{waiting} is queued"]))

    def test_WithdrawnClaimsAreExportedWithoutABound(self):
        shutil.copytree(path("results"), path("refuted"))
        trial = next(one for one in succeeded() if any(claim["status"] == "proven" and claim["epsilon"] != "inf"
                                                       for claim in asked("show", one["trial"])["claims"]))
        folder = next(os.path.dirname(os.path.dirname(name)) for name in snapshot("refuted")
                      if trial["trial"] in name and name.endswith("attempt.h5"))
        with open(path("refuted", folder, "audit.json"), "w", encoding="utf-8") as file:
            file.write("no report\n")
        done = retort("export", trial["trial"], "curves", "--format", "tensorboard", "--out", "withdrawn", "--results", "refuted")
        self.assertEqual(done.returncode, 0, done.stderr)
        (name,) = os.listdir(path("withdrawn", trial["name"]))
        told = event_files.read(path("withdrawn", trial["name"], name))
        self.assertFalse([tag for tag in told["scalars"] if tag.startswith("epsilon/proven")])
        self.assertIn("**Withdrawn:**", told["texts"]["privacy"])

    def test_StudentsClaimNothingThatAnAuditRefutes(self):
        shutil.copytree(path("results"), path("audited"))
        trial = next(one for one in succeeded() if exported_facts.proven(asked("show", one["trial"])["claims"]))

        folder = next(os.path.dirname(os.path.dirname(name)) for name in snapshot("audited")
                      if trial["trial"] in name and name.endswith("attempt.h5"))
        with open(path("audited", folder, "audit.json"), "w", encoding="utf-8") as file:
            json.dump({"format_version": 1, "trial": trial["trial"], "row_digest": trial["row_digest"], "findings": [REFUTES]}, file)
        for form in ("safetensors", "onnx"):
            done = retort("export", trial["trial"], "student", "--format", form, "--out", f"student.{form}", "--results", "audited")
            self.assertEqual(done.returncode, 0, done.stderr)
        done = retort("bundle", "audited", "--students", "--out", "students.tar")
        self.assertEqual(done.returncode, 0, done.stderr)
        unproven = [one for one in succeeded() if one["spec"]["role"] == "student" and one["trial"] != trial["trial"]
                    and not exported_facts.proven(asked("show", one["trial"])["claims"])]
        self.assertIn(f"{len(unproven) + 1} of the 4 students have no proven claim", " ".join(done.stderr.split()))
        with tarfile.open(path("students.tar")) as bundle:
            member = bundle.extractfile(f"students/{trial['name']}.safetensors").read()
        for name, claims in (("safetensors", exported_facts.of_safetensors(content("student.safetensors"))["claims"]),
                             ("onnx", json.loads(exported_facts.of_onnx(content("student.onnx"))["claims"])),
                             ("bundle", exported_facts.of_safetensors(member)["claims"])):
            self.assertEqual({claim["epsilon"] for claim in claims if claim["adjacency"] == "example"}, {"inf"}, name)
            self.assertIn("refuted-by-audit", [claim["reason"] for claim in claims], name)
            self.assertEqual(exported_facts.proven(claims), [], name)

    @unittest.skipUnless(EventAccumulator, "no tensorboard in this Python")
    def test_TensorBoardReadsTheSame(self):
        for trial in succeeded():
            own = event_files.read(self.event_file(trial["name"]))
            loaded = EventAccumulator(path("board", trial["name"]), size_guidance={"scalars": 0, "tensors": 0})
            loaded.Reload()
            self.assertEqual(sorted(loaded.Tags()["scalars"]), sorted(own["scalars"]))
            for tag, points in own["scalars"].items():
                self.assertEqual([(one.step, one.wall_time) for one in loaded.Scalars(tag)], [one[:2] for one in points])
                self.assertTrue(all(same(one.value, point[2]) for one, point in zip(loaded.Scalars(tag), points)))
            self.assertEqual(sorted(loaded.summary_metadata["privacy"].plugin_data.plugin_name), sorted("text"))
            from tensorboard.plugins.hparams import metadata
            content = loaded.summary_metadata[metadata.SESSION_START_INFO_TAG].plugin_data.content
            start = metadata.parse_session_start_info_plugin_data(content)
            self.assertEqual(start.hparams["method"].string_value, own["settings"].get("method", ""))
            self.assertEqual(start.hparams["seed"].number_value, own["settings"]["seed"])

    @unittest.skipUnless(mlflow, "no mlflow in this Python")
    def test_MlflowReadsTheSame(self):
        from mlflow.tracking import MlflowClient
        shutil.copytree(path("mlruns"), path("opened"))  # a client adds folders of its own
        client = MlflowClient(tracking_uri="file:" + path("opened"))
        experiment = client.get_experiment_by_name("tracked: ü")
        runs = {run.info.run_id: run for run in client.search_runs([experiment.experiment_id])}
        trials = succeeded()
        self.assertEqual(sorted(runs), sorted(trial["trial"] for trial in trials))
        for trial in trials:
            run = runs[trial["trial"]]
            self.assertEqual((run.info.run_name, run.info.status), (trial["name"], "FINISHED"))
            for name, value in trial["metrics"].items():
                self.assertTrue(same(run.data.metrics[name], float(value)), name)
            for name, points in curves_of(trial["trial"]).items():
                history = client.get_metric_history(run.info.run_id, "curve/" + name)
                self.assertEqual({one.step: one.value for one in history}, points)
            claims = asked("show", trial["trial"])["claims"]
            names = [name for name in run.data.metrics if name.startswith("epsilon/")]
            self.assertEqual(len(names), len(claims))
            self.assertEqual(sum(math.isinf(run.data.metrics[name]) for name in names),
                             sum(claim["epsilon"] == "inf" for claim in claims))
            self.assertEqual(run.data.params["seed"], str(trial["spec"]["seed"]))
        proven = client.search_runs([experiment.experiment_id], "params.method = 'dpsgd'")
        self.assertEqual(len(proven), 2)


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    OPTIONS.retort, OPTIONS.source = os.path.abspath(OPTIONS.retort), os.path.abspath(OPTIONS.source)
    FOLDER = tempfile.mkdtemp(prefix="retort-trackers-")
    with open(path("tracked.toml"), "w", encoding="utf-8") as file:
        file.write(SWEEP.format(source=OPTIONS.source))
    BEGAN = time.time()
    RAN = retort("run", "tracked.toml", "--results", "results", "--quiet")
    assert RAN.returncode == 0, RAN.stderr
    for FORM, OUT in (("tensorboard", "board"), ("mlflow", "mlruns")):
        MADE = export("all", FORM, OUT)
        assert MADE.returncode == 0, MADE.stderr
    sys.exit(run_tests(FOLDER))
