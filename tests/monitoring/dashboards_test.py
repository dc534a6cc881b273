#!/usr/bin/env python3
"""The dashboards are what make.py writes, follow the rules of Grafana's linter, hold PromQL that parses, and speak of
the binary's catalogue: of nothing else, and of all of it."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from expressions import FOREIGN, catalogue, dashboards, families_in, family_of, need, panel_expressions, rules
from sweep_run import all_tests_pass, parse_options


def complaints(board):
    """What Grafana's dashboard linter would say."""
    said = []
    variables = {variable["name"]: variable for variable in board["templating"]["list"]}
    said += [f"no variable {name}" for name in ("datasource", "job", "sweep", "instance") if name not in variables]
    said += [f"{name} does not follow the time range" for name, variable in variables.items()
             if variable["type"] == "query" and variable["refresh"] != 2]
    if board["editable"]:
        said.append("editable")
    if "__inputs" in board:
        said.append("__inputs cannot be provisioned")
    for panel in board["panels"]:
        said += [f"panel {panel['id']} has no {field}" for field in ("title", "description") if not panel.get(field)]
        if not panel["fieldConfig"]["defaults"].get("unit"):
            said.append(f"{panel['title']}: no unit")
        for target in panel["targets"]:
            if target["datasource"]["uid"] != "${datasource}":
                said.append(f"{panel['title']}: fixed data source")
            for metric in re.findall(r"\bretort_\w+_total\b", target["expr"]):
                if not re.search(rf"(rate|increase)\({metric}[^)]*\[\$__rate_interval\]", target["expr"]):
                    said.append(f"{panel['title']}: {metric} is a counter and stands outside rate()")
    return said


class Dashboards(unittest.TestCase):
    def setUp(self):
        self.boards = dashboards(OPTIONS.source)
        self.expressions = [(f"{name}: {title}", expression) for name, board in self.boards.items()
                            for title, expression in panel_expressions(board)]
        self.expressions += [(name, expression) for _, name, expression in rules(OPTIONS.source)]

    def test_files_are_what_the_script_writes(self):
        script = os.path.join(OPTIONS.source, "monitoring/dashboards/make.py")
        done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_linter_is_content(self):
        self.assertEqual(len(self.boards), 5)
        for name, board in self.boards.items():
            self.assertEqual(complaints(board), [], name)
        self.assertEqual(len({board["uid"] for board in self.boards.values()}), 5)

    def test_a_dashboard_with_faults_is_seen(self):
        board = json.loads(json.dumps(self.boards["faults.json"]))
        board["templating"]["list"] = board["templating"]["list"][:1]
        board["panels"][0]["description"] = ""
        board["panels"][1]["targets"][0]["expr"] = "retort_steps_total"
        found = " ".join(complaints(board))
        for part in ("no variable sweep", "no description", "outside rate()"):
            self.assertIn(part, found)

    def test_every_expression_parses(self):
        need("promtool")
        lines = ["groups:", "  - name: panels", "    rules:"]
        for i, (_, expression) in enumerate(self.expressions):
            lines += [f"      - record: panel:{i}:x", f"        expr: {json.dumps(expression)}"]
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            done = subprocess.run(["promtool", "check", "rules", file.name], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{len(self.expressions)} rules found", done.stdout + done.stderr)

    def test_names_and_labels_are_those_of_the_catalogue(self):
        known = catalogue(OPTIONS.retort)
        recorded = {name for kind, name, _ in rules(OPTIONS.source) if kind == "record"}
        shown = set()
        for where, expression in self.expressions:
            plain = re.sub(r"\w+:\w+:\w+", lambda found: "" if found[0] in recorded else found[0], expression)
            self.assertNotIn(":", re.sub(r'"[^"]*"', "", plain).replace("[1m:", ""), f"{where}: a record that no rule makes")
            for name in families_in(plain):
                family = family_of(name, known)
                self.assertIsNotNone(family, f"{where}: {name} is in no catalogue")
                shown.add(family)
            for name, labels in re.findall(r"\b(retort_\w+)\{([^}]*)\}", plain):
                allowed = {label["name"]: label["values"] for label in known[family_of(name, known)]["labels"]}
                for label, value in re.findall(r'(\w+)\s*(?:=~|!=|!~|=)\s*"([^"]*)"', labels):
                    if label in ("job", "sweep", "instance"):
                        continue
                    self.assertIn(label, allowed, where)
                    for one in value.split("|") if allowed[label] else []:
                        self.assertIn(one, allowed[label], where)
        self.assertEqual(set(known) - shown, set(), "no panel or rule shows these")

    def test_foreign_metrics_are_those_of_dcgm(self):
        for where, expression in self.expressions:
            for name in re.findall(r"\b[A-Z]+_[A-Z_]{4,}\b", expression):
                self.assertTrue(name.startswith(FOREIGN), f"{where}: {name}")


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    sys.exit(0 if all_tests_pass() else 1)
