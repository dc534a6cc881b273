#!/usr/bin/env python3
"""Real faults make the shipped alerts fire, and their end makes them silent: a real Prometheus with the shipped rules,
whose waits and windows alone are shortened, watches real sweeps that are stopped, killed, starved and overspent."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from expressions import need
from own_mounts import enter_own_mounts
from prometheus import Prometheus
from sweep_run import SMALL_DIGITS, all_tests_pass, parse_options, processes, wait_for

SWEEPS = ("hurt", "spent", "full")
WORKERS = ("retort-worker", "retort-sleeper", "retort-sleepe")
SLEEPS = """
retort = 1
[trial]
method = "sleep"
steps = 2000
deadline = "16s"
[sweep]
name = "{name}"
grid.seconds = {seconds}
"""
# The first trial fits the budget, the second does not, and the third gives time to look.
SPENT = """
[sweep]
name = "spent"
seeds = [0]
zip.row = [{ method = "dpsgd", steps = 20 }, { method = "dpsgd", steps = 21 },
           { method = "sleep", steps = 1500, seconds = 60 }]
"""


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="faults_test.")
        cls.runs = []
        for name in SWEEPS:
            os.mkdir(os.path.join(cls.folder, name))
        source = os.path.join(OPTIONS.source, "monitoring/rules")
        for name in ("alerts.yml", "recording.yml"):
            with open(os.path.join(source, name), encoding="utf-8") as file:
                text = file.read()
            text = re.sub(r"for: \w+", "for: 0s", re.sub(r"(\[|offset )1[05]m", r"\g<1>20s", text))
            text = text.replace("> 21600", "> 30")
            with open(os.path.join(cls.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        targets = ", ".join(os.path.join(cls.folder, name, "targets.json") for name in SWEEPS)
        cls.server = Prometheus(cls.folder, OPTIONS.source, targets, os.path.join(cls.folder, "[ar]*.yml"))

    @classmethod
    def tearDownClass(cls):
        for run in cls.runs:
            run.send_signal(signal.SIGTERM)
            run.wait()
        cls.server.end()
        shutil.rmtree(cls.folder, ignore_errors=True)

    def run_sweep(self, name, text):
        with open(os.path.join(self.folder, name + ".toml"), "w", encoding="utf-8") as file:
            file.write(text)
        with open(os.path.join(self.folder, name + ".log"), "a", encoding="utf-8") as log:
            run = subprocess.Popen([OPTIONS.retort, "run", name + ".toml", "--results", name, "--slots", "2",
                                    "--metrics-listen", "127.0.0.1:0"], cwd=self.folder, stderr=log)
        self.runs.append(run)
        wait_for(lambda: self.server.values(f'up{{sweep="{name}"}} == 1'), f"a scrape of {name}")
        return run

    def end_sweep(self, run, how=signal.SIGTERM):
        run.send_signal(how)
        run.wait()
        self.runs.remove(run)

    def fires(self, alert, sweep, meanwhile=lambda: None):
        def look():
            meanwhile()
            return (alert, sweep) in self.server.firing()
        wait_for(look, lambda: f"{alert} of {sweep} to fire; firing: {self.server.firing()}", step=0.5)

    def clears(self, alert, sweep):
        wait_for(lambda: (alert, sweep) not in self.server.firing(), f"{alert} of {sweep} to clear", step=0.5)

    def workers(self, run):
        return [pid for pid, (parent, name, _) in processes().items() if parent == run.pid and name in WORKERS]

    def test_a_stopped_gang_a_kill_loop_and_a_dead_orchestrator(self):
        text = SLEEPS.format(name="hurt", seconds="[200, 201, 202]")
        run = self.run_sweep("hurt", text)
        [stopped, _] = wait_for(lambda: len(found := self.workers(run)) == 2 and found, "two workers")
        time.sleep(3)
        self.assertEqual({alert for alert, sweep in self.server.firing() if sweep == "hurt"}, set())
        os.kill(stopped, signal.SIGSTOP)
        self.fires("RetortGangStalled", "hurt")
        os.kill(stopped, signal.SIGCONT)
        self.clears("RetortGangStalled", "hurt")

        def kill():
            time.sleep(1)
            for pid in self.workers(run):
                os.kill(pid, signal.SIGKILL)
        for alert in ("RetortWorkersKilled", "RetortRetryStorm", "RetortFailureRatio"):
            self.fires(alert, "hurt", kill)
        self.fires("RetortNoSuccess", "hurt")
        for alert in ("RetortWorkersKilled", "RetortRetryStorm", "RetortFailureRatio"):
            self.clears(alert, "hurt")

        self.end_sweep(run, signal.SIGKILL)
        self.fires("RetortOrchestratorAbsent", "hurt")
        run = self.run_sweep("hurt", text)
        self.clears("RetortOrchestratorAbsent", "hurt")
        self.end_sweep(run)
        wait_for(lambda: "hurt" not in {sweep for _, sweep in self.server.firing()}, "silence after a saved end")

    def test_a_budget_that_is_spent_and_raised(self):
        head = SMALL_DIGITS.format(source=OPTIONS.source).replace('noise = "seeded"\n', "")
        text = head.replace("\n[trial]", "\nbudget = { epsilon = BUDGET, delta = 1e-4 }\n[trial]") + SPENT
        run = self.run_sweep("spent", text.replace("BUDGET", "4.5"))
        self.fires("RetortBudgetSpent", "spent")
        self.fires("RetortBudgetNear", "spent")
        self.end_sweep(run)
        self.run_sweep("spent", text.replace("BUDGET", "1000"))
        self.clears("RetortBudgetSpent", "spent")
        self.clears("RetortBudgetNear", "spent")

    def test_a_disk_that_is_nearly_full(self):
        small = os.path.join(self.folder, "full")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", small], check=True)
        try:
            run = self.run_sweep("full", SLEEPS.format(name="full", seconds="[200]"))
            self.fires("RetortDiskNearlyFull", "full")
            subprocess.run(["mount", "-o", "remount,size=8g", small], check=True)
            self.clears("RetortDiskNearlyFull", "full")
            self.end_sweep(run)
        finally:
            subprocess.run(["umount", "--lazy", small], check=True)


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    need("prometheus")
    need("unshare")
    enter_own_mounts()
    sys.exit(0 if all_tests_pass() else 1)
