"""The programs of Retort: where they are, and `run` to start a sweep from Python."""
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

TORCH = "2.11"  # what the programs of this package were built for
HOME = pathlib.Path(__file__).resolve().parent
PROGRAMS = HOME / "libexec" / "retort"


class RunFailed(RuntimeError):
    """`retort run` did not come to its end; `exit_code` is its own."""

    def __init__(self, message, exit_code):
        super().__init__(message)
        self.exit_code = exit_code


def find_program(name="retort"):
    """The program of this package, else the one in PATH."""
    path = PROGRAMS / name
    if path.exists():
        return str(path)
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"there is no program {name}: neither in {PROGRAMS} nor in PATH")
    return found


def find_torch_mismatch():
    """A sentence where the torch that the programs would load is not the one that they were built for, else None."""
    version = HOME.parent / "torch" / "version.py"
    if not PROGRAMS.exists():
        return None
    if not version.exists():
        return f"no torch stands beside {HOME}: python3 -m pip install 'torch=={TORCH}.*' into the same environment"
    for line in version.read_text().splitlines():
        if line.startswith("__version__"):
            found = line.partition("=")[2].strip().strip("'\"")
            if found.split(".")[:2] != TORCH.split("."):
                return (f"retort was built for torch {TORCH}, and {version.parent} is torch {found}: python3 -m pip install "
                        f"'torch=={TORCH}.*', or build retort with the torch that is there")
    return None


def become(name):
    """Replaces this process by the program. Without the right torch `retort` still shows what there is."""
    wrong = find_torch_mismatch()
    if wrong:
        print(f"{'warning' if name == 'retort' else 'error'}: {wrong}", file=sys.stderr)
        if name != "retort":
            sys.exit(3)
    path = find_program(name)
    os.execv(path, [path, *sys.argv[1:]])


def retort_main():
    become("retort")


def worker_main():
    become("retort-worker")


@dataclasses.dataclass
class Finished:
    """How a sweep ended: its results folder, the exit code (0: every trial succeeded, 1: some failed) and the trials by state."""
    results: str
    exit_code: int
    counts: dict


def run(sweep, *overrides, results=None, profile=None, slots=None, progress=print, check=True, **environment):
    """Runs the sweep, a file or the name of a shipped one, or goes on with it; returns `Finished`.

    overrides: "KEY=VALUE" as on the command line. progress: gets each line that the program says meanwhile; None: silence.
    check: a trial that failed is an error. Further keywords are variables of the environment. Error: RunFailed."""
    words = [find_program(), "run", os.fspath(sweep), *overrides, "--json", "--no-color"]
    for flag, value in (("--results", results), ("--profile", profile), ("--slots", slots)):
        words += [flag, os.fspath(value) if flag == "--results" else str(value)] if value is not None else []
    said = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          env=dict(os.environ, **environment)) as process:

        def listen():
            for line in process.stderr:
                said.append(line.rstrip("\n"))
                if progress is not None:
                    progress(said[-1])

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        document = process.stdout.read()
        listener.join()
    code = process.returncode
    try:
        parsed = json.loads(document)
        finished = Finished(parsed["results"], parsed["exit_code"], parsed["counts"])
    except (ValueError, KeyError, TypeError):
        finished = None
    if finished is None or code not in (0, 1) or (check and code != 0):
        raise RunFailed("\n".join(said[-20:]) or document or f"retort run ended with {code}", code)
    return finished
