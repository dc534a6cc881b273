#!/usr/bin/env python3
"""Sweeps that search: rounds follow from scores, whoever is killed goes on with the same suggestions, and everything that
shows results says which score was read.

usage: search_test.py --retort PROGRAM --source DIR [--worker SCRIPTED_WORKER]
With a scripted worker nothing is trained, and scores follow from ids.
"""
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
import sweep_run  # noqa: E402

OPTIONS = sweep_run.parse_options("retort", "source", worker="")
ROUNDS = int(os.environ.get("RETORT_KILL_ROUNDS", "4"))

SWEEP = """
steps = 12
method = "dpsgd"
[sweep]
name = "tuned"
[sweep.search]
method = "{method}"
trials = {trials}
{keys}
space.lr = {lr}
space.norm_bound = {{ low = 0.01, high = 1, scale = "log" }}
[table.main]
rows = ["suggestion", "lr"]
"""
ROUNDS_OF_TWO = "startup = 4\nbatch = 2"


class SearchTest(sweep_run.WrittenSweep):
    OPTIONS = OPTIONS
    NAME = "tuned"

    def write(self, method="tpe", trials=10, keys=ROUNDS_OF_TWO, lr='{ low = 1e-2, high = 10, scale = "log" }'):
        head = sweep_run.SMALL_DIGITS.format(source=os.path.abspath(OPTIONS.source))
        head = head.replace("\nlr = 1\n", "\n").replace("\nnorm_bound = 0.1\n", "\n")
        with open(self.sweep, "w", encoding="utf-8") as file:
            file.write(head + SWEEP.format(method=method, trials=trials, keys=keys, lr=lr))

    def suggested(self):
        """(name, id, row digest) of every trial, in the order of the suggestions."""
        return [(t["name"], t["trial"], t.get("row_digest")) for t in self.json("list")["trials"]]

    def test_rounds_run_to_the_end_and_the_best_is_named(self):
        self.write()
        self.assertEqual(self.json("plan", self.sweep)["search"]["suggested"], 0)
        self.retort("run", self.sweep, "--slots", "2")
        trials = self.json("list")["trials"]
        self.assertEqual([t["state"] for t in trials], ["succeeded"] * 10)
        scores = {t["trial"]: t["metrics"]["public.accuracy"] for t in trials}
        status = self.json("status")
        self.assertTrue(status["finished"])
        self.assertEqual((status["search"]["suggested"], status["search"]["ended"]), (10, 10))
        self.assertEqual(status["search"]["best"]["score"], max(scores.values()))
        self.assertEqual(scores[status["search"]["best"]["trial"]], max(scores.values()))
        self.assertEqual(set(status["search"]["best"]["values"]), {"lr", "norm_bound"})
        self.retort("verify")
        for text in (self.retort("status").stdout, self.retort("plan", self.sweep).stdout,
                     self.retort("table", self.sweep).stdout):
            text = " ".join(text.split())
            self.assertIn("The search read public.accuracy on public examples", text)
            self.assertIn(f"suggestion {status['search']['best']['suggestion']}, ", text)
        table = self.json("table", self.sweep)
        self.assertEqual(len(table["cells"]), 10)
        self.assertIn("The search read public.accuracy", json.dumps(table["notes"]))

    def test_the_best_of_a_rung_run_on_the_next(self):
        self.write(method="successive-halving", trials=6, keys="reduction = 2\nrungs.batch = [16, 32, 64]")
        self.retort("run", self.sweep, "--slots", "2")
        trials = self.json("list")["trials"]
        batches = [t["spec"]["batch"] for t in trials]
        self.assertEqual(batches, [16] * 6 + [32] * 3 + [64])
        scores = [t["metrics"]["public.accuracy"] for t in trials]
        rates = [t["spec"]["lr"] for t in trials]
        self.assertEqual(sorted(scores[:6], reverse=True)[:3], [scores[rates.index(rate)] for rate in rates[6:9]])
        search = self.json("status")["search"]
        self.assertEqual((search["suggested"], search["best"]["suggestion"], search["rungs"]), (10, 9, "batch"))
        before = self.suggested()
        self.retort("run", self.sweep)
        self.assertEqual(self.suggested(), before)

    def write_asha(self, trials=9):
        self.write(method="asha", trials=trials, keys="reduction = 2\nrungs.batch = [16, 32, 64]")

    def assert_promoted(self, trials):
        """Every suggestion of a higher rung was tried on the one below before, and none twice."""
        seen = set()
        for trial in trials:
            setting, batch = (trial["spec"]["lr"], trial["spec"]["norm_bound"]), trial["spec"]["batch"]
            self.assertNotIn((setting, batch), seen)
            if batch > 16:
                self.assertIn((setting, batch // 2), seen)
            seen.add((setting, batch))

    def test_asha_promotes_without_waiting(self):
        self.write_asha()
        planned = self.json("plan", self.sweep)
        self.assertEqual([t["spec"]["batch"] for t in planned["trials"]], [16] * 9)
        self.assertEqual(planned["search"]["trials"], 9)
        self.assertIn("and more while it runs", self.retort("plan", self.sweep).stdout)
        run = self.retort("table", self.sweep, "--complete", code=None)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("decides while it runs", run.stderr)
        self.retort("run", self.sweep, "--slots", "2")
        trials = self.json("list")["trials"]
        batches = [t["spec"]["batch"] for t in trials]
        self.assertEqual({t["state"] for t in trials}, {"succeeded"})
        self.assertEqual(sorted(t["trial"] for t in trials if t["spec"]["batch"] == 16),
                         sorted(t["trial"] for t in planned["trials"]))
        self.assertGreaterEqual(batches.count(32), 4)
        self.assertGreaterEqual(batches.count(64), 1)
        self.assertLess(batches.index(32), 8)  # before the first rung had started, let alone ended
        self.assert_promoted(trials)
        status = self.json("status")
        self.assertTrue(status["finished"])
        search = status["search"]
        self.assertEqual((search["suggested"], search["ended"], search["trials"]), (len(trials),) * 3)
        self.assertEqual(search["rungs"], "batch")
        top = {t["trial"]: t["metrics"]["public.accuracy"] for t in trials if t["spec"]["batch"] == 64}
        self.assertEqual(search["best"]["score"], max(top.values()))
        self.assertEqual(self.json("plan", self.sweep)["search"]["best"], search["best"])
        self.assertNotIn("and more while it runs", self.retort("plan", self.sweep).stdout)
        self.assertIn(f"suggestion {search['best']['suggestion']}, ",
                      " ".join(self.retort("table", self.sweep).stdout.split()))
        self.assertEqual(len(self.json("table", self.sweep)["cells"]), len(trials))
        self.retort("verify")
        before = self.suggested()
        self.retort("run", self.sweep)
        self.assertEqual(self.suggested(), before)

    def test_kills_undo_no_decision_of_asha(self):
        self.write_asha()
        began = time.monotonic()
        self.start().communicate()
        took = time.monotonic() - began
        chance = random.Random(12)
        for number in range(ROUNDS):
            self.results = os.path.join(self.folder, "results", f"tuned-{number}")
            decided = []
            for _ in range(chance.randint(2, 5)):
                process = self.start()
                time.sleep(chance.uniform(0.01, took))
                process.kill()
                process.communicate()
                listed = self.retort("list", "--json", code=None)
                if listed.returncode == 0:  # else it was killed before there was a plan
                    now = [t["trial"] for t in json.loads(listed.stdout)["trials"]]
                    self.assertEqual(now[:len(decided)], decided)
                    decided = now
            self.retort("run", self.sweep, "--slots", "1")
            trials = self.json("list")["trials"]
            self.assertEqual([t["trial"] for t in trials][:len(decided)], decided)
            self.assertEqual({t["state"] for t in trials}, {"succeeded"})
            self.assert_promoted(trials)
            self.retort("verify")
            if number == 0:
                self.write_asha(trials=12)
                self.retort("run", self.sweep)
                more = self.json("list")["trials"]
                self.assertEqual([t["trial"] for t in more[:len(trials)]], [t["trial"] for t in trials])
                self.assertEqual(sum(t["spec"]["batch"] == 16 for t in more), 12)
                self.write_asha()

    def test_running_again_changes_nothing(self):
        self.write()
        self.retort("run", self.sweep)
        before = self.suggested()
        self.retort("run", self.sweep)
        self.assertEqual(self.suggested(), before)

    def test_more_trials_go_on(self):
        self.write(trials=6)
        self.retort("run", self.sweep)
        before = self.suggested()
        self.write(trials=9)
        self.retort("run", self.sweep)
        self.assertEqual(self.suggested()[:6], before)
        self.assertEqual(len(self.suggested()), 9)

    def test_kills_change_no_suggestion(self):
        self.write()
        began = time.monotonic()
        self.start().communicate()
        took = time.monotonic() - began
        expected = self.suggested()
        self.assertEqual(len(expected), 10)
        chance = random.Random(11)
        for number in range(ROUNDS):
            self.results = os.path.join(self.folder, "results", f"tuned-{number}")
            for _ in range(chance.randint(1, 4)):
                process = self.start()
                time.sleep(chance.uniform(0.01, took))
                process.kill()
                process.communicate()
            self.retort("run", self.sweep, "--slots", "1")
            self.assertEqual(self.suggested(), expected)
            self.retort("verify")

    def test_methods_without_scores_are_planned_whole(self):
        for method in ("random", "latin-hypercube"):
            self.results = os.path.join(self.folder, "results", method)
            self.write(method=method, trials=5, keys="seed = 3")
            planned = [t["trial"] for t in self.json("plan", self.sweep)["trials"]]
            self.assertEqual(len(planned), 5)
            self.retort("run", self.sweep)
            self.assertEqual([t for _, t, _ in self.suggested()], planned)

    def test_trials_that_fail_are_tried_around(self):
        if not OPTIONS.worker:
            self.skipTest("needs a worker that fails on purpose")
        self.write(lr="[13, 1, 2]")
        self.retort("run", self.sweep, code=1)
        states = [t["state"] for t in self.json("list")["trials"]]
        self.assertEqual(len(states), 10)
        self.assertIn("failed", states)
        self.assertIn("succeeded", states)
        before = self.suggested()
        self.retort("run", self.sweep, code=1)
        self.assertEqual(self.suggested(), before)

    def test_file_that_is_edited_meanwhile_does_not_count(self):
        self.write()
        process = self.start()
        sweep_run.wait_for(lambda: os.path.exists(os.path.join(self.results, "trials")), "the first trial")
        with open(self.sweep, "w", encoding="utf-8") as file:
            file.write("this is no sweep")
        self.assertEqual(process.wait(timeout=120), 0)
        self.assertEqual(len(self.suggested()), 10)

    def test_rounds_cannot_be_completed_by_a_table(self):
        self.write()
        run = self.retort("table", self.sweep, "--complete", code=None)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("round by round", run.stderr)


if __name__ == "__main__":
    sys.exit(0 if sweep_run.all_tests_pass() else 1)
