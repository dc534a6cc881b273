"""Runs the commands of the pages: every ```sh block, in order within its page, in a scratch copy of the tree with a HOME
and results of its own. Blocks that need what is not here are listed as not run.

usage: run_docs.py --root DIR --retort PROGRAM [--needs NAME,...] [--page PAGE]... [--limit SECONDS]
--needs: these needs count as met (`long` never is by itself). --limit: of a block; one marked needs=long has 40 times as
long. Exits 1 when a command fails or takes too long.
"""
import argparse
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from pages import NEEDS, read_blocks, is_runnable, list_pages

LEFT_OUT = shutil.ignore_patterns(".git", "build", "results", "__pycache__")
READERS = ("pandas", "tables", "h5py", "xarray", "h5netcdf")
LONG = 40  # times the limit of other blocks


def succeeds(*command):
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@functools.lru_cache(maxsize=None)
def find_readers_python(root):
    """A Python that opens results; empty where there is none."""
    for python in (os.environ.get("RETORT_READERS_PYTHON", ""), sys.executable,
                   os.path.join(root, "build/deps/test-venv/bin/python")):
        if python and succeeds(python, "-c", "import " + ", ".join(READERS)):
            return python
    return ""


def is_met(need, root, programs):
    beside = functools.partial(os.path.join, programs)
    return {
        "mpi": lambda: shutil.which("mpirun") and os.path.exists(beside("libretort_mpi.so")),
        "gpu": lambda: succeeds("nvidia-smi") and os.path.exists(beside("libretort_cuda.so")),
        "readers": lambda: find_readers_python(root),
        "h5dump": lambda: shutil.which("h5dump"),
        "slurm": lambda: succeeds("sinfo"),
        "pbs": lambda: succeeds("qstat"),
        "kubernetes": lambda: succeeds("kubectl", "cluster-info"),
        "containers": lambda: succeeds("docker", "info"),
        "data": lambda: os.path.isdir(os.environ.get("RETORT_DATA", "")),
        "long": lambda: False,
    }[need]()


class Scratch:
    """A copy of the tree; each page has a folder of its own with links to what lies in it."""

    def __init__(self, folder, root, program):
        self.folder, self.root, self.programs = folder, root, os.path.dirname(program)
        self.tree = os.path.join(folder, "tree")
        shutil.copytree(root, self.tree, ignore=LEFT_OUT)

    def make_folder(self, page):
        home = os.path.join(self.folder, re.sub(r"\W", "-", page))
        os.makedirs(home)
        for name in os.listdir(self.tree):
            os.symlink(os.path.join(self.tree, name), os.path.join(home, name))
        for name in ("home", "tmp", "programs", "build/release"):
            os.makedirs(os.path.join(home, name))
        os.symlink(self.programs, os.path.join(home, "build/release/bin"))
        python = find_readers_python(self.root)
        if python:
            wrapper = os.path.join(home, "programs/python3")
            with open(wrapper, "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\nexec "{python}" "$@"\n')
            os.chmod(wrapper, 0o755)
        return home

    def environment(self, home):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("RETORT_", "XDG_", "OMPI_", "PMIX_")) or name == "RETORT_DATA"}
        path = [os.path.join(home, "programs"), self.programs, kept.get("PATH", "")]
        return {**kept, "PATH": ":".join(path), "HOME": os.path.join(home, "home"), "TMPDIR": os.path.join(home, "tmp"),
                "HWLOC_HIDE_ERRORS": "2", "OMP_NUM_THREADS": "1"}


def run_block(block, home, environment, limit):
    """(what went wrong, or nothing; the lines that it wrote). These go to a file, since a pipe would wait for whoever is
    left behind."""
    with open(os.path.join(home, "output"), "w+", encoding="utf-8", errors="replace") as output:
        job = subprocess.Popen(["bash", "-euo", "pipefail", "-c", block.text], cwd=home, env=environment,
                               stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = job.wait(limit)
            trouble = f"ended with {code}" if code else ""
        except subprocess.TimeoutExpired:
            trouble = f"took more than {limit} s"
        finally:
            try:
                os.killpg(job.pid, signal.SIGKILL)  # what it left running, too
            except ProcessLookupError:
                pass
            job.wait()
        output.seek(0)
        lines = output.read().splitlines()
    return ("\n".join([trouble, *("    " + line for line in lines[-25:])]) if trouble else ""), lines


def find_unprinted(block, printed):
    """The lines of a ```text shown block that nobody printed."""
    known = [" ".join(line.split()) for line in printed]
    return [line for line in block.text.splitlines() if not any(" ".join(line.split()) in one for one in known)]


def run_page(page, root, scratch, met, limit):
    """(trouble, blocks not run, number of blocks run); a block that fails ends its page."""
    home = scratch.make_folder(page)
    environment = scratch.environment(home)
    left, ran, printed = [], 0, None
    for block in read_blocks(root, page):
        if block.language == "text" and "shown" in block.stray and printed is not None:
            for line in find_unprinted(block, printed):
                return f"{page}:{block.line}: nothing printed: {line}", left, ran
        if block.language != "sh":
            continue
        printed = None
        lacking = [need for need in block.needs if not met(need)]
        if lacking:
            left.append(f"{page}:{block.line} needs {', '.join(lacking)}")
            continue
        ran += 1
        trouble, printed = run_block(block, home, environment, limit * (LONG if "long" in block.needs else 1))
        if trouble:
            return f"{page}:{block.line}: {trouble}", left, ran
    return "", left, ran


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    parser.add_argument("--retort", required=True)
    parser.add_argument("--needs", default="")
    parser.add_argument("--page", action="append", default=[])
    parser.add_argument("--limit", type=float, default=60)
    options = parser.parse_args()
    root, program = os.path.abspath(options.root), os.path.abspath(options.retort)
    named = {need for need in options.needs.split(",") if need}
    if named - NEEDS:
        parser.error(f"nothing is known of {', '.join(sorted(named - NEEDS))}; one of {', '.join(sorted(NEEDS))}")
    met = functools.lru_cache(None)(lambda need: need in named or is_met(need, root, os.path.dirname(program)))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing stays running
    failed, not_run, blocks = [], [], 0
    with tempfile.TemporaryDirectory(prefix="retort-docs-") as folder:
        scratch = Scratch(folder, root, program)
        for page in options.page or [page for page in list_pages(root) if is_runnable(root, page)]:
            begun = time.monotonic()
            trouble, left, ran = run_page(page, root, scratch, met, options.limit)
            blocks += ran
            not_run += left
            failed += [trouble] if trouble else []
            print(f"{page}: {'FAILED' if trouble else 'ok'}, {ran} blocks, {time.monotonic() - begun:.1f} s", flush=True)
    print("".join(f"not run: {what}\n" for what in not_run) + "\n".join(failed))
    print(f"{blocks} blocks were run, {len(not_run)} were not, {len(failed)} failed")
    return 1 if failed or not blocks else 0


if __name__ == "__main__":
    sys.exit(main())
