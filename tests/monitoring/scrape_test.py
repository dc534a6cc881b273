#!/usr/bin/env python3
"""A real Prometheus scrapes a real sweep (under mpirun, where there is one) through the shipped configuration: every
panel is filled, every recording rule too, no alert fires, and each that stays silent could be evaluated. What only a
GPU fills is listed."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from expressions import catalogue, need, rules
from sweep_run import all_tests_pass, parse_options, wait_for
from watched_sweep import WatchedSweep, expressions_of_panels, wait_until_filled


class Scraped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.watched = WatchedSweep(cls.folder.name, OPTIONS, os.path.join(OPTIONS.source, "monitoring/rules/*.yml"))

    @classmethod
    def tearDownClass(cls):
        cls.watched.end()
        cls.folder.cleanup()

    def test_a_scrape_is_what_promtool_and_catalogue_say(self):
        with urllib.request.urlopen(f"http://{self.watched.target}/metrics", timeout=10) as reply:
            text = reply.read()
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, b""))
        types = dict(re.findall(r"# TYPE (\S+) (\S+)", text.decode()))
        known = catalogue(OPTIONS.retort)
        self.assertEqual({name: known[name]["type"] for name in types}, types)

    def test_panels_and_recording_rules_are_filled(self):
        expressions, foreign = expressions_of_panels(OPTIONS.source)
        expressions += [(name, name) for kind, name, _ in rules(OPTIONS.source) if kind == "record"]
        left = wait_until_filled(self.watched.server, expressions)
        for where, expression in expressions:
            print(f"{'no data' if (where, expression) in left else 'data'}: {where}: {expression}")
        print(f"\n{len(expressions) - len(left)} of {len(expressions)} expressions answered with data; "
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

    def test_who_scrapes_sees_a_sweep_until_it_ends(self):
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
