#!/usr/bin/env python3
"""Checks the rules that keep the structure: who may include whom, headers that stand alone, sizes, names, README, and the
list of environment variables, and the table of mutants.

usage: check_rules.py CHECK --root DIR [options]     CHECK: includes | headers | sizes | names | readme | environment | mutants
Prints one line for each violation (file:line: what, and the rule) and exits 1 when there is any.
"""
import argparse
import concurrent.futures
import os
import re
import shlex
import subprocess
import sys
import tempfile

MODULES = ("experiments", "storage", "monitoring", "cluster", "orchestrator", "worker")

# Room -> rooms of this project that it may include. The longest matching prefix of a file's path names its room.
MAY_INCLUDE = {
    "experiments/spec": {"experiments/spec"},
    "experiments/privacy": {"experiments/spec", "experiments/privacy"},
    "experiments/published": {"experiments/spec", "experiments/published"},
    "storage": {"experiments/spec", "experiments/privacy", "storage"},
    "monitoring": {"experiments/spec", "monitoring"},
    "cluster": {"experiments/spec", "experiments/privacy", "cluster"},
    "orchestrator": {"experiments/spec", "experiments/privacy", "experiments/published", "storage", "monitoring",
                     "cluster", "orchestrator"},
    "worker": {"experiments/spec", "experiments/privacy", "storage", "cluster", "worker"},
}

# What an include line must not name, and the only files (path patterns) that may: None = nobody.
FOREIGN = [
    (r"^(torch|ATen|c10)/", r"^worker/"),
    (r"^(cuda|cuda_runtime|cuda_runtime_api|nccl|cublas\w*|curand\w*)(\.h|/)", r"^worker/(cuda|kernels)/"),
    (r"^mpi\.h$", r"^cluster/mpi_[a-z_]*\.(h|cc)$"),
    (r"^(hdf5|hdf5_hl|H5\w+)\.h$", r"^storage/[a-z0-9_]+\.cc$|^storage/hdf5_[a-z_]+\.h$"),
    (r"^prometheus/", r"^monitoring/[a-z_]+\.cc$"),
    (r"^toml\+\+/", r"^experiments/spec/[a-z_]+\.(cc)$|^experiments/spec/toml_[a-z_]+\.h$"),
    (r"^CLI/", r"^orchestrator/cli/"),
    (r"^sodium(\.h|/)", r"^worker/noise/|^worker/environment\.cc$"),
]

# A teacher's answer is readable in this room alone.
RELEASE_ROOM = "worker/release/"
ANSWER_INTERNALS = re.compile(r'#include "worker/release/answer_access\.h"')

BANNED_SUFFIX = re.compile(r"\b(?:class|struct)\s+\w*(Manager|Helper|Utils?|Handler|Info|Processor)\b")
MAX_FILE_LINES = 400
SIZE_ALLOWED = {}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def sources(root, extensions=(".h", ".cc", ".cu", ".cuh")):
    for module in MODULES:
        for folder, folders, files in os.walk(os.path.join(root, module)):
            folders.sort()
            for name in sorted(files):
                if name.endswith(extensions):
                    yield os.path.relpath(os.path.join(folder, name), root)


def room_of(path):
    rooms = [room for room in MAY_INCLUDE if path == room or path.startswith(room + "/")]
    return max(rooms, key=len) if rooms else None


def lines_of(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as stream:
        return stream.read().splitlines()


def check_includes(root):
    for path in sources(root):
        room = room_of(path)
        for number, line in enumerate(lines_of(root, path), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = match.group(2)
            target_room = room_of(target)
            if target_room and room and target_room not in MAY_INCLUDE[room]:
                yield f"{path}:{number}: {room} may not include {target_room} ({target})"
            if target.startswith("tests/"):
                yield f"{path}:{number}: product code may not include tests ({target})"
            if ANSWER_INTERNALS.match(line) and not path.startswith(RELEASE_ROOM):
                yield f"{path}:{number}: only {RELEASE_ROOM} may read a teacher's answers ({target})"
            for pattern, allowed in FOREIGN:
                if re.search(pattern, target) and not re.search(allowed, path):
                    yield f"{path}:{number}: {target} is confined to {allowed}"


def check_sizes(root):
    for path in sources(root):
        count = len(lines_of(root, path))
        if count > SIZE_ALLOWED.get(path, MAX_FILE_LINES):
            yield f"{path}:{count}: {count} lines; the limit is {SIZE_ALLOWED.get(path, MAX_FILE_LINES)}"


def check_names(root):
    for path in sources(root):
        for number, line in enumerate(lines_of(root, path), 1):
            match = BANNED_SUFFIX.search(line)
            if match:
                yield f"{path}:{number}: a type's name may not end in {match.group(1)}"
            if re.search(r"\bgetenv\s*\(", line) and not path.endswith("environment.cc"):
                yield f"{path}:{number}: getenv belongs to a module's environment.cc"


def files(root, folders, extensions):
    for top in folders:
        for folder, names, found in os.walk(os.path.join(root, top)):
            names.sort()
            for name in sorted(found):
                if name.endswith(extensions):
                    yield os.path.relpath(os.path.join(folder, name), root)


ENVIRONMENT_LIST = "cluster/ENVIRONMENT.md"
# A program names a variable that it reads in a string of its own, a shell script after a dollar sign.
NAMED_IN_PROGRAM = re.compile(r'"(RETORT_[A-Z0-9_]+)"')
NAMED_IN_SHELL = re.compile(r"\$\{?!?(RETORT_[A-Z0-9_]+)")


def variables_read(root):
    """{name: where it is read first} of our own variables. The rules' own tests name some that nobody reads."""
    found = {}
    for path in files(root, (*MODULES, "tests"), (".h", ".cc", ".cu", ".py", ".sh", ".sbatch")):
        if path.startswith("tests/layering/"):
            continue
        pattern = NAMED_IN_SHELL if path.endswith((".sh", ".sbatch")) else NAMED_IN_PROGRAM
        for number, line in enumerate(lines_of(root, path), 1):
            for name in pattern.findall(line):
                found.setdefault(name, f"{path}:{number}")
    return found


def variables_listed(root):
    """{name: line} of the names in the first column of the list's tables."""
    listed = {}
    for number, line in enumerate(lines_of(root, ENVIRONMENT_LIST), 1):
        if line.startswith("| `"):
            for name in re.findall(r"`([A-Z][A-Z0-9_]*)`", line.split("|")[1]):
                listed[name] = number
    return listed


def check_environment(root):
    read, listed = variables_read(root), variables_listed(root)
    for name, place in sorted(read.items()):
        if name not in listed:
            yield f"{place}: {name} is read, and {ENVIRONMENT_LIST} does not list it"
    text = "\n".join("\n".join(lines_of(root, path)) for path in files(
        root, (*MODULES, "tests"), (".h", ".cc", ".py", ".sh", ".sbatch", ".cmake")))
    for name, number in sorted(listed.items()):
        known = name in read if name.startswith("RETORT_") else re.search(rf"\b{name}\b", text)
        if not known:
            yield f"{ENVIRONMENT_LIST}:{number}: nothing reads {name}"


MUTANT_LIST = "tests/MUTANTS.md"
MUTANTS = 20
MUTANT_ROW = re.compile(r"^\| (\d+) \| ([^|]+) \| [^|]+ \| `(\w+)\.(\w+)` \| `([^`]+)` \|$")


def check_mutants(root):
    """Every row of the table names a test that is compiled and runs by default."""
    seen = []
    for number, line in enumerate(lines_of(root, MUTANT_LIST), 1):
        if not re.match(r"^\| \d", line):
            continue
        place, row = f"{MUTANT_LIST}:{number}", MUTANT_ROW.match(line)
        if not row:
            yield f"{place}: not a row of number, mutant, how, `Suite.Test` and `file`"
            continue
        index, _, suite, test, path = row.groups()
        seen.append(int(index))
        if not os.path.exists(os.path.join(root, path)):
            yield f"{place}: {path} does not exist"
            continue
        text = "\n".join(lines_of(root, path))
        body = re.search(rf"^TEST(?:_F|_P)?\({suite}, {test}\)(.*?)^}}", text, re.M | re.S)
        if not body:
            yield f"{place}: {path} has no test {suite}.{test}"
        elif "GTEST_SKIP" in body.group(1) or not re.search(r"\b(EXPECT|ASSERT)_", body.group(1)):
            yield f"{place}: {suite}.{test} can be skipped or expects nothing"
        built = os.path.join(os.path.dirname(path), "CMakeLists.txt")
        if not os.path.exists(os.path.join(root, built)) or \
                os.path.basename(path) not in "\n".join(lines_of(root, built)):
            yield f"{place}: {path} is not built"
    if seen != list(range(1, MUTANTS + 1)):
        yield f"{MUTANT_LIST}:1: the rows are not numbered 1 to {MUTANTS}"


def compile_header(arguments):
    root, path, compiler, flags, scratch = arguments
    unit = os.path.join(scratch, path.replace("/", "_") + ".cc")
    text = f'#include "{path}"\n'
    if not os.path.exists(unit) or open(unit, encoding="utf-8").read() != text:
        with open(unit, "w", encoding="utf-8") as stream:
            stream.write(text)
    run = subprocess.run(compiler + ["-std=c++20", "-O0", "-I", root, *flags, "-c", unit, "-o", unit + ".o"],
                         capture_output=True, text=True)
    if run.returncode == 0:
        return None
    first = next((line for line in run.stderr.splitlines() if "error" in line), run.stderr[:200])
    return f"{path}:1: does not compile alone: {first}"


def check_headers(root, compiler, flags, scratch, skip):
    os.makedirs(scratch, exist_ok=True)
    jobs = [(root, path, compiler, flags, scratch) for path in sources(root, (".h",))
            if not (skip and re.search(skip, path))]
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for outcome in pool.map(compile_header, jobs):
            if outcome:
                yield outcome


def code_spans(text):
    """(line number, code) of every fenced line and inline code span."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced:
            yield number, line
        else:
            for span in re.findall(r"`([^`]+)`", line):
                yield number, span


def help_text(program, words, cache={}):
    key = (program, *words)
    if key not in cache:
        run = subprocess.run([program, *words, "--help"], capture_output=True, text=True)
        cache[key] = run.stdout + run.stderr if run.returncode == 0 else None
    return cache[key]


def check_flags(root, program, number, code):
    try:
        words = shlex.split(code, comments=True)
    except ValueError:
        return
    for script in (word for word in words if word.endswith(".sh")):
        local = os.path.join(root, script)
        if not os.path.exists(local):
            continue
        text = open(local, encoding="utf-8").read()
        stop = next((i for i, word in enumerate(words) if os.path.basename(word) == "retort"), len(words))
        for flag in (w.split("=")[0] for w in words[words.index(script) + 1:stop] if w.startswith("--")):
            if flag not in text:
                yield f"README.md:{number}: {script} has no {flag}"
    for index, word in enumerate(words):
        if not program or os.path.basename(word) != "retort" or index + 1 >= len(words):
            continue
        command = words[index + 1]
        own = help_text(program, []) if command.startswith("-") else help_text(program, [command])
        if own is None:
            yield f"README.md:{number}: retort has no command {command}"
            return
        for flag in (w.split("=")[0] for w in words[index + 1:] if w.startswith("--")):
            if not re.search(re.escape(flag) + r"(?![\w-])", own):
                yield f"README.md:{number}: retort {command} has no {flag}"


def check_readme(root, program):
    text = open(os.path.join(root, "README.md"), encoding="utf-8").read()
    tops = tuple(MODULES) + ("tests",)
    for number, code in code_spans(text):
        for token in re.findall(r"[\w./-]+", code):
            clean = token.strip("./") if not token.startswith(".ci") else token
            if clean.split("/")[0] in tops and "/" in clean and not os.path.exists(os.path.join(root, clean)):
                yield f"README.md:{number}: {clean} does not exist"
        yield from check_flags(root, program, number, code)
    for number, line in enumerate(text.splitlines(), 1):
        for link in re.findall(r"\]\(([^)#]+)\)", line):
            if "://" not in link and not os.path.exists(os.path.join(root, link)):
                yield f"README.md:{number}: link to {link}, which does not exist"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("check", choices=["includes", "headers", "sizes", "names", "readme", "environment", "mutants"])
    parser.add_argument("--root", required=True)
    parser.add_argument("--compiler", default="g++", help="may carry a launcher, e.g. 'ccache g++'")
    parser.add_argument("--flag", action="append", default=[], help="compiler flag, repeatable")
    parser.add_argument("--scratch", default=os.path.join(tempfile.gettempdir(), "retort-headers"))
    parser.add_argument("--skip", default="", help="pattern of headers not compiled here")
    parser.add_argument("--retort", default="", help="the program whose flags README may name")
    options = parser.parse_args()
    root = os.path.abspath(options.root)
    found = {
        "includes": lambda: check_includes(root),
        "sizes": lambda: check_sizes(root),
        "names": lambda: check_names(root),
        "headers": lambda: check_headers(root, shlex.split(options.compiler), options.flag, options.scratch, options.skip),
        "environment": lambda: check_environment(root),
        "mutants": lambda: check_mutants(root),
        "readme": lambda: check_readme(root, options.retort),
    }[options.check]()
    violations = list(found)
    print("\n".join(violations) if violations else f"{options.check}: no violation")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
