#!/usr/bin/env python3
"""Sweeps that select: the best alone is released under the selection's claim, everything else stays hidden and is
destroyed, and kills change neither the draw nor what is released.

usage: selection_test.py --retort PROGRAM --source DIR [--worker SCRIPTED_WORKER] [--score private]
With a scripted worker nothing is trained, and scores follow from ids. --score private compares on private examples.
"""
import collections
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
import sweep_run  # noqa: E402

OPTIONS = sweep_run.parse_options("retort", "source", worker="", score="public")
ROUNDS = int(os.environ.get("RETORT_KILL_ROUNDS", "6" if OPTIONS.worker else "2"))
PRIVATE = OPTIONS.score == "private"
SCORE = "validation.accuracy" if PRIVATE else "public.accuracy"
EXAMPLES = 128  # of the validation or the public part
VALIDATION_COUNT = 12  # MechanismKind

SWEEP = """
steps = {steps}
method = "dpsgd"
reserve_block = 4
[sweep]
name = "chosen"
grid.lr = {lr}
[sweep.select]
{score}distribution = "{distribution}"
mean = {mean}
[table.main]
rows = ["method", "lr"]
"""


class SelectionTest(sweep_run.WrittenSweep):
    OPTIONS = OPTIONS
    NAME = "chosen"

    def write(self, noise="seeded", lr="[0.5, 1, 2, 4]", distribution="geometric", mean=4, steps=12, score_noise=4,
              private=PRIVATE, devices=1):
        head = sweep_run.SMALL_DIGITS.format(source=os.path.abspath(OPTIONS.source))
        text = head.replace('noise = "seeded"', f'noise = "{noise}"').replace("\nlr = 1\n", "\n")
        if devices > 1:
            text = text.replace("threads = 1\n", f"threads = 1\ndevices = {devices}\n")
        score = ""
        if private:
            text = text.replace("public = [512, 640]", "validation = [512, 640]")
            score = f'score = "validation.accuracy"\nscore_noise = {score_noise}\n'
        with open(self.sweep, "w", encoding="utf-8") as file:
            file.write(text + SWEEP.format(lr=lr, distribution=distribution, mean=mean, steps=steps, score=score))

    def charges(self):
        """(trial, count that is charged) of the ledger, of released and standing trials alike."""
        text = self.retort("archive", "--out", "-").stdout
        entries = [json.loads(line)["reservation"] for line in text.splitlines() if line.startswith('{"reservation"')]
        return [(e["trial"], e.get("used", e["event"]["count"])) for e in entries]

    def score_draws(self, results):
        """{trial: draws of its private score} of a ledger."""
        text = self.retort("archive", "--out", "-", results=results).stdout
        events = [json.loads(line)["reservation"] for line in text.splitlines() if line.startswith('{"reservation"')]
        draws = collections.Counter()
        for entry in events:
            if entry["event"]["kind"] == VALIDATION_COUNT:
                draws[entry["trial"]] += entry.get("used", entry["event"]["count"])
        return draws

    def change(self, *changes):
        """Replaces parts of the sweep file."""
        with open(self.sweep, encoding="utf-8") as file:
            text = file.read()
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new, 1)
        with open(self.sweep, "w", encoding="utf-8") as file:
            file.write(text)

    def released(self):
        trials = self.json("list")["trials"]
        self.assertEqual(len(trials), 1, trials)
        return trials[0]

    def assert_nothing_left(self):
        self.assertFalse(os.path.exists(os.path.join(self.results, "hidden")))
        for folder, _, names in os.walk(self.results):
            for name in names:
                self.assertNotIn(name, ("series.log", "transcript.log", "manifest.log"), folder)
        self.assertEqual(len(os.listdir(os.path.join(self.results, "trials"))), 1)

    def test_best_alone_is_released_and_pays_for_choosing(self):
        self.write(noise="secure")
        planned = self.json("plan", self.sweep)["selection"]
        self.assertEqual((planned["candidates"], planned["costs"]), (4, 1))
        self.retort("run", self.sweep)
        self.assert_nothing_left()
        trial = self.released()
        self.assertEqual(trial["state"], "succeeded")
        self.assertIn(SCORE, trial["metrics"])
        shown = self.json("show", trial["trial"])
        claims = {(c["adjacency"], c["neighbour"]): c for c in shown["claims"]}
        for claim in planned["claims"]:
            mine = claims[claim["adjacency"], claim["neighbour"]]
            self.assertEqual(mine["epsilon"], claim["epsilon"])
            self.assertGreater(float(mine["epsilon"]), float(claim["candidate_epsilon"]))
            self.assertTrue(mine["accountant"].startswith("selection-"))
            self.assertIn("unselected-hidden", mine["assumptions"])
            self.assertIn("geometric", mine["reason"])
        self.assertEqual([c for _, c in self.charges() if c > 0], [1])
        self.retort("verify")
        table = self.json("table", self.sweep)
        cells = [c for c in table["cells"] if c["state"] == "complete"]
        self.assertEqual(len(cells), 1)
        self.assertIn("selection-", json.dumps(cells[0]["claims"]))

    @unittest.skipUnless(PRIVATE and not OPTIONS.worker, "of a private score, by a worker that trains")
    def test_a_private_score_is_shown_with_its_noise_alone(self):
        self.write(noise="secure", score_noise=500000, mean=2)
        counts = []
        for number in range(2):  # one draw in 9,700 is what a count could be; no two are
            self.results = os.path.join(self.folder, "results", f"noisy-{number}")
            self.retort("run", self.sweep)
            trial = self.released()
            counts.append(trial["metrics"][SCORE] * EXAMPLES)
            self.assertAlmostEqual(counts[-1], round(counts[-1]), places=6)
        self.assertFalse(all(0 <= count <= EXAMPLES for count in counts), f"{counts}: without noise of 500,000 examples")
        shown = [name for name in trial["metrics"] if "validation" in name or "public" in name]
        self.assertEqual(shown, [SCORE])
        said = self.retort("show", trial["trial"]).stdout
        self.assertIn("standard deviation 500000 on that number", " ".join(said.split()))

    @unittest.skipUnless(OPTIONS.worker, "needs a worker that tells a score without its noise")
    def test_a_score_that_nobody_paid_for_leaves_no_claim(self):
        self.write(noise="secure", private=True)
        planned = self.json("plan", self.sweep)["selection"]["claims"]
        self.assertEqual([c["status"] for c in planned], ["proven"] * len(planned))
        self.retort("run", self.sweep)
        claims = self.json("show", self.released()["trial"])["claims"]
        self.assertIn("candidate-outside-plan", {c["reason"] for c in claims})
        self.assertNotIn("proven", {c["status"] for c in claims})

    @unittest.skipUnless(PRIVATE and not OPTIONS.worker, "of a private score, by a worker that trains")
    def test_a_loud_score_costs_more(self):
        cost = []
        for score_noise in (0.4, 1, 1000):
            self.write(noise="secure", score_noise=score_noise)
            planned = self.json("plan", self.sweep)
            self.assertEqual(planned["selection"]["score_noise"], score_noise)
            self.assertEqual(planned["data"][0]["validation"], EXAMPLES)
            cost.append(planned["selection"]["claims"][0]["epsilon"])
        self.assertGreater(cost[0], cost[2])
        self.assertGreaterEqual(cost[1], cost[2])
        self.assertIn("The score is private", self.retort("plan", self.sweep).stdout)

    @unittest.skipUnless(PRIVATE, "of a private score")
    def test_another_noise_is_another_selection(self):
        self.write()
        self.retort("run", self.sweep)
        self.write(score_noise=5)
        run = self.retort("run", self.sweep, code=None)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("another selection", run.stderr)

    def test_the_selection_meets_the_epsilon_asked_for(self):
        self.write(noise="secure")
        self.change(("noise_multiplier = 1\n", 'claim = "example"\ncalibrate = "noise"\n'), ("mean = 4\n", "mean = 4\nepsilon = 3\n"))
        planned = self.json("plan", self.sweep)["selection"]
        claimed = [c["epsilon"] for c in planned["claims"] if c["neighbour"] == "add-remove"]
        self.assertEqual(planned["epsilon"], 3)
        self.assertLess(planned["candidate_epsilon"], 3)
        self.assertTrue(2.997 <= claimed[0] <= 3, claimed)
        alone = [float(c["candidate_epsilon"]) for c in planned["claims"] if c["neighbour"] == "add-remove"]
        if not PRIVATE:  # whose score may cost more than its training
            self.assertLessEqual(alone[0], planned["candidate_epsilon"])
        said = " ".join(self.retort("plan", self.sweep).stdout.split())
        self.assertIn("selection over 4 candidates in expectation costs", said)
        self.assertIn("of ε = 3.000; each candidate runs at ε₀ = " + f"{planned['candidate_epsilon']:.3f}", said)
        self.retort("run", self.sweep)
        trial = self.json("show", self.released()["trial"])
        self.assertEqual([c["epsilon"] for c in trial["claims"] if c["neighbour"] == "add-remove"], claimed)
        self.assertEqual(trial["spec"]["epsilon"], planned["candidate_epsilon"])
        self.change(("[sweep]", "epsilon = 2\n[sweep]"))
        refused = self.retort("plan", self.sweep, code=None)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("trial.epsilon is that of one candidate", refused.stderr)

    @unittest.skipUnless(PRIVATE and not OPTIONS.worker, "of a private score, by workers that train")
    def test_a_gang_draws_one_score_and_is_charged_once(self):
        self.write(noise="secure", score_noise=0.4, mean=2, devices=2)
        planned = self.json("plan", self.sweep)["selection"]["claims"]
        self.retort("run", self.sweep, "--slots", "2")
        self.assert_nothing_left()
        claims = {(c["adjacency"], c["neighbour"]): c for c in self.json("show", self.released()["trial"])["claims"]}
        for claim in planned:  # of which a second draw by any candidate would leave nothing
            self.assertEqual(claims[claim["adjacency"], claim["neighbour"]]["epsilon"], claim["epsilon"])
        self.assertEqual([c for _, c in self.charges() if c > 0], [1])

    @unittest.skipUnless(PRIVATE and not OPTIONS.worker, "of a private score, by workers that train")
    def test_a_gang_that_is_killed_draws_no_other_score(self):
        self.write(mean=3, steps=40, devices=2)
        process = self.start()
        hidden = os.path.join(self.results, "hidden", "run")
        scored = os.path.join(hidden, "trials", "*", "attempt-1", "attempt.h5")
        sweep_run.wait_for(lambda: glob.glob(scored) or process.poll() is not None, "a candidate that has its score")
        process.kill()
        process.communicate()
        seen = os.path.join(self.folder, "seen")
        shutil.copytree(hidden, seen)
        os.remove(os.path.join(seen, "hidden-trials"))
        draws = self.score_draws(seen)
        self.assertGreater(len(draws), 0)
        self.assertEqual(set(draws.values()), {1}, "each gang draws once")
        self.retort("run", self.sweep, "--slots", "2")
        self.assert_nothing_left()
        self.assertEqual([c for _, c in self.charges() if c > 0], [1])
        self.assertIn(SCORE, self.released()["metrics"])

    def test_running_again_changes_nothing(self):
        self.write()
        self.retort("run", self.sweep)
        trial, charges = self.released(), self.charges()
        self.retort("run", self.sweep)
        self.assertEqual((self.released(), self.charges()), (trial, charges))

    def test_hidden_trials_are_refused_with_the_reason(self):
        self.write(mean=30, steps=60)
        process = self.start(stderr=subprocess.PIPE)
        hidden = os.path.join(self.results, "hidden", "run")
        deadline = time.monotonic() + sweep_run.PATIENCE
        while not os.path.exists(os.path.join(hidden, "trials")) and time.monotonic() < deadline:
            time.sleep(0.02)
        trials = os.listdir(os.path.join(hidden, "trials"))
        name = trials[0]
        for words in (["list"], ["status"], ["show", name], ["report", "--out", "-"], ["verify"], ["retry", name],
                      ["export", name, "student", "--format", "torch", "--out", "student.pt"], ["archive", "--out", "-"],
                      ["export", "all", "curves", "--format", "mlflow", "--out", os.path.join(self.results, "mlruns")]):
            run = self.retort(*words, results=hidden, code=None)
            self.assertNotEqual(run.returncode, 0, words)
            self.assertIn("private selection", run.stdout + run.stderr, words)
        run = self.retort("table", self.sweep, results=hidden, code=None)
        self.assertIn("private selection", run.stdout + run.stderr)
        shown = self.retort("list").stdout + self.retort("status", code=None).stdout
        for trial in trials:
            self.assertNotIn(trial[-16:-8], shown)
        for file in ("results.h5", "metrics.prom"):
            self.assertFalse(os.path.exists(os.path.join(hidden, file)), file)
        metrics = os.path.join(self.results, "metrics.prom")
        if os.path.exists(metrics):
            with open(metrics, encoding="utf-8") as file:
                self.assertNotIn("-selected", file.read())
        self.assertEqual(os.stat(hidden).st_mode & 0o077, 0)
        process.send_signal(signal.SIGKILL)
        _, said = process.communicate()
        for trial in trials:
            self.assertNotIn(trial[-16:-8], said)
        self.assertNotIn(SCORE + " =", said)

    def test_hidden_folder_is_closed_where_others_may_read(self):
        self.write(mean=30, steps=60)
        process = subprocess.Popen([OPTIONS.retort, "run", self.sweep, "--results", self.results, "--share"],
                                   cwd=self.folder, env=self.environment, stderr=subprocess.DEVNULL)
        hidden = os.path.join(self.results, "hidden")
        sweep_run.wait_for(lambda: os.path.exists(os.path.join(hidden, "run", "trials")), "drawn trials")
        self.assertEqual(os.stat(hidden).st_mode & 0o077, 0)
        process.kill()
        process.communicate()
        self.retort("run", self.sweep, "--share", "--slots", "4")
        self.assert_nothing_left()
        self.assertNotEqual(os.stat(os.path.join(self.results, "results.h5")).st_mode & 0o044, 0)

    def test_kills_change_neither_release_nor_charge(self):
        self.write(mean=8, steps=20)
        began = time.monotonic()
        process = self.start()
        process.communicate()
        took = time.monotonic() - began
        expected = self.released()
        chance = random.Random(7)
        for number in range(ROUNDS):
            self.results = os.path.join(self.folder, "results", f"chosen-{number}")
            for _ in range(chance.randint(1, 4)):
                process = self.start()
                time.sleep(chance.uniform(0.01, took * 1.1))
                process.kill()
                process.communicate()
            self.retort("run", self.sweep, "--slots", "2")
            trial = self.released()
            self.assertEqual((trial["trial"], trial["row_digest"]), (expected["trial"], expected["row_digest"]))
            self.assert_nothing_left()
            self.assertEqual([c for _, c in self.charges() if c > 0], [1])
            self.retort("verify")

    def test_interruptions_are_paid_for_by_every_candidate(self):
        self.write(noise="secure", mean=8, steps=20)
        planned = self.json("plan", self.sweep)["selection"]["claims"][0]["epsilon"]
        process = self.start()
        while not os.path.exists(os.path.join(self.results, "hidden", "run", "trials")) and process.poll() is None:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        self.retort("run", self.sweep, "--slots", "2")
        claims = self.json("show", self.released()["trial"])["claims"]
        self.assertGreater(claims[0]["epsilon"], planned)
        self.assertLess(claims[0]["epsilon"], 2 * planned)

    def test_a_draw_that_is_gone_is_not_made_again(self):
        self.write(noise="secure", mean=30, steps=60)
        process = self.start()
        draw = os.path.join(self.results, "hidden", "draw.json")
        while not os.path.exists(os.path.join(self.results, "hidden", "run", "journal.log")) and process.poll() is None:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        with open(draw, encoding="utf-8") as file:
            before = file.read()
        again = self.start()
        time.sleep(0.5)
        again.kill()
        again.communicate()
        with open(draw, encoding="utf-8") as file:
            self.assertEqual(file.read(), before)
        os.remove(draw)
        run = self.retort("run", self.sweep, code=None)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("another selection", run.stderr)
        self.assertEqual([c for _, c in self.charges() if c > 0], [1])

    def test_a_larger_list_is_another_selection(self):
        self.write()
        self.retort("run", self.sweep)
        self.write(lr="[0.5, 1, 2, 4, 8]")
        run = self.retort("run", self.sweep, code=None)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("another selection", run.stderr)

    def test_candidates_that_fail_have_the_lowest_score(self):
        if not OPTIONS.worker:
            self.skipTest("needs a worker that fails on purpose")
        self.write(lr="[13, 1]", mean=12)
        self.retort("run", self.sweep)
        self.assertEqual(self.released()["spec"]["lr"], 1)
        self.results += "-failed"
        self.write(lr="[13]")
        self.retort("run", self.sweep, code=1)
        trial = self.released()
        self.assertEqual(trial["state"], "failed")
        self.assert_refused("retry", trial["trial"])
        self.assertEqual([c for _, c in self.charges() if c > 0], [1])

    def assert_refused(self, *words):
        run = self.retort(*words, code=None)
        self.assertNotEqual(run.returncode, 0, words)
        self.assertIn("selection", run.stdout + run.stderr, words)

    def test_nothing_is_released_where_nothing_was_drawn(self):
        self.write(distribution="poisson", mean=1e-6)
        self.retort("run", self.sweep)
        trial = self.released()
        self.assertEqual((trial["state"], trial["metrics"]), ("cancelled", {}))
        self.assertFalse(os.path.exists(os.path.join(self.results, "hidden")))
        self.assertEqual([c for _, c in self.charges() if c > 0], [1])
        self.retort("verify")
        self.retort("run", self.sweep)

    def test_a_selection_serves_no_metrics(self):
        self.write()
        self.assert_refused("run", self.sweep, "--metrics-listen", "127.0.0.1:0")
        self.assert_refused("table", self.sweep, "--complete")
        self.assert_refused("chaos", self.sweep)

    def test_bad_input_names_the_reason(self):
        own = ((("validation = [512, 640], ", ""), "split.validation"), (("score_noise = 4\n", ""), "score_noise"),
               (("score_noise = 4\n", "score_noise = 0\n"), "out of range"),
               (("validation = [512, 640]", "validation = [511, 640]"), "disjoint"),
               ((f'score = "{SCORE}"\n', ""), "leave it out")) if PRIVATE else (
                   (("public = [512, 640], ", ""), "public"),
                   (('distribution = "geometric"', 'score = "test.accuracy"\ndistribution = "geometric"'), "test split"))
        for change, words in (*own,(("\n[sweep]", '\nstop = { metric = "test.accuracy", above = 0.9 }\n[sweep]'), "test split"),
                              (("noise_multiplier = 1\n", "noise_multiplier = 0\n"), ""),
                              (("[sweep.select]", "seeds = [1]\n[sweep.select]"), "seed"),
                              (('distribution = "geometric"', 'distribution = "constant"'), "constant")):
            self.write(noise="secure")
            self.change(change)
            run = self.retort("plan", self.sweep, code=None)
            self.assertNotEqual(run.returncode, 0, change)
            self.assertIn(words, run.stderr, change)

    def test_budgets_cover_the_selection_as_a_whole(self):
        self.write(noise="secure")
        cost = self.json("plan", self.sweep)["selection"]["claims"][0]["epsilon"]
        with open(self.sweep, encoding="utf-8") as file:
            text = file.read()
        for budget, code in ((cost - 0.01, None), (cost + 0.01, 0)):
            line = f"budget = {{ epsilon = {budget}, delta = 1e-4 }}\n[trial]"
            with open(self.sweep, "w", encoding="utf-8") as file:
                file.write(text.replace("[trial]", line, 1))
            run = self.retort("run", self.sweep, code=code)
            self.assertEqual(run.returncode == 0, code == 0, run.stderr)
            if code is None:
                self.assertIn("budget", run.stderr)


if __name__ == "__main__":
    sys.exit(0 if sweep_run.all_tests_pass() else 1)
