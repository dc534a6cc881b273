#!/usr/bin/env python3
"""Rules and configuration are what promtool takes; every alert fires and stays silent in a test of its own, and its
runbook has a heading for it."""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from expressions import need, rules
from sweep_run import all_tests_pass, parse_options


def promtool(*arguments):
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Rules(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.join(OPTIONS.source, "monitoring")

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def test_promtool_takes_rules_and_configuration(self):
        for kind, name in (("rules", "rules/recording.yml"), ("rules", "rules/alerts.yml"), ("config", "prometheus.yml")):
            code, said = promtool("check", kind, os.path.join(self.folder, name))
            self.assertEqual(code, 0, said)

    def test_alerts_fire_and_stay_silent(self):
        code, said = promtool("test", "rules", os.path.join(self.folder, "rules/tests/alerts.yml"))
        self.assertEqual(code, 0, said)

    def test_every_alert_is_tested_both_ways_and_explained(self):
        tests, runbook = self.read("rules/tests/alerts.yml"), self.read("RUNBOOK.md")
        alerts = [name for kind, name, _ in rules(OPTIONS.source) if kind == "alert"]
        self.assertGreater(len(alerts), 10)
        for name in alerts:
            self.assertIn(f"name: {name} fires", tests)
            self.assertIn(f"name: {name} stays silent", tests)
            self.assertRegex(runbook, rf"(?m)^## {name}$")
            self.assertIn(f"RUNBOOK.md#{name.lower()}\n", self.read("rules/alerts.yml"))
        self.assertEqual(set(re.findall(r"(?m)^## (Retort\w+)$", runbook)), set(alerts))

    def test_a_rule_that_is_turned_round_is_seen(self):
        text = self.read("rules/alerts.yml").replace("retort_storage_free_bytes < 5e9", "retort_storage_free_bytes > 5e9")
        self.assertNotEqual(text, self.read("rules/alerts.yml"))
        with open("turned.yml", "w", encoding="utf-8") as file:
            file.write(text)
        with open("turned_tests.yml", "w", encoding="utf-8") as file:
            file.write(self.read("rules/tests/alerts.yml").replace(
                "[../recording.yml, ../alerts.yml]", f"[{self.folder}/rules/recording.yml, turned.yml]"))
        code, said = promtool("test", "rules", "turned_tests.yml")
        self.assertNotEqual(code, 0, said)
        self.assertIn("RetortDiskNearlyFull", said)


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    need("promtool")
    import tempfile
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        passed = all_tests_pass()
    sys.exit(0 if passed else 1)
