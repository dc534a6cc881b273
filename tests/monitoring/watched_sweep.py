"""A sweep of everything that panels show, under mpirun where there is one, and a Prometheus that watches it."""
import json
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from expressions import FOREIGN, dashboards, panel_expressions
from prometheus import Prometheus
from sweep_run import SMALL_DIGITS, wait_for

SWEEP = """
[sweep]
name = "watched"
seeds = [0]
zip.row = [{ method = "dpsgd", steps = 20 }, { method = "sleep", steps = 10, seconds = 0.2 },
           { method = "sleep", steps = 20, seconds = 0.2 }, { method = "sleep", steps = 1500, seconds = 60 }]
"""
# Panels that may be empty, and why.
MAY_BE_EMPTY = {"Expected end": "until a trial of each kind was measured", "Power of trials": "without a GPU",
                "Busy fraction": "without a GPU"}


class WatchedSweep:
    def __init__(self, folder, options, rules, jobs=""):
        self.results = os.path.join(folder, "results")
        with open(os.path.join(folder, "s.toml"), "w", encoding="utf-8") as file:
            head = SMALL_DIGITS.format(source=options.source).replace('noise = "seeded"\n', "")
            file.write(head.replace("\n[trial]", "\nbudget = { epsilon = 50, delta = 1e-4 }\n[trial]") + SWEEP)
        self.said = open(os.path.join(folder, "said.txt"), "w+", encoding="utf-8")
        launch = [os.path.join(options.source, "cluster/launch/mpirun.sh"), "-np", "3"] if shutil.which("mpirun") else []
        self.sweep = subprocess.Popen([*launch, options.retort, "run", "s.toml", "--results", self.results, "--slots", "2",
                                       "--metrics-listen", "127.0.0.1:0"], cwd=folder, stderr=self.said)
        targets = os.path.join(self.results, "targets.json")
        wait_for(lambda: os.path.exists(targets), "targets.json of the sweep")
        with open(targets, encoding="utf-8") as file:
            self.target = json.load(file)[0]["targets"][0]
        self.server = Prometheus(folder, options.source, targets, rules, jobs)

    def end(self):
        self.server.end()
        self.sweep.send_signal(signal.SIGTERM)
        self.sweep.wait()
        self.said.close()


def expressions_of_panels(source, instance=".+"):
    """((board: panel, expression) of what a sweep fills, names of panels that need a GPU)."""
    every = [(f"{name}: {title}", expression) for name, board in dashboards(source).items()
             for title, expression in panel_expressions(board, instance)]
    return ([(where, expression) for where, expression in every if FOREIGN not in expression],
            [where for where, expression in every if FOREIGN in expression])


def wait_until_filled(server, expressions, seconds=90):
    """Those that stay empty, all of which may be."""
    left = list(expressions)

    def all_filled():
        left[:] = [(where, expression) for where, expression in left if not server.values(expression)]
        return all(where.split(": ")[-1] in MAY_BE_EMPTY for where, _ in left)
    wait_for(all_filled, lambda: f"data for {left}", seconds=seconds, step=1)
    return left
