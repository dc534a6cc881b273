"""Every shipped sweep of the papers and the digits can be planned and tabulated before anything has run: whole, but for
data that is not here, and in its smoke profile, which needs none.

usage: plans_test.py --retort PROGRAM --source DIR
"""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from shipped import Retort, path_of, selects, shipped  # noqa: E402
from sweep_run import parse_options, run_tests  # noqa: E402

OPTIONS = None
FOLDER = None


class ShippedSweeps(unittest.TestCase):
    def setUp(self):
        self.results = os.path.join(FOLDER, "results")
        self.names = shipped(OPTIONS.source)

    def test_there_are_sweeps_of_every_paper(self):
        for paper, least in (("dpdfd-ijcai23", 7), ("dp-dfd", 7), ("rona-aaai19", 12), ("dpsd", 20), ("digits", 5)):
            found = [name for name in self.names if name.startswith(paper + "/")]
            self.assertGreaterEqual(len(found), least, found)

    def test_whole_sweeps_are_planned_without_their_data(self):
        nothing = os.path.join(FOLDER, "nothing")
        os.makedirs(nothing, exist_ok=True)
        retort = Retort(OPTIONS.retort, FOLDER, data=nothing)
        for name in self.names:
            with self.subTest(name):
                code, plan = retort.json("plan", path_of(OPTIONS.source, name), "--results", self.results)
                self.assertEqual(code, 0, plan.get("errors"))
                self.assertTrue(plan["trials"])
                self.assertEqual([set for set in plan["data"] if set["found"] and "digits" not in set["name"]], [])
                self.assertTrue(all(trial["claims"] for trial in plan["trials"] if trial["spec"]["role"] != "sleep"))

    def test_smoke_profiles_need_no_data(self):
        retort = Retort(OPTIONS.retort, FOLDER)
        names = set()
        for name in self.names:
            with self.subTest(name):
                code, plan = retort.json("plan", path_of(OPTIONS.source, name), "--profile", "smoke",
                                         "--results", self.results)
                self.assertEqual(code, 0, plan.get("errors"))
                self.assertEqual(plan["warnings"], [])
                self.assertTrue(plan["sweep"].endswith("-smoke"), plan["sweep"])
                self.assertNotIn(plan["sweep"], names)
                names.add(plan["sweep"])
                for trial in plan["trials"]:
                    self.assertEqual(trial["spec"]["seed"], 0)
                    self.assertEqual(trial["spec"]["data"].get("published_as", "nothing"), "nothing")

    def test_tables_have_a_cell_for_every_trial(self):
        retort = Retort(OPTIONS.retort, FOLDER)
        for name in self.names:
            with self.subTest(name):
                done = retort.call("table", path_of(OPTIONS.source, name), "--profile", "smoke",
                                   "--results", self.results)
                self.assertEqual(done.returncode, 0, done.stderr)
                # Which trial a selection will release, nobody knows before.
                self.assertEqual("missing" in done.stdout, not selects(path_of(OPTIONS.source, name)))


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    FOLDER = tempfile.mkdtemp(prefix="plans_test.")
    sys.exit(run_tests(FOLDER))
