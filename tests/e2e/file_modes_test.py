"""Who may read what a sweep writes, by the modes of every file and folder while it runs and afterwards: they do not depend on
who runs this, as what root may read does.

usage: file_modes_test.py --retort PROGRAM --source DIR
"""
import os
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import SMALL_DIGITS, parse_options, run_tests  # noqa: E402

OPTIONS = None
FOLDER = None
# A teacher that knows its examples, its student, and a network of noisy gradients that is saved as it goes.
SWEEP = SMALL_DIGITS + """\
checkpoint_steps = 10
[teacher]
single = {{ network = "logistic", epochs = 1, lr = 0.1 }}
[sweep]
name = "modes"
seeds = {seeds}
zip.row = [
  {{ method = "dpsgd", steps = 40 }},
  {{ method = "dpdfd", steps = 2, reading = "working", teacher = "single" }},
]
"""


def modes(*folders):
    """{path: mode} of every file and folder there; what vanishes meanwhile is left out."""
    found = {}
    for top in folders:
        for folder, _, names in os.walk(top):
            for path in [folder] + [os.path.join(folder, name) for name in names]:
                try:
                    facts = os.lstat(path)
                except FileNotFoundError:
                    continue
                found[path] = (stat.S_ISDIR(facts.st_mode), stat.S_IMODE(facts.st_mode))
    return found


class Modes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=FOLDER)
        self.addCleanup(folder.cleanup)
        self.place = folder.name
        self.results, self.cache = os.path.join(self.place, "below", "r"), os.path.join(self.place, "cache")

    def start(self, *words, umask=0o022):
        return subprocess.Popen([OPTIONS.retort, *words, "--results", self.results], cwd=self.place, umask=umask,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "XDG_CACHE_HOME": self.cache})

    def ask(self, *words, umask=0o022):
        process = self.start(*words, umask=umask)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, (words, out, err))
        return out + err

    def write(self, seeds="[0]"):
        with open(os.path.join(self.place, "s.toml"), "w", encoding="utf-8") as file:
            file.write(SWEEP.format(source=OPTIONS.source, seeds=seeds))

    def expect(self, found, file, folder, lock=0o600):
        wrong = {path: oct(mode) for path, (is_folder, mode) in found.items()
                 if mode != (folder if is_folder else lock if os.path.basename(path).endswith("lock") else file)}
        self.assertEqual(wrong, {})

    def test_a_sweep_is_its_users_alone(self):
        self.write()
        marks = os.path.join(self.place, "private-examples")   # by which budgets know the sweep's examples
        for umask in (0o022, 0o077):
            self.results = os.path.join(self.place, f"r{umask}")
            run, seen = self.start("run", "s.toml", umask=umask), {}
            while run.poll() is None:
                now = modes(self.results, self.cache, marks)
                seen.update({path: now[path] for path in now.keys() - seen.keys()})
                self.expect(now, 0o600, 0o700)
            out, err = run.communicate()
            self.assertEqual(run.returncode, 0, out + err)
            after = modes(self.results, self.cache, marks)
            self.expect(after, 0o600, 0o700)
            names = {os.path.basename(path) for path in {*seen, *after}}
            for name in ("journal.log", "ledger.log", "lock", "results.h5", "attempt.h5", "series.log", "rank0-slot0.log",
                         "metrics.prom", "targets.json", "sweep.toml", "costs.json", "key"):
                self.assertIn(name, names)
            for begin in ("checkpoint-", "transcript-"):
                self.assertTrue(any(name.startswith(begin) for name in names), names)

    def test_commands_add_nothing_that_others_can_read(self):
        self.write()
        self.ask("run", "s.toml")
        for words in (["status"], ["list"], ["plan", "s.toml"], ["table", "s.toml"], ["report"], ["verify"], ["repair", "--apply"],
                      ["audit", "s.toml", "--kind", "membership"]):
            self.ask(*words)
        self.expect(modes(self.results, self.cache), 0o600, 0o700)

    def test_what_is_named_by_path_follows_the_umask(self):
        self.write()
        self.ask("run", "s.toml")
        for umask, file, folder in ((0o022, 0o644, 0o755), (0o027, 0o640, 0o750), (0o077, 0o600, 0o700)):
            out = os.path.join(self.place, f"out{umask}")
            os.mkdir(out)
            os.chmod(out, folder)
            self.ask("export", "dpsgd-digits-s0", "curves", "--format", "csv", "--out", os.path.join(out, "c.csv"), umask=umask)
            self.ask("report", "--out", os.path.join(out, "page.html"), umask=umask)
            self.ask("man", "--all", os.path.join(out, "man"), umask=umask)
            self.ask("data", "clients", "idx", f"{OPTIONS.source}/experiments/data/mnist10k", "--clients", "2", "--out",
                     os.path.join(out, "clients"), umask=umask)
            found = modes(out)
            self.assertGreater(len(found), 8)
            self.expect(found, file, folder)
        self.expect(modes(self.results, self.cache), 0o600, 0o700)

    def test_shared_results_follow_the_umask_and_stay_so(self):
        self.write()
        for umask, file, folder in ((0o027, 0o640, 0o750), (0o000, 0o644, 0o755)):
            self.results = os.path.join(self.place, f"shared{umask}")
            self.ask("run", "s.toml", "--share", umask=umask)
            self.expect(modes(self.results), file, folder)
            self.ask("audit", "s.toml", "--kind", "membership", umask=umask)
            self.ask("report", umask=umask)
            self.expect(modes(self.results), file, folder)

    def test_sharing_opens_what_is_there(self):
        self.write()
        self.ask("run", "s.toml")
        said = self.ask("run", "s.toml", "--share", umask=0o027)
        self.assertNotIn("others can read", said)
        self.expect(modes(self.results), 0o640, 0o750)
        shared = modes(self.results)
        del shared[os.path.join(self.results, "exit-code")]     # which a run takes away and its end makes anew
        self.write("[0, 1]")
        said = self.ask("run", "s.toml")
        self.assertIn(f"others can read what is in {self.results} already", said)
        found = modes(self.results)
        for path, mode in found.items():
            known = shared.get(path, (os.path.isdir(path), 0o700 if os.path.isdir(path) else 0o600))
            self.assertEqual(mode, known, path)     # a file that a run replaces is as open as it was
        self.assertGreater(len(found), len(shared))

    # node_exporter and Prometheus have users of their own.
    def test_a_file_opened_for_others_stays_open(self):
        self.write()
        self.ask("run", "s.toml")
        metrics = os.path.join(self.results, "metrics.prom")
        os.chmod(metrics, 0o604)
        before = os.stat(metrics).st_ino
        self.write("[0, 1]")
        self.ask("run", "s.toml")
        self.assertNotEqual(os.stat(metrics).st_ino, before)
        self.assertEqual(stat.S_IMODE(os.stat(metrics).st_mode), 0o604)
        found = modes(self.results)
        del found[metrics]
        self.expect(found, 0o600, 0o700)


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    OPTIONS.retort = os.path.abspath(OPTIONS.retort)
    FOLDER = tempfile.mkdtemp(prefix="retort-modes-")
    sys.exit(run_tests(FOLDER))
