#!/usr/bin/env python3
"""How long the build takes, without ccache: from nothing, after a change in one source file, after a change in a header
that every module includes.

usage: build_times.py [--source DIR] [--jobs 2] [CASE…]     cases: programs all leaf header; none named: all four
`programs` is what a user builds (preset release: retort and retort-worker), `all` adds tests and benches; `leaf` and `header`
are what a developer waits for (preset dev). Builds in a folder of its own. Prints wall and CPU time beside the aim;
exit 3: an aim is missed.
"""
import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

PROGRAMS = ["retort", "retort-worker"]
LEAF = "worker/distill/query_selection.cc"
HEADER = "experiments/base/status.h"
AIM_SECONDS = {"programs": 300, "all": 900, "leaf": 15, "header": 90}


def run(command, **options):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **options)


def timed(command):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    run(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Tree:
    """A build folder for one preset, compiled without ccache."""

    def __init__(self, source, folder, preset, jobs):
        self.source, self.folder, self.jobs = source, os.path.join(folder, preset), jobs
        run(["cmake", "--preset", preset, "-S", source, "-B", self.folder, "-DRETORT_CCACHE=RETORT_CCACHE-NOTFOUND"], cwd=source)

    def build(self, *targets):
        return timed(["cmake", "--build", self.folder, "-j", str(self.jobs), *(["--target", *targets] if targets else [])])

    def rebuild_after(self, path, *targets):
        path = os.path.join(self.source, path)
        with open(path, "rb") as file:
            text = file.read()
        try:
            with open(path, "ab") as file:
                file.write(b"// changed\n")
            return self.build(*targets)
        finally:
            with open(path, "wb") as file:
                file.write(text)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default=os.path.dirname(os.path.dirname(here)))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    cases = options.cases or list(AIM_SECONDS)
    unknown = [case for case in cases if case not in AIM_SECONDS]
    if unknown:
        parser.error(f"no case {unknown[0]}; there are {', '.join(AIM_SECONDS)}")
    folder = tempfile.mkdtemp(prefix="retort-build-")
    missed = False

    def report(case, times):
        nonlocal missed
        missed = missed or times[0] > AIM_SECONDS[case]
        print(f"{case}: {times[0]:.1f} s, {times[1]:.1f} CPU s; aim {AIM_SECONDS[case]} s", flush=True)

    try:
        if "programs" in cases or "all" in cases:
            tree = Tree(options.source, folder, "release", options.jobs)
            programs = tree.build(*PROGRAMS)
            if "programs" in cases:
                report("programs", programs)
            if "all" in cases:
                rest = tree.build()
                report("all", (programs[0] + rest[0], programs[1] + rest[1]))
        if "leaf" in cases or "header" in cases:
            tree = Tree(options.source, folder, "dev", options.jobs)
            tree.build(*PROGRAMS)
            for case, path in (("leaf", LEAF), ("header", HEADER)):
                if case in cases:
                    report(case, tree.rebuild_after(path, *PROGRAMS))
                    tree.build(*PROGRAMS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 3 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
