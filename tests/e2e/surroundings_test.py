"""What changes around a run: the signals that batch systems and terminals warn with, a results folder that is moved, and a working
folder that is gone.

usage: surroundings_test.py --retort PROGRAM --source DIR
"""
import os
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import parse_options, run_tests, wait_for  # noqa: E402

OPTIONS = None
FOLDER = None
SWEEP = """
retort = 1
[trial]
method = "sleep"
steps = 1000
seconds = 100
[sweep]
name = "n"
seeds = [0]
"""


def command(*words, before=()):
    return subprocess.run([*before, OPTIONS.retort, *words], cwd=FOLDER, capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, check=False)


class WhileItRuns(unittest.TestCase):
    """A sweep of naps, which needs no data."""

    def setUp(self):
        self.root = tempfile.mkdtemp(dir=FOLDER)
        self.results = os.path.join(self.root, "r")

    def start(self, *before):
        with open(os.path.join(self.root, "n.toml"), "w", encoding="utf-8") as file:
            file.write(SWEEP)
        log = open(os.path.join(self.root, "log"), "w", encoding="utf-8")
        self.addCleanup(log.close)
        run = subprocess.Popen([*before, OPTIONS.retort, "run", "n.toml", "--results", self.results, "--metrics-listen", "none"],
                               cwd=self.root, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True)
        self.addCleanup(run.kill)
        wait_for(lambda: os.path.isdir(os.path.join(self.results, "trials")) or "is running" in self.text()
                 or "running" in self.listed(), "the nap")
        return run

    def listed(self):
        return command("list", "--results", self.results).stdout

    def text(self):
        with open(os.path.join(self.root, "log"), encoding="utf-8") as file:
            return file.read()

    def test_what_batch_systems_warn_with_saves(self):
        loop = ["bash", os.path.join(OPTIONS.source, "cluster/launch/until-complete.sh")]
        for number in signal.SIGHUP, signal.SIGUSR2, signal.SIGXCPU:
            for before in [], loop:
                with self.subTest(signal=number.name, before=before):
                    self.results = tempfile.mkdtemp(dir=self.root)
                    run = self.start(*before)
                    run.send_signal(number)
                    self.assertEqual(run.wait(60), 75, self.text())
                    self.assertIn("saving and stopping", self.text())

    def test_a_hang_up_that_nohup_ignores_ends_nothing(self):
        run = self.start("nohup")
        run.send_signal(signal.SIGHUP)
        with self.assertRaises(subprocess.TimeoutExpired):
            run.wait(2)
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(60), 75, self.text())

    def test_a_results_folder_that_is_moved_ends_the_run(self):
        run = self.start()
        os.rename(self.results, self.results + "-moved")
        self.assertEqual(run.wait(60), 3, self.text())
        self.assertIn("was moved or removed while it was in use", self.text())
        self.assertFalse(os.path.exists(self.results), "nothing is begun anew where it was")
        again = subprocess.Popen([OPTIONS.retort, "run", "n.toml", "--results", self.results + "-moved", "--time-limit", "2s"],
                                 cwd=self.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertEqual(again.wait(60), 75)


class WorkingFolder(unittest.TestCase):
    def test_a_working_folder_that_is_gone(self):
        gone, sweep = os.path.join(FOLDER, "gone"), os.path.join(FOLDER, "s.toml")
        with open(sweep, "w", encoding="utf-8") as file:
            file.write(SWEEP)
        script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
        for words, code in ((["run", sweep], 3), (["table", sweep, "--complete"], 3), (["plan", sweep], 3),
                            (["status"], 3), (["report"], 3), (["doctor"], 3), (["version"], 0), (["schema"], 0)):
            os.mkdir(gone)
            done = command(*words, before=["bash", "-c", script, "bash", gone])
            self.assertEqual(done.returncode, code, (words, done.stderr))
            self.assertIn("the working folder was removed" if code else "", done.stderr)


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    OPTIONS.retort, OPTIONS.source = os.path.abspath(OPTIONS.retort), os.path.abspath(OPTIONS.source)
    sys.argv = sys.argv[:1]
    FOLDER = tempfile.mkdtemp(prefix="retort-surroundings-")
    sys.exit(run_tests(FOLDER))
