#!/usr/bin/env python3
"""A real Prometheus scrapes a real sweep (under mpirun, where there is one) through the shipped configuration: every
panel is filled, every recording rule too, no alert fires, and each that stays silent could be evaluated. What only a
GPU fills is listed."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from expressions import FOREIGN, catalogue, dashboards, need, panel_expressions, rules
from prometheus import Prometheus
from sweep_run import SMALL_DIGITS, all_tests_pass, parse_options, wait_for

SWEEP = """
[sweep]
name = "watched"
seeds = [0]
zip.row = [{ method = "dpsgd", steps = 20 }, { method = "sleep", steps = 10, seconds = 0.2 },
           { method = "sleep", steps = 20, seconds = 0.2 }, { method = "sleep", steps = 1500, seconds = 60 }]
"""
# Panels that may be empty, and why.
MAY_BE_EMPTY = {"Expected end": "until a trial of each kind was measured"}


class Watched:
    """The sweep and its Prometheus."""

    def __init__(self, folder):
        self.folder = folder
        self.results = os.path.join(folder, "results")
        with open(os.path.join(folder, "s.toml"), "w", encoding="utf-8") as file:
            head = SMALL_DIGITS.format(source=OPTIONS.source).replace('noise = "seeded"\n', "")
            file.write(head.replace("\n[trial]", "\nbudget = { epsilon = 50, delta = 1e-4 }\n[trial]") + SWEEP)
        self.said = open(os.path.join(folder, "said.txt"), "w+", encoding="utf-8")
        launch = [os.path.join(OPTIONS.source, "cluster/launch/mpirun.sh"), "-np", "3"] if shutil.which("mpirun") else []
        self.sweep = subprocess.Popen([*launch, OPTIONS.retort, "run", "s.toml", "--results", self.results, "--slots", "2",
                                       "--metrics-listen", "127.0.0.1:0"], cwd=folder, stderr=self.said)
        targets = os.path.join(self.results, "targets.json")
        wait_for(lambda: os.path.exists(targets), "targets.json of the sweep")
        with open(targets, encoding="utf-8") as file:
            self.target = json.load(file)[0]["targets"][0]
        self.server = Prometheus(folder, OPTIONS.source, targets, os.path.join(OPTIONS.source, "monitoring/rules/*.yml"))

    def end(self):
        self.server.end()
        self.sweep.send_signal(signal.SIGTERM)
        self.sweep.wait()
        self.said.close()


class Scraped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.watched = Watched(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.watched.end()
        cls.folder.cleanup()

    def test_a_scrape_is_what_promtool_wants_and_what_the_catalogue_says(self):
        with urllib.request.urlopen(f"http://{self.watched.target}/metrics", timeout=10) as reply:
            text = reply.read()
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, b""))
        types = dict(re.findall(r"# TYPE (\S+) (\S+)", text.decode()))
        known = catalogue(OPTIONS.retort)
        self.assertEqual({name: known[name]["type"] for name in types}, types)

    def test_panels_and_recording_rules_are_filled(self):
        expressions = [(f"{name}: {title}", expression) for name, board in dashboards(OPTIONS.source).items()
                       for title, expression in panel_expressions(board)]
        expressions += [(name, name) for kind, name, _ in rules(OPTIONS.source) if kind == "record"]
        foreign = [where for where, expression in expressions if FOREIGN in expression]
        left = {where: expression for where, expression in expressions if where not in foreign}
        asked = len(left)

        def all_filled():
            for where in [where for where, expression in left.items() if self.watched.server.values(expression)]:
                del left[where]
            return all(where.split(": ")[-1] in MAY_BE_EMPTY for where in left)
        wait_for(all_filled, lambda: f"data for {left}", seconds=90, step=1)
        for where, expression in expressions:
            print(f"{'no data' if where in left else 'needs a GPU' if where in foreign else 'data'}: {where}: {expression}")
        print(f"\n{asked - len(left)} of {asked} expressions answered with data; "
              f"empty: {sorted(left)}; need a GPU and DCGM's exporter: {foreign}")
        self.assertEqual(len(foreign), 3)

    def test_alerts_are_evaluated_and_silent(self):
        names = {name for kind, name, _ in rules(OPTIONS.source) if kind == "alert"}

        def healthy():
            data = self.watched.server.ask("rules", type="alert")
            found = [rule for group in (data or {"groups": []})["groups"] for rule in group["rules"]]
            return {rule["name"] for rule in found} == names and all(rule["health"] == "ok" for rule in found) and found
        found = wait_for(healthy, "the evaluation of every alert")
        self.assertEqual([rule["name"] for rule in found if rule["state"] == "firing"], [])

    def test_who_scrapes_sees_what_it_is_and_a_sweep_that_ends_takes_itself_off_the_targets(self):
        up = wait_for(lambda: self.watched.server.values('up{job="retort"} == 1'), "a scrape")
        self.assertEqual([series["metric"]["sweep"] for series in up], ["watched"])
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "s.toml"), "w", encoding="utf-8") as file:
                file.write('retort = 1\n[trial]\nmethod = "sleep"\nsteps = 1\n[sweep]\nname = "short"\n'
                           'grid.seconds = [0.01]\n')
            results = os.path.join(folder, "results")
            subprocess.run([OPTIONS.retort, "run", "s.toml", "--results", results, "--quiet"], cwd=folder, check=True)
            with open(os.path.join(results, "targets.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file), [])


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    need("prometheus")
    need("promtool")
    sys.exit(0 if all_tests_pass() else 1)
