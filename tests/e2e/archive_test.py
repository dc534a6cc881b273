"""Archives of rows: what they hold, what is read from them, and which are refused.

usage: archive_test.py --retort PROGRAM --source DIR
"""
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import parse_options, run_tests  # noqa: E402

OPTIONS = None
FOLDER = None
SWEEP = "experiments/configs/dpsd/fig9.toml"
ROW = '"event":10'


def retort(*words):
    return subprocess.run([OPTIONS.retort, *words], cwd=FOLDER, capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "XDG_CACHE_HOME": os.path.join(FOLDER, "cache"), "OMP_NUM_THREADS": "1",
                               "TMPDIR": os.path.join(FOLDER, "tmp")})


def sweep(command, *words):
    return retort(command, os.path.join(OPTIONS.source, SWEEP), "--profile", "smoke", *words)


def lines():
    with open(os.path.join(FOLDER, "fig9.rows"), encoding="utf-8") as file:
        return file.read().splitlines()[:-1]


def write_sealed(name, body):
    text = "".join(line + "\n" for line in body)
    seal = json.dumps({"seal": hashlib.sha256(text.encode()).hexdigest()}, separators=(",", ":"))
    with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as file:
        file.write(text + seal + "\n")


class Archives(unittest.TestCase):
    def imported(self, name, body):
        """Exit code and error of importing these lines under a seal of their own; whether anything is left."""
        write_sealed(name, body)
        done = retort("import", name, "--results", name + ".results")
        return done.returncode, done.stderr, os.path.exists(os.path.join(FOLDER, name + ".results"))

    def test_TableIsThatOfTheFolder(self):
        here, there = sweep("table", "--results", "fig9"), sweep("table", "--from", "fig9.rows")
        self.assertEqual(there.returncode, 0, there.stderr)
        self.assertEqual(here.stdout, there.stdout)

    def test_TableNeedsNoDataWhereItWasRun(self):
        with open(os.path.join(OPTIONS.source, SWEEP), encoding="utf-8") as file:
            names = re.findall(r"^\[data\.([\w-]+)\]", file.read(), re.MULTILINE)
        gone = [f"data.{name}.path=gone" for name in names]
        here, there = sweep("table", "--results", "fig9"), sweep("table", "--from", "fig9.rows", *gone)
        self.assertEqual(there.returncode, 0, there.stderr)
        self.assertIn("until then it is taken to be what the rows were measured on", there.stderr)
        self.assertEqual(here.stdout, there.stdout)
        self.assertNotEqual(here.stdout, sweep("table", "--results", "fig9", *gone).stdout)

    def test_NothingIsLeftInTheTemporaryFolder(self):
        sweep("table", "--from", "fig9.rows")
        self.assertEqual(os.listdir(os.path.join(FOLDER, "tmp")), [])

    def test_FiguresAndReportAreDrawnFromIt(self):
        drawn = sweep("plot", "--from", "fig9.rows", "--out", "figures")
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        self.assertTrue(os.path.exists(os.path.join(FOLDER, "figures", "fig9.svg")))
        self.assertEqual(retort("report", "--from", "fig9.rows", "--out", "page.html").returncode, 0)
        self.assertIn("--out", sweep("plot", "--from", "fig9.rows").stderr)

    def test_NoHostAndNoPathIsInIt(self):
        text = "\n".join(lines())
        self.assertNotIn(socket.gethostname() + '"', text)
        self.assertFalse(re.search(r'"/[a-z]|\\"/[a-z]|= \\"/', text))
        self.assertNotIn(OPTIONS.source, text)

    def test_PathsOfTablesThatNoTrialUsesAreNotInIt(self):
        path = os.path.join(FOLDER, "unused.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'retort = 1\n[data.unused]\nreader = "idx"\npath = "{OPTIONS.source}/experiments/data/mnist10k"\n'
                       'split = { train = [0, 1], test = [1, 2] }\n'
                       '[trial]\nmethod = "sleep"\nseconds = 0.01\n[sweep]\nname = "unused"\nseeds = [0]\n')
        self.assertEqual(retort("run", path, "--results", "unused").returncode, 0)
        self.assertEqual(retort("archive", "--results", "unused", "--out", "unused.rows").returncode, 0)
        with open(os.path.join(FOLDER, "unused.rows"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("unused.path", text)
        self.assertIn("mnist10k", text)
        self.assertNotIn(OPTIONS.source, text)
        self.assertNotIn(FOLDER, text)

    def test_AnImportedFolderIsSound(self):
        self.assertEqual(retort("import", "fig9.rows", "--results", "sound").returncode, 0)
        self.assertEqual(retort("verify", "--results", "sound").returncode, 0)
        listed = [json.loads(retort("list", "--json", "--results", name).stdout)["trials"] for name in ("fig9", "sound")]
        self.assertEqual(*[[(t["trial"], t["state"], t["metrics"]) for t in some] for some in listed])
        again = retort("import", "fig9.rows", "--results", "sound")
        self.assertEqual(again.returncode, 2)
        self.assertIn("does not exist yet", again.stderr)

    def test_AnImportedFolderIsArchivedAgain(self):
        self.assertEqual(retort("import", "fig9.rows", "--results", "twice").returncode, 0)
        done = retort("archive", "--results", "twice", "--out", "twice.rows")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(retort("import", "twice.rows", "--results", "thrice").returncode, 0)
        listed = [json.loads(retort("list", "--json", "--results", name).stdout)["trials"] for name in ("fig9", "twice", "thrice")]
        shown = [[(t["trial"], t["state"], t["metrics"]) for t in some] for some in listed]
        self.assertEqual(shown[0], shown[1])
        self.assertEqual(shown[1], shown[2])

    def test_ARunGoesOnFromIt(self):
        self.assertEqual(retort("import", "fig9.rows", "--results", "on").returncode, 0)
        done = sweep("run", "--results", "on", "--slots", "2", "sweep.seeds=[0,1]", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["counts"]["succeeded"], 16)
        self.assertEqual(len(re.findall("s0: done", done.stderr)), 0, done.stderr)

    def test_AStudentWithoutItsTeachersParametersSaysSo(self):
        self.assertEqual(retort("import", "fig9.rows", "--results", "poor").returncode, 0)
        done = sweep("run", "--results", "poor", "trial.student_steps=3")
        self.assertEqual(done.returncode, 1)
        self.assertIn("holds no parameters", done.stderr)
        name = retort("list", "--names", "--where", "method=dpsd-data", "--results", "fig9").stdout.split()[0]
        self.assertEqual(retort("import", "fig9.rows", "--results", "poorer").returncode, 0)
        taken = retort("export", name, "student", "--format", "torch", "--out", "t.pth", "--results", "poorer")
        self.assertIn("holds no parameters", taken.stderr)

    def test_EditedRowsAreRefused(self):
        edited = [line.replace('[\\"test.accuracy\\",0.', '[\\"test.accuracy\\",0.9') if ROW in line else line for line in lines()]
        self.assertNotEqual(edited, lines())
        code, error, left = self.imported("metric.rows", edited)
        self.assertEqual((code, left), (1, False), error)
        self.assertRegex(error, r"metric.rows:\d+: the row of .* is not what its digest says")

    def test_ClaimsThatTheLedgerDoesNotGiveAreRefused(self):
        bold = [line.replace('\\"status\\":\\"unbounded\\"', '\\"status\\":\\"proven\\"').replace(
            '\\"epsilon\\":\\"inf\\"', '\\"epsilon\\":1.0') if ROW in line else line for line in lines()]
        self.assertNotEqual(bold, lines())
        for name, body in ("claims.rows", bold), ("ledger.rows", [l for l in lines() if not l.startswith('{"reservation"')]):
            code, error, left = self.imported(name, body)
            self.assertEqual((code, left), (1, False), error)
            self.assertIn("claims are not those that follow from the ledger", error)

    def test_EditsCutsAndNewerVersionsAreRefused(self):
        text = "\n".join(lines()) + "\n"
        for name, content, said in (("edited.rows", text.replace("smoke", "smokf", 1) + '{"seal":"00"}\n', "was edited"),
                                    ("cut.rows", text[:len(text) // 2], "was cut"), ("empty.rows", "", "no archive"),
                                    ("other.rows", "retort = 1\n", "no archive"), ("line.rows", text, "was cut")):
            with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as file:
                file.write(content)
            done = sweep("table", "--from", name)
            self.assertIn(done.returncode, (1, 2))
            self.assertIn(said, done.stderr)
        body = lines()
        code, error, left = self.imported("newer.rows", [body[0].replace('"row_archive":1', '"row_archive":2'), *body[1:]])
        self.assertEqual((code, left), (2, False))
        self.assertIn("is of version 2", error)

    def test_PathsOutsideTheFolderAreRefused(self):
        body = [line.replace("trials/teacher", "trials/../../teacher") for line in lines()]
        code, error, left = self.imported("escape.rows", body)
        self.assertEqual((code, left), (1, False), error)
        self.assertIn("outside its folder", error)

    def test_RowsOfAnotherSweepAreRefused(self):
        other = retort("table", os.path.join(OPTIONS.source, "experiments/configs/quickstart.toml"), "--from", "fig9.rows")
        self.assertEqual(other.returncode, 2)
        self.assertIn("holds rows of the sweep dpsd-fig9-smoke", other.stderr)
        changed = sweep("table", "teacher.resnet34.lr=0.0123", "--from", "fig9.rows")
        self.assertEqual(changed.returncode, 2)
        self.assertIn("settings", changed.stderr)

    def test_UnsealedEndsAreNotRead(self):
        for words in (["--from", "fig9.rows", "--results", "fig9"], ["--from", "fig9.rows", "--complete"]):
            self.assertEqual(sweep("table", *words).returncode, 2)
        self.assertEqual(sweep("table", "--from", "absent.rows").returncode, 3)


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    OPTIONS.retort, OPTIONS.source = os.path.abspath(OPTIONS.retort), os.path.abspath(OPTIONS.source)
    FOLDER = tempfile.mkdtemp(prefix="retort-archive-")
    os.mkdir(os.path.join(FOLDER, "tmp"))
    for made in (sweep("run", "--results", "fig9", "--slots", "2"), retort("archive", "--out", "fig9.rows", "--results", "fig9")):
        assert made.returncode == 0, made.stderr
    sys.exit(run_tests(FOLDER))
