#!/usr/bin/env python3
"""Rules and configuration are what promtool takes; every alert fires and stays silent in a test of its own, and its
runbook has a heading for it."""
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from expressions import catalogue, need, rules
from sweep_run import all_tests_pass, parse_options


# What the tests of the rules must see: what is replaced, by what, and the alert that then goes wrong.
TURNED = [
    ("retort_storage_free_bytes < 5e9", "retort_storage_free_bytes > 5e9", "RetortDiskNearlyFull"),
    ('or on (sweep, instance) increase(retort_failures_total{kind="disk"}[15m]) > 0', "", "RetortDiskNearlyFull"),
    ('or on (sweep, instance) (retort_failures_total{kind="disk"} > 0 unless retort_failures_total offset 15m)', "",
     "RetortDiskNearlyFull"),
    ("retort_clock_timestamp_seconds - on (sweep, instance) group_right ()", "time() -", "RetortGangStalled"),
    ("max by (sweep, instance) (retort_clock_timestamp_seconds) -", "time() -", "RetortNoSuccess"),
    (' and on (sweep, instance) up{job="retort"} == 1', "", "RetortOrchestratorStuck"),
    (' unless on (sweep, instance) up{job="retort"}', "", "RetortMetricsFileStale"),
    ('sum by (sweep, instance) (retort_trials{state=~"leased|running"})', "sweep:retort_trials_left:sum",
     "RetortMetricsFileStale"),
    ("increase(retort_malformed_messages_total[15m]) > 0 or on (sweep, instance)", "", "RetortMalformedMessages"),
    ('or on (sweep, instance) increase(retort_failures_total{kind="budget_refused"}[15m]) > 0', "", "RetortBudgetSpent"),
    (" or on (sweep, instance) (retort_malformed_messages_total > 0 unless retort_malformed_messages_total offset 15m)",
     "", "RetortMalformedMessages"),
    *((" and on (sweep, instance) sweep:retort_pages:changes2m > 0", "", alert) for alert in (
        "RetortDevicesIdle", "RetortAgentLost", "RetortSlotDrained", "RetortNoSuccess")),
    ("stopped|", "", "RetortFailureRatio"), ("budget_refused|", "", "RetortFailureRatio"),
    ("|crowded", "", "RetortFailureRatio"),
    ('retort_retries_total{kind!~"stopped|budget_refused|crowded"}', "retort_retries_total", "RetortRetryStorm"),
]


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

    def test_runbook_links_become_a_sites_own(self):
        [command] = re.findall(r"(?m)^sed 's\|monitoring/RUNBOOK.md\|.*$", self.read("README.md"))
        base = re.search(r"https://[^|]+", command)[0]
        command = re.sub(r">\S+$", ">site.yml", command)
        subprocess.run(["bash", "-c", command.replace("monitoring/rules/", f"{self.folder}/rules/")], check=True)
        code, said = promtool("check", "rules", "site.yml")
        self.assertEqual(code, 0, said)
        with open("site.yml", encoding="utf-8") as file:
            links = re.findall(r"runbook_url: (.+)", file.read())
        alerts = [name for kind, name, _ in rules(OPTIONS.source) if kind == "alert"]
        self.assertEqual(links, [f"{base}#{name.lower()}" for name in alerts])

    def test_what_the_configuration_comments_is_valid(self):
        shown = re.sub(r"(?m)^( *)# (basic_auth|tls_config):", r"\1\2:", self.read("prometheus.yml"))
        shown = shown.replace("rules/*.yml", f"{self.folder}/rules/*.yml")
        self.assertEqual(len(re.findall(r"(?m)^ +(?:basic_auth|tls_config):", shown)), 2)
        self.assertNotEqual(self.check_config(shown.replace("ca_file", "ca_fill"))[0], 0, "what it does not know is refused")
        for name in re.findall(r"\w+_file: ([^ ,]+)", shown):
            open(name, "w", encoding="utf-8").close()
        code, said = self.check_config(shown)
        self.assertEqual(code, 0, said)

    def check_config(self, text):
        with open("prometheus.yml", "w", encoding="utf-8") as file:
            file.write(text)
        return promtool("check", "config", "prometheus.yml")

    def test_kinds_that_are_no_failures_are_the_same(self):
        known = catalogue(OPTIONS.retort)["retort_failures_total"]["labels"][0]["values"]
        left_out = re.findall(r'kind!~"([^"]+)"', self.read("rules/alerts.yml") + self.read("rules/recording.yml"))
        self.assertGreater(len(left_out), 1)
        self.assertEqual(set(left_out), {left_out[0]})
        self.assertLessEqual(set(left_out[0].split("|")), set(known))

    def cases_of(self, alert):
        """Only these, on rule files of this folder."""
        head, *cases = self.read("rules/tests/alerts.yml").split("  - interval: 30s\n")
        return "  - interval: 30s\n".join([head.replace("../", ""), *(case for case in cases if alert in case)])

    def test_a_rule_that_is_turned_round_is_seen(self):
        for part, changed, alert in TURNED:
            whole = {name: self.read(f"rules/{name}.yml") for name in ("recording", "alerts")}
            turned = {name: text.replace(part, changed) for name, text in whole.items()}
            self.assertNotEqual(turned, whole, part)
            for name, text in turned.items():
                with open(name + ".yml", "w", encoding="utf-8") as file:
                    file.write(text)
            with open("turned_tests.yml", "w", encoding="utf-8") as file:
                file.write(self.cases_of(alert))
            code, said = promtool("test", "rules", "turned_tests.yml")
            self.assertNotEqual(code, 0, part)
            self.assertIn(alert, said)


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    need("promtool")
    import tempfile
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        passed = all_tests_pass()
    sys.exit(0 if passed else 1)
