"""What cannot be read is not "not there": a refuted claim, what other sweeps spent, results and data that are only forbidden, lists
that are missing, a results.h5 that was lost.

usage: unreadable_test.py --retort PROGRAM --source DIR
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import parse_options, run_tests  # noqa: E402

OPTIONS = None
FOLDER = None
NOBODY = 65534
SWEEP = """
retort = 1
[data.digits]
reader = "idx"
path = "{data}"
split = {split}
{budget}
[trial]
method = "dpsgd"
student = "logistic"
steps = 3
batch = 64
norm_bound = 0.1
lr = 1
noise_multiplier = 1
delta = 1e-4
threads = 1
[sweep]
name = "a"
seeds = {seeds}
[table.t]
rows = ["method"]
"""
RANGES = "{ shuffle = 1, train = [0, 512], test = [640, 896] }"
BUDGET = "budget = { epsilon = 2, delta = 1e-4 }"  # of which two trials are too much
REFUTES = {"kind": "canary", "subject": "a script", "ran": True, "claim": None, "confidence": 0.95, "alarm_lower": 9,
           "alarm_proven": 1, "proven": 1, "mu_lower": None, "mu_proven": None, "detectable": None, "ceiling": None,
           "figures": [], "note": ""}


def path(*names):
    return os.path.join(FOLDER, *names)


def write(name, text):
    with open(path(name), "w", encoding="utf-8") as file:
        file.write(text)
    return path(name)


def read(name, kind="r"):
    with open(name, kind, encoding=None if "b" in kind else "utf-8") as file:
        return file.read()


def cut(name, content):
    with open(name, "wb") as file:
        file.write(content)


def sweep(name, budget="", seeds="[0]", split=RANGES, data=None):
    return write(name, SWEEP.format(data=data or OPTIONS.source + "/experiments/data/mnist10k", split=split, budget=budget,
                                    seeds=seeds))


def retort(*words, stranger=False, cwd=None):
    """As a user who is not the owner, where this one may be somebody else; the files are closed to him either way."""
    command = [OPTIONS.retort, *words]
    if stranger and os.getuid() == 0:
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]
    return subprocess.run(command, cwd=cwd or FOLDER, capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "XDG_CACHE_HOME": path("theirs" if stranger else "cache"), "HOME": "/nonexistent"})


def close(name):
    """What it was before, to open it again."""
    mode = os.stat(name).st_mode & 0o777
    os.chmod(name, (0o700 if os.path.isdir(name) else 0o600) if os.getuid() == 0 else 0)
    return name, mode


class Unreadable(unittest.TestCase):
    def closed(self, name):
        was = close(name)
        self.addCleanup(os.chmod, *was)

    def run_sweep(self, *words, code=0, **options):
        done = retort("run", *words, "--metrics-listen", "none", "--slots", "1", **options)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def expect(self, done, code, *texts):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for text in texts:
            self.assertIn(text, " ".join((done.stdout + done.stderr).split()))

    def fresh(self, name):
        """A copy of the finished sweep in a root of its own, open to all."""
        shutil.copytree(path("finished"), path(name), symlinks=True)
        return path(name, "r")

    def audit(self, results):
        folder = os.path.join(results, "trials", os.listdir(os.path.join(results, "trials"))[0])
        with open(os.path.join(results, "trials", folder, "audit.json"), "w", encoding="utf-8") as file:
            trial = json.loads(retort("list", "--results", results, "--json").stdout)["trials"][0]
            json.dump({"format_version": 1, "trial": trial["trial"], "row_digest": trial["row_digest"], "findings": [REFUTES]}, file)
        os.chmod(file.name, 0o644)
        return file.name

    def test_a_refuted_claim_stays_so_without_its_audit(self):
        results, toml = self.fresh("refuted"), sweep("refuted.toml")
        report = self.audit(results)
        self.expect(retort("table", toml, "--results", results), 0, "refuted by canary audit")
        whole = read(report)

        def withheld(stranger):
            for words in (["table", toml], ["table", toml, "--statements"], ["table", toml, "--json"]):
                done = retort(*words, "--results", results, stranger=stranger)
                self.expect(done, 1, "nobody can say what audits found of" if "--json" not in words else "audit-unreadable")
                self.assertNotIn("≤ ", done.stdout)
                self.assertNotIn('"status": "proven"', done.stdout)
            page = path("theirs", "page.html") if stranger else path("page.html")
            self.expect(retort("report", "--results", results, "--out", page, stranger=stranger), 1, "audit.json")
            self.assertIn("Nothing is claimed, since nobody can say", read(page))
            plan = retort("plan", toml, "--results", results, stranger=stranger)
            self.expect(plan, 0, "nobody can say what audits found of")
            self.assertNotIn("≤ ", plan.stdout)
            self.expect(retort("status", "--results", results, stranger=stranger), 0, "nothing is claimed of", "ε = ∞", "audit-unreadable")
            self.expect(retort("audit", "dpsgd-digits-s0", "--results", results, stranger=stranger), 3 if stranger else 1,
                        "move it away")

        for bytes_ in ("", whole[:300]):
            write(os.path.relpath(report, FOLDER), bytes_)
            withheld(False)
            self.assertEqual(read(report), bytes_)
        write(os.path.relpath(report, FOLDER), whole)
        for closed in (report, os.path.dirname(report)):
            was = close(closed)
            withheld(True)
            os.chmod(*was)
        self.expect(retort("table", toml, "--results", results, stranger=True), 0, "refuted by canary audit")

    def test_a_budget_is_kept_where_what_was_spent_is_lost(self):
        results = self.fresh("budget")
        root, toml = os.path.dirname(results), sweep("b.toml", BUDGET, "[1]")
        os.chmod(root, 0o777)
        shutil.rmtree(os.path.join(root, "private-examples"))
        self.closed(results)
        mine = os.path.join(root, "mine")
        self.expect(self.run_sweep(toml, "--results", mine, stranger=True, code=3), 3, "Permission denied", "belongs to",
                    os.path.join(root, "r"))
        self.assertFalse(os.path.exists(mine))
        self.run_sweep(sweep("b0.toml", "", "[1]"), "--results", mine, stranger=True)
        done = retort("status", "--results", mine, stranger=True)
        self.expect(done, 0, "cannot be told, so it is not counted", "Permission denied")

    def test_links_that_lead_nowhere_are_told(self):
        results = self.fresh("names")
        root, toml = os.path.dirname(results), sweep("n.toml", BUDGET, "[1]")
        os.symlink("gone", os.path.join(root, "dangling"))
        self.expect(self.run_sweep(toml, "--results", os.path.join(root, "new"), code=3), 3, "leads nowhere")
        os.remove(os.path.join(root, "dangling"))
        # What r spent leaves nothing of the budget, whatever the new folder is called.
        os.mkdir(os.path.join(root, "new"))
        os.symlink(os.path.join(root, "new"), path("link"))
        self.expect(self.run_sweep(toml, "--results", path("link"), code=1), 1, "over its budget")
        self.expect(self.run_sweep(toml, "--results", ".", cwd=os.path.join(root, "new"), code=1), 1)

    @unittest.skipIf(subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode, "may not mount")
    def test_a_budget_is_kept_where_the_folder_is_a_mount(self):
        root, toml = os.path.dirname(self.fresh("bound")), sweep("m.toml", BUDGET, "[1]")
        new, other = os.path.join(root, "new"), path("other", "new")
        os.mkdir(new)
        os.makedirs(other)
        for budget, code in ((toml, 3), (sweep("m0.toml", "", "[1]"), 0)):
            run = f"mount --bind '{new}' '{other}' && exec '{OPTIONS.retort}' run '{budget}' --results '{other}' --metrics-listen none"
            done = subprocess.run(["unshare", "--mount", "sh", "-c", run], capture_output=True, text=True, timeout=120, check=False,
                                  env={**os.environ, "XDG_CACHE_HOME": path("cache")})
            self.expect(done, code, *(["is a mount of a folder that lies elsewhere"] if code else []))

    def test_results_that_are_forbidden_are_not_missing(self):
        results, toml = self.fresh("forbidden"), sweep("f.toml")
        for closed in (results, os.path.dirname(results)):
            was = close(closed)
            for words in (["status"], ["list"], ["show", "dpsgd-digits-s0"], ["report"], ["verify"], ["repair"], ["table", toml],
                          ["plan", toml]):
                self.expect(retort(*words, "--results", results, stranger=True), 3, "Permission denied", "belongs to")
            os.chmod(*was)
        for name in ("journal.log", "ledger.log", "trials"):
            was = close(os.path.join(results, name))
            self.expect(retort("verify", "--results", results, stranger=True), 3, "Permission denied", "belongs to", "not read")
            os.chmod(*was)
        self.expect(retort("status", "--results", path("never")), 3, "holds no sweep")

    def test_data_that_are_only_forbidden_are_not_missing(self):
        os.mkdir(path("data"))
        shutil.copytree(OPTIONS.source + "/experiments/data/mnist10k", path("data", "digits"))
        toml = sweep("data.toml", data=path("data", "digits"))
        image = path("data", "digits", sorted(os.listdir(path("data", "digits")))[0])
        for closed in (path("data"), path("data", "digits"), *([image] if os.path.isfile(image) else [])):
            was = close(closed)
            for command in ("plan", "run", "table"):
                done = retort(command, toml, "--results", path("theirs", "none"), stranger=True)
                self.expect(done, 3, "Permission denied")
                self.assertNotIn("does not exist", done.stderr)
            os.chmod(*was)
        self.expect(retort("plan", sweep("gone.toml", data=path("nowhere"))), 0, "does not exist", "as published")

    def test_a_sweep_file_that_is_forbidden_is_not_missing(self):
        toml = sweep("closed.toml")
        self.closed(toml)
        for command in ("plan", "run", "table"):
            self.expect(retort(command, toml, stranger=True), 3, "Permission denied", "belongs to")

    def test_a_missing_list_is_named(self):
        write("train.txt", "".join(f"{index}\n" for index in range(100)))
        for data in (None, path("nowhere")):
            toml = sweep("l.toml", split='{ train = "train.txt", test = "test.txt" }', data=data)
            for command in ("plan", "table"):
                done = retort(command, toml, "--results", path("none"))
                self.expect(done, 2, "data.digits.split.test: the list", "test.txt' is not there")
                self.assertEqual(done.stdout, "")
        write("test.txt", "100\n101\n")
        for data in (path("nowhere"), None):
            toml = sweep("l.toml", split='{ train = "train.txt", test = "test.txt" }', data=data)
            self.expect(retort("plan", toml, "--results", path("none")), 0, "private 100, public 0, test 2")
        was = close(path("train.txt"))
        self.expect(retort("plan", toml, "--results", path("none"), stranger=True), 3, "train.txt", "Permission denied")
        os.chmod(*was)

    def test_a_plan_opens_the_weights_of_a_run(self):
        toml = write("w.toml", """
retort = 1
[data.digits]
reader = "idx"
path = "%s/experiments/data/mnist10k"
split = { shuffle = 1, train = [0, 512], test = [640, 896] }
[teacher]
t = { network = "logistic", weights = "w.pth" }
[trial]
method = "dense"
teacher = "t"
student = "logistic"
steps = 1
generator_width = 4
latent = 4
replay = 1
batch = 8
student_batch = 8
[sweep]
name = "w"
""" % OPTIONS.source)
        self.expect(retort("plan", toml, "--results", path("none")), 0, "w.pth' is not there")
        for text, *what in (("", "the file is empty"), ("<!doctype html><html>", "a web page"),
                           ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS"),
                           ("\x08\x08\x12\x07pytorch", "an ONNX model", "state dict", "TorchScript")):
            write("w.pth", text)
            for command in ("plan", "run"):
                self.expect(retort(command, toml, "--results", path("none")), 2, "teacher.t.weights", "w.pth", *what)
        with zipfile.ZipFile(path("w.pth"), "w") as archive:
            archive.writestr("archive/data.pkl", b"\x80\x02ctorchvision.models.resnet\nResNet\nq\x00)\x81q\x01.")
            archive.writestr("archive/version", "3\n")
        self.expect(retort("plan", toml, "--results", path("none")), 2, "teacher.t.weights", "torchvision.models.resnet")
        module = write("ts.toml", read(toml).replace('network = "logistic", weights', "torchscript"))
        write("w.pth", "<html>")
        self.expect(retort("plan", module, "--results", path("none")), 2, "teacher.t.torchscript", "no TorchScript", "a web page")
        was = close(path("w.pth"))
        self.expect(retort("plan", toml, "--results", path("theirs", "none"), stranger=True), 3, "w.pth", "Permission denied")
        os.chmod(*was)
        shutil.copy(OPTIONS.source + "/tests/unit/storage/fixtures/weights.zip.pth", path("w.pth"))
        self.expect(retort("plan", toml, "--results", path("none")), 0)

    def test_a_lost_results_h5_is_said_and_made_anew(self):
        results, toml = self.fresh("lost"), sweep("finished.toml")
        shown = os.path.join(results, "results.h5")
        whole = read(shown, "rb")
        for damage in (lambda: os.remove(shown), lambda: cut(shown, b""), lambda: cut(shown, whole[:len(whole) // 2])):
            damage()
            self.expect(retort("verify", "--results", results), 1, "results.h5")
            self.expect(retort("repair", "--results", results), 1, "results.h5", "made anew")
            self.run_sweep(toml, "--results", results)
            self.assertEqual(read(shown, "rb"), whole)
            damage()
            self.expect(retort("repair", "--apply", "--results", results), 0, "results.h5", "made anew")
            self.assertEqual(read(shown, "rb"), whole)
            self.expect(retort("verify", "--results", results), 0)


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    FOLDER = tempfile.mkdtemp(prefix="retort-unreadable-")
    os.chmod(FOLDER, 0o755)
    os.mkdir(path("theirs"))
    os.chmod(path("theirs"), 0o777)
    if os.getuid() == 0 and retort("version", stranger=True).returncode != 0:
        print(f"skipped: user {NOBODY} may not run {OPTIONS.retort}, so nobody can be kept out here")
        sys.exit(77)
    os.makedirs(path("finished"))
    FINISHED = retort("run", sweep("finished.toml"), "--results", path("finished", "r"), "--share", "--slots", "1",
                      "--metrics-listen", "none")
    assert FINISHED.returncode == 0, FINISHED.stderr
    for folder, _, names in os.walk(path("finished")):
        for name in [folder, *(os.path.join(folder, name) for name in names)]:
            os.chmod(name, 0o755 if name == folder else 0o644)
    sys.exit(run_tests(FOLDER))
