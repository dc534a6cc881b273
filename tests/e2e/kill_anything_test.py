#!/usr/bin/env python3
"""Kills a random process of a seeded sweep at a random time, runs the same line again, and demands the rows of an
undisturbed run, bit for bit, exit 0, and no process left behind.

usage: kill_anything_test.py --retort PROGRAM --sweep FILE [--mpirun SCRIPT --ranks N] [--rounds N] [--seed S]
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

TAG = "RETORT_TEST_TAG"
MOST_RUNS = 4  # of the same line after a kill, before the round counts as failed


def tagged_processes(tag):
    """(pid, program name) of every live process that inherited the tag."""
    found = []
    needle = f"{TAG}={tag}".encode()
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as stream:
                if needle not in stream.read().split(b"\0"):
                    continue
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stream:
                stat = stream.read()
            if stat.rsplit(")", 1)[1].split()[0] == "Z":
                continue
            found.append((int(entry), stat[stat.index("(") + 1:stat.rindex(")")]))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


def rows(retort, results):
    run = subprocess.run([retort, "list", "--json", "--results", results], capture_output=True, text=True, check=True)
    return {t["trial"]: (t["state"], t["row_digest"]) for t in json.loads(run.stdout)["trials"]}


class Sweep:
    def __init__(self, options, results):
        self.options = options
        self.tag = uuid.uuid4().hex
        launcher = [options.mpirun, "-np", str(options.ranks)] if options.mpirun else []
        self.command = launcher + [options.retort, "run", options.sweep, "--results", results, "--quiet"]
        self.results = results

    def start(self):
        return subprocess.Popen(self.command, env={**os.environ, TAG: self.tag}, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, start_new_session=True)

    def run_to_end(self):
        process = self.start()
        _, messages = process.communicate(timeout=600)
        return process.returncode, messages.decode(errors="replace")

    def wait_for_nobody(self, seconds=20):
        deadline = time.monotonic() + seconds
        while (left := tagged_processes(self.tag)) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left


def disturbed_round(options, number, duration, expected):
    chance = random.Random(options.seed * 1000 + number)
    results = tempfile.mkdtemp(prefix="retort-kill-")
    sweep = Sweep(options, results)
    process = sweep.start()
    moment = chance.uniform(0.02, duration)
    time.sleep(moment)
    victims = [p for p in tagged_processes(sweep.tag) if p[1] != "bash"] or [(process.pid, "launcher")]
    pid, name = chance.choice(victims)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        name += " (gone already)"
    try:
        _, messages = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return f"round {number}: killed {name} after {moment:.2f} s; the run did not end"
    code, runs = process.returncode, 1
    left = sweep.wait_for_nobody()
    if left:
        return f"round {number}: killed {name} after {moment:.2f} s; left running: {left}"
    while runs < MOST_RUNS and (code != 0 or runs == 1):
        code, text = sweep.run_to_end()
        messages = text.encode()
        runs += 1
    if code != 0:
        return f"round {number}: killed {name} after {moment:.2f} s; exit {code} after {runs} runs: {messages.decode()[-800:]}"
    measured = rows(options.retort, results)
    if measured != expected:
        return f"round {number}: killed {name} after {moment:.2f} s; rows differ:\n  {measured}\n  {expected}\n  kept in {results}"
    shutil.rmtree(results)
    print(f"round {number}: killed {name} at {moment:.2f} s of {duration:.2f} s; {len(measured)} rows equal", flush=True)
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--retort", required=True)
    parser.add_argument("--sweep", required=True)
    parser.add_argument("--mpirun", default="")
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("RETORT_KILL_ROUNDS", "3")))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    results = tempfile.mkdtemp(prefix="retort-kill-")
    began = time.monotonic()
    undisturbed = Sweep(options, results)
    code, messages = undisturbed.run_to_end()
    duration = time.monotonic() - began
    if code != 0:
        print(f"the undisturbed run failed with {code}: {messages}")
        return 1
    expected = rows(options.retort, results)
    print(f"undisturbed: {len(expected)} rows in {duration:.2f} s", flush=True)
    failures = [f for f in (disturbed_round(options, n, duration, expected) for n in range(options.rounds)) if f]
    print("\n".join(failures) or f"{options.rounds} rounds: all rows equal the undisturbed run's")
    shutil.rmtree(results)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
