#!/usr/bin/env python3
"""Real faults of work and of the orchestrator make the shipped alerts fire, and their end makes them silent: sweeps that
are stopped, killed, held up, garbled and overspent."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from expressions import need
from fault_case import SLEEPS, FaultCase
from held_thread import HeldThread
from sweep_run import SMALL_DIGITS, all_tests_pass, parse_options, wait_for

# The first trial fits the budget, the second does not, and the third gives time to look.
SPENT = """
[sweep]
name = "spent"
seeds = [0]
zip.row = [{ method = "dpsgd", steps = 20 }, { method = "dpsgd", steps = 21 },
           { method = "sleep", steps = 1500, seconds = 60 }]
"""
LATER = """
[sweep]
name = "boundless"
seeds = [{seed}]
zip.row = [{{ method = "dpsgd", steps = 2, noise = "{noise}" }}, {{ method = "sleep", steps = 1500, seconds = 60 }}]
"""
# Sends what is no envelope once, when it is told to, and works otherwise.
GARBLER = """#!/bin/sh
if mkdir garbled; then
  until [ -e now ]; do sleep 0.1; done
  printf 'this is no envelope' >&3
  exec sleep 60
fi
exec "{sleeper}" "$@"
"""


class Faults(FaultCase):
    sweeps = ("hurt", "stuck", "spent", "boundless", "garbled", "late")

    def digits(self, sweep, budget):
        head = SMALL_DIGITS.format(source=self.options.source).replace('noise = "seeded"\n', "")
        if budget:
            head = head.replace("\n[trial]", f"\nbudget = {{ epsilon = {budget}, delta = 1e-4 }}\n[trial]")
        return head + sweep

    def test_a_stopped_gang_and_a_dead_orchestrator_alert(self):
        text = SLEEPS.format(name="hurt", seconds="[200, 201, 202]")
        run = self.run_sweep("hurt", text)
        [stopped, _] = wait_for(lambda: len(found := self.workers(run)) == 2 and found, "two workers")
        time.sleep(3)
        self.assertEqual(self.of("hurt"), set())
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
        self.assertNotIn("RetortMetricsFileStale", self.of("hurt"))
        run = self.run_sweep("hurt", text)
        self.clears("RetortOrchestratorAbsent", "hurt")
        self.end_sweep(run)
        wait_for(lambda: not self.of("hurt"), "silence after a saved end")

    def test_an_orchestrator_that_hangs_alerts(self):
        run = self.run_sweep("stuck", SLEEPS.format(name="stuck", seconds="[200, 201]"))
        self.is_silent("RetortOrchestratorStuck", "stuck")
        held = HeldThread(run.pid)
        try:
            self.fires("RetortOrchestratorStuck", "stuck")
            self.assertEqual(self.of("stuck") - {"RetortNoSuccess"}, {"RetortOrchestratorStuck"})
        finally:
            held.release()
        self.clears("RetortOrchestratorStuck", "stuck")
        self.end_sweep(run)

    def test_trials_that_do_not_succeed_until_one_does(self):
        run = self.run_sweep("late", SLEEPS.format(name="late", seconds="[22, 200]"))
        self.is_silent("RetortNoSuccess", "late")
        self.fires("RetortNoSuccess", "late")
        self.clears("RetortNoSuccess", "late")
        [done] = self.server.values('retort_trials{sweep="late", state="succeeded"}')
        self.assertEqual(done["value"][1], "1")
        self.end_sweep(run)

    def test_a_worker_that_talks_nonsense(self):
        folder = os.path.join(self.folder, "garbler")
        os.mkdir(folder)
        worker = os.path.join(folder, "worker")
        with open(worker, "w", encoding="utf-8") as file:
            file.write(GARBLER.format(sleeper=os.path.join(os.path.dirname(self.options.retort), "retort-sleeper"))
                       .replace("garbled", f"'{folder}/once'").replace("now", f"'{folder}/now'"))
        os.chmod(worker, 0o755)
        run = self.run_sweep("garbled", SLEEPS.format(name="garbled", seconds="[200]"), slots=1, RETORT_WORKER=worker)
        self.is_silent("RetortMalformedMessages", "garbled", seconds=3)
        open(os.path.join(folder, "now"), "w", encoding="utf-8").close()
        self.fires("RetortMalformedMessages", "garbled")
        self.clears("RetortMalformedMessages", "garbled")
        self.end_sweep(run)

    def test_a_budget_that_is_spent_and_raised(self):
        run = self.run_sweep("spent", self.digits(SPENT, 3.75))
        self.fires("RetortBudgetSpent", "spent")
        self.fires("RetortBudgetNear", "spent")
        self.end_sweep(run)
        run = self.run_sweep("spent", self.digits(SPENT, 1000))
        self.clears("RetortBudgetSpent", "spent")
        self.clears("RetortBudgetNear", "spent")
        self.end_sweep(run)

    def test_a_release_without_a_bound_alerts(self):
        run = self.run_sweep("boundless", self.digits(LATER.format(seed=0, noise="seeded"), None))
        wait_for(lambda: self.server.values('retort_epsilon_spent{sweep="boundless"} == +Inf'), "an unbounded total")
        self.assertNotIn("RetortEpsilonUnbounded", self.of("boundless"))
        self.end_sweep(run)
        run = self.run_sweep("boundless", self.digits(LATER.format(seed=1, noise="secure"), 1000))
        self.fires("RetortEpsilonUnbounded", "boundless")
        self.end_sweep(run)
        self.clears("RetortEpsilonUnbounded", "boundless")


if __name__ == "__main__":
    Faults.options = parse_options("retort", "source")
    need("prometheus")
    sys.exit(0 if all_tests_pass(at_once=6) else 1)
