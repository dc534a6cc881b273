#!/usr/bin/env python3
"""How long people wait for what is stored: `retort status` of sweeps of 100,000 trials that nobody runs, finished and stopped,
with the summary that is kept of them and without, beside Python that reads the same journal and counts its states; and
`retort report` of 2,000 trials with an attempt's file each.

usage: results_speed.py status|report --retort PROGRAM [--writer journal_recovery_bench] [--source DIR] [--trials N]
Exit 3: the fastest status takes 300 ms by the clock; the fastest report 5 s, or its page has 20 MB.
"""
import argparse
import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from packed_journal import JournalReader  # noqa: E402
from record_log import ATTEMPT_ENDED, ATTEMPT_LEASED, ATTEMPT_STARTED, ROW_WRITTEN, TRIAL_PLANNED, json_record, records  # noqa: E402
from startup import run  # noqa: E402

MOST_STATUS_SECONDS = 0.300
MOST_REPORT_SECONDS = 5.0
MOST_REPORT_BYTES = 20e6
ROUNDS = 7

NAPS = """
retort = 1
[trial]
method = "sleep"
[sweep]
name = "naps"
quota = {{ trials = 1 }}
grid.seconds = [0.001, 0.002, 0.003, 0.004]
seeds = [{seeds}]
"""

SWEEP = """
retort = 1
[data.digits]
reader = "idx"
path = "{source}/experiments/data/mnist10k"
split = {{ shuffle = 1, train = [0, 512], public = [512, 640], test = [640, 896] }}
[teacher]
single = {{ network = "datalens", epochs = 1 }}
[trial]
data = "digits"
student = "datalens"
teacher = "single"
steps = 40
student_steps = 1
student_batch = 16
replay = 0
latent = 16
generator_width = 8
delta = 1e-5
[sweep]
name = "large"
seeds = [0]
grid.batch = [16, 32]
grid.sigma = [{sigmas}]
zip.row = [{{ reading = "working" }}, {{ reading = "printed" }}]
[table.large]
rows = ["method", "reading", "sigma", "batch"]
columns = ["data"]
"""


def journal_of(folder):
    with open(os.path.join(folder, "journal.log"), "rb") as file:
        return records(file.read())


def peer(folder):
    """Seconds that Python takes to know how many trials ended how."""
    begun = time.monotonic()
    reader, states = JournalReader(), {}
    for kind, payload in journal_of(folder):
        event = reader.event(kind, payload)
        if kind == ATTEMPT_ENDED:
            states[event["trial"]] = event["succeeded"]
    return time.monotonic() - begun, collections.Counter(states.values())[True]


def status_of(options, folder, what):
    """Seconds of the fastest `retort status` with its summary, which the first of them leaves; the same told without."""
    command, summary = [options.retort, "status", "--results", folder], os.path.join(folder, "summary.json")
    costs, unaided = [], []
    for _ in range(3):
        if os.path.exists(summary):
            os.remove(summary)
        unaided.append(run(command))
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        costs += [run(command) for _ in range(3)]
        os.rename(summary, summary + ".tmp")
        if told != subprocess.run(command, check=True, capture_output=True, text=True).stdout:
            sys.exit("the summary and the journal say different things")
    took, cpu = (min(column) for column in list(zip(*costs))[:2])
    print(f"retort status of {options.trials:,} {what} trials: {1e3 * took:.0f} ms by the clock, {1e3 * cpu:.0f} ms of CPU, "
          f"{min(cost[2] for cost in costs):.0f} MiB, aim {1e3 * MOST_STATUS_SECONDS:g} ms; the first one, from the journal: "
          f"{1e3 * min(cost[0] for cost in unaided):.0f} ms")
    return took


def stopped(options, folder):
    """A sweep of which one trial has run."""
    sweep, results = os.path.join(folder, "naps.toml"), os.path.join(folder, "naps")
    with open(sweep, "w", encoding="utf-8") as file:
        file.write(NAPS.format(seeds=", ".join(map(str, range(options.trials // 4)))))
    ran = subprocess.run([options.retort, "run", sweep, "--results", results, "--slots", "1", "--metrics-listen", "none"],
                         capture_output=True, text=True, check=False)
    if "the quota of 1 trials is used up" not in ran.stderr:
        sys.exit(ran.stderr[-2000:])
    return results


def status(options, folder):
    subprocess.run([options.writer, str(options.trials), folder], check=True)
    took, others = status_of(options, folder, "finished"), []
    for _ in range(2):
        seconds, succeeded = peer(folder)
        others.append(seconds)
        if succeeded != options.trials:
            sys.exit(f"the peer counts {succeeded} trials")
    print(f"Python that counts the states: {min(others):.2f} s, {min(others) / took:.1f} times as long")
    with tempfile.TemporaryDirectory() as other:
        return max(took, status_of(options, stopped(options, other), "stopped")) < MOST_STATUS_SECONDS


def finish_all(folder):
    """Every trial ends as the one that has ended did, with its file."""
    reader = JournalReader()
    events = [(kind, reader.event(kind, payload)) for kind, payload in journal_of(folder)]
    specs = {spec["id"]: spec for spec in (json.loads(event["spec"]) for kind, event in events if kind == TRIAL_PLANNED)}
    rows = [json.loads(event["row"]) for kind, event in events if kind == ROW_WRITTEN]
    done, model = {row["trial"] for row in rows}, next(row for row in rows if row["role"] == "student")
    ended = next(event for kind, event in events if kind == ATTEMPT_ENDED and event["trial"] == model["trial"])
    with open(os.path.join(folder, "journal.log"), "ab") as journal:
        for number, spec in enumerate(specs.values()):
            if spec["id"] in done:
                continue
            to = f"trials/{spec['name']}-{spec['id']}/attempt-1/attempt.h5"
            os.makedirs(os.path.dirname(os.path.join(folder, to)))
            os.link(os.path.join(folder, model["attempt_file"]), os.path.join(folder, to))
            mine = {"trial": spec["id"], "attempt": 1, "at": ended["at"]}
            journal.write(json_record(ATTEMPT_LEASED, {**mine, "generation": 1000 + number, "members": [[0, 0]]}))
            journal.write(json_record(ATTEMPT_STARTED, mine))
            journal.write(json_record(ATTEMPT_ENDED, {**ended, **mine, "file": to}))
            row = {**model, "trial": spec["id"], "name": spec["name"], "seed": spec["seed"], "axes": spec["axes"],
                   "reading": spec["reading"], "attempt_file": to, "spec_json": json.dumps(spec)}
            journal.write(json_record(ROW_WRITTEN, {"at": ended["at"], "row": json.dumps(row)}))


def report(options, folder):
    sweep, results, page = (os.path.join(folder, name) for name in ("large.toml", "results", "page.html"))
    with open(sweep, "w", encoding="utf-8") as file:
        file.write(SWEEP.format(source=options.source, sigmas=", ".join(map(str, range(1, options.trials // 4 + 1)))))
    ran = subprocess.run([options.retort, "run", sweep, "sweep.quota={ trials = 2 }", "--results", results, "--slots", "1",
                          "--metrics-listen", "127.0.0.1:0"], capture_output=True, text=True, check=False)
    if "the quota of 2 trials is used up" not in ran.stderr:
        sys.exit(ran.stderr[-2000:])
    finish_all(results)
    costs = [run([options.retort, "report", "--results", results, "--out", page]) for _ in range(3)]
    took, cpu = (min(column) for column in list(zip(*costs))[:2])
    with open(page, encoding="utf-8") as file:
        text = file.read()
    files = glob.glob(os.path.join(results, "trials/*/attempt-1/attempt.h5"))
    read = sum(map(os.path.getsize, files))
    shown = len(re.findall("<svg", text))
    print(f"retort report of {len(files):,} trials with files of {read / 1e6:.0f} MB: {took:.2f} s by the clock, {cpu:.2f} s of "
          f"CPU, {min(cost[2] for cost in costs):.0f} MiB, a page of {os.path.getsize(page) / 1e6:.1f} MB with {shown} drawings, "
          f"aims {MOST_REPORT_SECONDS:g} s, {MOST_REPORT_BYTES / 1e6:g} MB")
    return took < MOST_REPORT_SECONDS and os.path.getsize(page) < MOST_REPORT_BYTES


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["status", "report"])
    parser.add_argument("--retort", required=True)
    parser.add_argument("--writer")
    parser.add_argument("--source")
    parser.add_argument("--trials", type=int)
    options = parser.parse_args()
    options.trials = options.trials or {"status": 100_000, "report": 2_000}[options.what]
    with tempfile.TemporaryDirectory() as folder:
        kept = {"status": status, "report": report}[options.what](options, folder)
    return 0 if kept else 3


if __name__ == "__main__":
    sys.exit(main())
