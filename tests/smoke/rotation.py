"""Runs the shipped sweeps in their smoke profiles: all of a sweep's trials, and its tables in every format. One part of
the files at a time; which one follows from the number of commits, so that all have run after as many commits as there
are parts.

usage: rotation.py --retort PROGRAM --source DIR [--all | --part N | FILE...]
A FILE is named as below experiments/configs, e.g. dpsd/table1.toml. Without git, part 0 runs.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from shipped import Retort, path_of, selects, shipped

PARTS = 6
SLOTS = "2"
PATIENCE = 300  # seconds a sweep
FORMATS = ("text", "markdown", "csv", "latex")


def commits(source):
    done = subprocess.run(["git", "-C", source, "rev-list", "--count", "HEAD"], capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 else 0


def expect(good, what, done):
    if not good:
        raise AssertionError(f"{what}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")


class Sweep:
    def __init__(self, retort, source, name, folder):
        self.retort, self.name = retort, name
        self.arguments = [path_of(source, name), "--profile", "smoke", "--results", folder]
        self.folder = folder

    def call(self, command, *more):
        return self.retort.call(command, *self.arguments, *more, seconds=PATIENCE)

    def check(self):
        metrics = [] if selects(self.arguments[0]) else ["--metrics-listen", "127.0.0.1:0"]
        done = self.call("run", "--slots", SLOTS, "--quiet", *metrics)
        expect(done.returncode == 0, "the sweep did not succeed", done)
        self.check_tables()

    def check_tables(self):
        for form in FORMATS:
            done = self.call("table", "--format", form)
            expect(done.returncode == 0, f"the table is not printed as {form}", done)
        done = self.call("table", "--format", "json")
        expect(done.returncode == 0, "the table is not printed as JSON", done)
        document = json.loads(done.stdout)
        for table in document.get("tables", [document]):
            states = {cell["state"] for cell in table["cells"]}
            expect(states == {"complete"}, f"cells of {table['table']} are {sorted(states)}", done)


def run(names, retort, source, folder):
    failed = []
    for name in names:
        began = time.monotonic()
        results = os.path.join(folder, name.replace("/", "-"))
        try:
            Sweep(retort, source, name, results).check()
            shutil.rmtree(results)
            word = "passed"
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failed.append(name)
            word = f"FAILED: {error}"
        print(f"{name:36} {time.monotonic() - began:6.1f} s  {word}", flush=True)
    return failed


def chosen(options):
    names = shipped(options.source)
    if options.files:
        return options.files
    if options.all:
        return names
    count = commits(options.source)
    part = options.part if options.part is not None else count % PARTS
    print(f"part {part} of 0 to {PARTS - 1} ({count} commits): {len(names[part::PARTS])} of {len(names)} sweeps", flush=True)
    return names[part::PARTS]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--retort", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--part", type=int, choices=range(PARTS))
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="smoke_rotation.")
    began = time.monotonic()
    failed = run(chosen(options), Retort(options.retort, folder), options.source, folder)
    print(f"{time.monotonic() - began:.0f} s in all")
    if failed:
        sys.exit(f"FAILED: {', '.join(failed)}; their results stay in {folder}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
