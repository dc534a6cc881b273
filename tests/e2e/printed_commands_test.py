#!/usr/bin/env python3
"""Commands that are printed work as they are pasted, in a folder and of a sweep file whose names a shell would split."""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import all_tests_pass, parse_options

# Seed 1004 fails for good (tests/testing/scripted_worker.cc).
SWEEP = """retort = 1
[data."my digits"]
reader = "idx"
path = "{source}/experiments/data/mnist10k"
split = {{ shuffle = 1, train = [0, 8000], public = [8000, 9000], test = [9000, 10000] }}
[teacher."my teacher"]
network = "datalens"
epochs = 5
[trial]
data = "my digits"
student = "datalens"
steps = 20
delta = 1e-5
[sweep]
seeds = [0, 2]
zip.row = [{{ method = "dpdfd", reading = "working", teacher = "my teacher" }}]
[table."my table"]
rows = ["method"]
[figure.seeds]
x = "seed"
[profile."two seeds"]
sweep.seeds = [0, 1004]
"""
FILE, RESULTS, PROFILE = "my naps.toml", "r 1", ["--profile", "two seeds"]


def commands_in(text):
    """What stands between backticks, and lines that are a command or name the next one; none with a placeholder."""
    found = re.findall(r"`(retort [^`]+)`", text) + re.findall(r"^(?:[Nn]ext: |\s*)(retort .+)$", text, re.MULTILINE)
    return [command for command in found if not re.search(r"\b[A-Z]{4,}\b", command)]


class PrintedCommands(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = folder.name
        with open(os.path.join(self.place, FILE), "w", encoding="utf-8") as file:
            file.write(SWEEP.format(source=os.path.abspath(OPTIONS.source)))
        self.environment = {**os.environ, "RETORT_WORKER": os.path.abspath(OPTIONS.worker), "COLUMNS": "70",
                            "XDG_CACHE_HOME": os.path.join(self.place, "cache"),
                            "PATH": os.path.dirname(os.path.abspath(OPTIONS.retort)) + ":" + os.environ["PATH"]}

    def shell(self, line):
        return subprocess.run(["bash", "--norc", "-c", line], cwd=self.place, capture_output=True, text=True, timeout=100,
                              env=self.environment)

    def says(self, *words, code=0, results=RESULTS):
        line = shlex.join(["retort", *words, *(["--results", results] if results else [])])
        done = self.shell(line)
        self.assertEqual(done.returncode, code, (line, done.stdout, done.stderr))
        return done.stdout + done.stderr

    def paste(self, text, *wanted):
        """Runs each command of the text; `wanted` are the beginnings of them, in order."""
        commands = commands_in(text)
        self.assertEqual([c[:len(w)] for c, w in zip(commands, wanted)], list(wanted), text)
        self.assertEqual(len(commands), len(wanted), text)
        for command in commands:
            done = self.shell(command)
            self.assertIn(done.returncode, (0, 1), (command, done.stdout, done.stderr))
            self.assertFalse(os.path.exists(os.path.join(self.place, "results")), command)

    def test_before_a_run_table_and_plot_name_it(self):
        self.paste(self.says("table", FILE, "trial.steps=21", "sweep.seeds=[0, 1]", *PROFILE),
                   "retort run 'my naps.toml' trial.steps=21 'sweep.seeds=[0, 1]' --profile 'two seeds' --results 'r 1'")
        self.assertIn("4 trials", self.says("list"))
        self.paste(self.says("plot", FILE, *PROFILE, code=1, results="r 2"),
                   "retort run 'my naps.toml' --profile 'two seeds' --results 'r 2'")
        self.assertIn("4 trials", self.says("list", results="r 2"))

    def test_after_failures_all_commands_name_what_helps(self):
        ended = self.says("run", FILE, *PROFILE, code=1)
        status = self.says("status")
        failed = "teacher-my_teacher-my_digits-s1004"  # names keep no blanks
        explained = self.says("explain", failed)
        self.paste(status, f"retort explain {failed}-", f"retort explain {failed}-")
        self.paste(explained, f"retort retry {failed}-", "retort run 'r 1/sweep.toml' --results 'r 1'")
        self.paste(self.says("table", FILE, "--complete", *PROFILE, code=1), "retort retry --failed --results 'r 1'")
        run = "retort run 'r 1/sweep.toml' --results 'r 1'"
        self.paste(self.says("status"), run, f"retort explain {failed}-", run)
        self.paste(ended, "retort status --results 'r 1'", "retort retry --failed --results 'r 1'")
        self.paste(self.says("explain", failed), "retort run 'r 1/sweep.toml' --results 'r 1'")

    def test_a_sweep_that_succeeded_names_its_table(self):
        self.paste(self.says("run", FILE), "retort table 'my naps.toml' --results 'r 1'")
        self.paste(self.says("status"), "retort list --results 'r 1'")
        self.paste(self.says("show", "no such", code=2), "retort list --results 'r 1'")
        self.paste(self.says("cancel", "dpdfd", code=2))
        self.paste(self.says("plot", FILE, *PROFILE), "retort run 'my naps.toml' --profile 'two seeds' --results 'r 1'")

    def test_retried_trials_name_the_run(self):
        self.says("run", FILE, *PROFILE, code=1)
        self.paste(self.says("retry", "--failed"), "retort run 'r 1/sweep.toml' --results 'r 1'")


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source", "worker")
    sys.exit(0 if all_tests_pass() else 1)
