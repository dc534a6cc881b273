"""Sweeps that get hurt, and a real Prometheus that watches them with the shipped rules, whose waits and windows alone are
shortened."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from prometheus import Prometheus
from sweep_run import processes, wait_for

# A sleeper's name may change while it starts.
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
NO_SUCCESS_SECONDS = 12
DISK_BYTES = 20_000_000


def shortened(text, window=20):
    """Rules whose every window is that of so many seconds, and which wait for nothing."""
    text = re.sub(r"for: \w+", "for: 0s", re.sub(r"(\[|offset )\d+m", rf"\g<1>{window}s", text))
    return text.replace("> 21600", f"> {NO_SUCCESS_SECONDS}").replace("< 5e9", f"< {DISK_BYTES}")


def write_shortened_rules(source, folder, window=20):
    """What Prometheus is told to read."""
    for name in ("alerts.yml", "recording.yml"):
        with open(os.path.join(source, "monitoring/rules", name), encoding="utf-8") as file:
            text = file.read()
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(shortened(text, window))
    return os.path.join(folder, "[ar]*.yml")


class FaultCase(unittest.TestCase):
    """Whoever derives from it sets `sweeps`, the names of all its sweeps, and `options`. Each sweep has a results root of its
    own, NAME, so that no budget binds another."""
    sweeps = ()
    options = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="faults_test.")
        cls.runs = []
        for name in cls.sweeps:
            os.makedirs(os.path.join(cls.folder, name, "results"))
        targets = ", ".join(os.path.join(cls.folder, name, "results/targets.json") for name in cls.sweeps)
        rules = write_shortened_rules(cls.options.source, cls.folder)
        cls.server = Prometheus(cls.folder, cls.options.source, targets, rules)

    @classmethod
    def tearDownClass(cls):
        for run in cls.runs:
            run.send_signal(signal.SIGTERM)
            run.wait()
        cls.server.end()
        shutil.rmtree(cls.folder, ignore_errors=True)

    def run_sweep(self, name, text, slots=2, launch=(), **environment):
        with open(self.sweep_file(name), "w", encoding="utf-8") as file:
            file.write(text)
        with open(os.path.join(self.folder, name + ".log"), "a", encoding="utf-8") as log:
            run = subprocess.Popen([*launch, self.options.retort, "run", self.sweep_file(name), "--results", name + "/results",
                                    "--slots", str(slots), "--metrics-listen", "127.0.0.1:0"], cwd=self.folder, stderr=log,
                                   env={**os.environ, **environment})
        self.runs.append(run)
        wait_for(lambda: self.server.values(f'up{{sweep="{name}"}} == 1'), lambda: f"a scrape of {name}; {self.log(name)}")
        return run

    def sweep_file(self, name):
        return os.path.join(self.folder, name + ".toml")

    def log(self, name):
        with open(os.path.join(self.folder, name + ".log"), encoding="utf-8") as file:
            return file.read()

    def end_sweep(self, run, how=signal.SIGTERM):
        run.send_signal(how)
        run.wait()
        self.runs.remove(run)

    def of(self, sweep):
        """What fires for it now."""
        return {alert for alert, named in self.server.firing() if named == sweep}

    def fires(self, alert, sweep, meanwhile=lambda: None):
        def look():
            meanwhile()
            return alert in self.of(sweep)
        wait_for(look, lambda: f"{alert} of {sweep} to fire; firing: {self.of(sweep)}; {self.log(sweep)}", step=0.5)

    def clears(self, alert, sweep):
        wait_for(lambda: alert not in self.of(sweep), lambda: f"{alert} of {sweep} to clear; {self.log(sweep)}", step=0.5)

    def is_silent(self, alert, sweep, seconds=5):
        """Once data are there, and for some time."""
        self.clears(alert, sweep)
        scrapes = f'count_over_time(up{{sweep="{sweep}"}}[1m]) > {seconds}'
        wait_for(lambda: self.server.values(scrapes), "some scrapes", step=0.5)
        self.assertNotIn(alert, self.of(sweep))

    def workers(self, run):
        return [pid for pid, (parent, name, _) in processes().items() if parent == run.pid and name in WORKERS]
