#!/usr/bin/env python3
"""Checks the rules that keep the structure: who may include whom, headers that stand alone, sizes, layout, names, READMEs, the list
of environment variables, who may see a teacher's answer, who may write files, the table of mutants, and the picture of the rooms.

usage: check_rules.py CHECK --root DIR [options]
CHECK: includes | headers | sizes | rooms | hiding | picture | format | names | readme | environment | answers | writers | mutants
Prints one line for each violation (file:line: what, and the rule) and exits 1 when there is any.
"""
import argparse
import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

MODULES = ("experiments", "storage", "monitoring", "cluster", "orchestrator", "worker")

# Room -> rooms of this project that it may include, besides itself; a room named here stands for those in its folder, too.
# The longest matching prefix of a file's path names its room.
EXPERIMENTS = {"experiments/base", "experiments/methods", "experiments/sweep", "experiments/privacy"}
STORAGE_BASE = {"experiments/base", "experiments/methods", "experiments/sweep", "storage/files"}
WITHOUT_CLOCK = EXPERIMENTS | {"storage", "monitoring", "cluster", "orchestrator/process/now.h"}
ORCHESTRATOR_BASE = EXPERIMENTS | {"storage", "monitoring", "cluster", "orchestrator/process"}
DECIDING = {"orchestrator/core", "orchestrator/reactor"}
WORKER_BASE = EXPERIMENTS | {"storage", "cluster", "worker/tensors"}
MAY_INCLUDE = {
    "experiments/base": set(),
    "experiments/methods": {"experiments/base"},
    "experiments/sweep": {"experiments/base", "experiments/methods"},
    "experiments/privacy/accountants": {"experiments/base"},
    "experiments/privacy": {"experiments/base", "experiments/methods", "experiments/privacy/accountants"},
    "storage": STORAGE_BASE,
    "storage/files": STORAGE_BASE,
    "storage/formats": STORAGE_BASE,
    "storage/log": STORAGE_BASE | {"experiments/privacy", "storage/formats"},
    "storage/results": STORAGE_BASE | {"experiments/privacy", "storage/formats", "storage/log"},
    "storage/images": STORAGE_BASE | {"storage/formats"},
    "storage/datasets": STORAGE_BASE | {"storage/formats", "storage/images"},
    "storage/weights": STORAGE_BASE | {"storage/formats"},
    "monitoring": EXPERIMENTS - {"experiments/privacy"},
    "cluster": EXPERIMENTS,
    "orchestrator": ORCHESTRATOR_BASE,
    "orchestrator/process": ORCHESTRATOR_BASE - {"orchestrator/process"} | {"orchestrator/process/now.h"},
    "orchestrator/process/now.h": set(),
    "orchestrator/core": WITHOUT_CLOCK,
    "orchestrator/reactor": WITHOUT_CLOCK | {"orchestrator/core"},
    "orchestrator/journal": ORCHESTRATOR_BASE | DECIDING,
    "orchestrator/results": ORCHESTRATOR_BASE | DECIDING | {"orchestrator/journal"},
    "orchestrator/results/tables": ORCHESTRATOR_BASE | {"orchestrator/core", "orchestrator/results"},
    "orchestrator/agent": ORCHESTRATOR_BASE | {"orchestrator/core"},
    "orchestrator/screen": ORCHESTRATOR_BASE | DECIDING | {"orchestrator/results", "orchestrator/agent"},
    "orchestrator/service": ORCHESTRATOR_BASE | DECIDING | {"orchestrator/journal", "orchestrator/results", "orchestrator/agent",
                                                             "orchestrator/screen"},
    "orchestrator/plot": EXPERIMENTS,
    "orchestrator/doctor": ORCHESTRATOR_BASE | {"orchestrator/agent", "orchestrator/journal"},
    "orchestrator/cli/render": ORCHESTRATOR_BASE | DECIDING | {"orchestrator/results", "orchestrator/screen", "orchestrator/plot"},
    "orchestrator/cli/shell": ORCHESTRATOR_BASE | {"orchestrator/results", "orchestrator/cli/render"},
    "orchestrator/cli/chaos": ORCHESTRATOR_BASE | DECIDING | {"orchestrator/journal", "orchestrator/results", "orchestrator/agent",
                                                               "orchestrator/screen", "orchestrator/service"},
    "orchestrator/cli/serve": ORCHESTRATOR_BASE | DECIDING | {"orchestrator/journal", "orchestrator/results", "orchestrator/screen",
                                                               "orchestrator/cli/render"},
    "orchestrator/cli": ORCHESTRATOR_BASE | {"orchestrator"},
    "worker": WORKER_BASE | {"worker"},
    "worker/tensors": WORKER_BASE | {"worker/gang"},
    "worker/gang": WORKER_BASE | {"worker/models"},
    "worker/noise": WORKER_BASE,
    "worker/cuda": WORKER_BASE | {"worker/gang", "worker/noise"},
    "worker/devices": WORKER_BASE | {"worker/gang", "worker/noise", "worker/cuda"},
    "worker/models": WORKER_BASE | {"worker/data", "worker/gang"},
    "worker/optim": WORKER_BASE,
    "worker/data": WORKER_BASE | {"worker/models"},
    "worker/training": WORKER_BASE | {"worker/data", "worker/models", "worker/gang", "worker/optim", "worker/noise"},
    "worker/distill": WORKER_BASE | {"worker/training", "worker/models", "worker/gang", "worker/optim"},
    "worker/release": WORKER_BASE | {"worker/distill", "worker/data", "worker/models", "worker/gang", "worker/noise"},
    "worker/sleep": WORKER_BASE | {"worker/release"},
    "worker/methods": WORKER_BASE | {"worker/training", "worker/distill", "worker/release", "worker/data", "worker/models",
                                     "worker/gang", "worker/optim", "worker/noise"},
    "worker/run": WORKER_BASE | {"worker/sleep", "worker/methods", "worker/training", "worker/release", "worker/data",
                                 "worker/models", "worker/gang", "worker/devices"},
    "worker/audit": WORKER_BASE | {"worker/run", "worker/sleep", "worker/methods", "worker/training", "worker/release",
                                   "worker/data", "worker/models", "worker/gang", "worker/noise", "worker/devices",
                                   "worker/optim"},
    "worker/samples": WORKER_BASE | {"worker/run", "worker/methods", "worker/training", "worker/release", "worker/data",
                                     "worker/models", "worker/gang"},
}

# What an include line must not name, and the only files (path patterns) that may: None = nobody.
FOREIGN = [
    (r"^(torch|ATen|c10)/", r"^worker/(?!sleep/)"),
    (r"^(cuda|cuda_runtime|cuda_runtime_api|nccl|cublas\w*|curand\w*)(\.h|/)", r"^worker/cuda/"),
    (r"^mpi\.h$", r"^cluster/mpi_[a-z_]*\.(h|cc)$"),
    (r"^(hdf5|hdf5_hl|H5\w+)\.h$", r"^storage/results/hdf5_writer\.cc$"),
    (r"^(prometheus/|microhttpd\.h)", r"^monitoring/[a-z_]+\.cc$"),
    (r"^toml\+\+/", r"^experiments/sweep/[a-z_]+\.cc$"),
    (r"^CLI/", r"^orchestrator/cli/(commands|shell|render/version\.cc)"),
    (r"^zlib\.h$", r"^storage/formats/deflate\.cc$"),
    (r"^(jpeglib|jerror|png)\.h$", r"^storage/images/"),
    (r"^utf8proc\.h$", r"^experiments/base/printable\.cc$"),
    (r"^cairo", r"^orchestrator/plot/canvas\.cc$"),
    (r"^sodium(\.h|/)", r"^worker/noise/|^worker/environment\.cc$|^monitoring/credentials\.cc$|^storage/datasets/example_digests\.cc$"
                         r"|^experiments/base/digests\.cc$|^experiments/privacy/accountants/selection_draws\.cc$"),
]

# A teacher's answer is readable in this room alone, and there by the mechanisms alone: who may be a friend of what holds
# one, or of the right to draw noise.
RELEASE_ROOM = "worker/release/"
SEALED = {
    "TeacherModel": {"Oracle", "TeacherCritic"},
    "Answers": {"Oracle", "GaussianGradient", "MemberGradient", "NoisyVotes", "VoteThreshold", "ConsensusTest",
                "Noiseless", "RandomizedResponse", "LossNoise"},
    "ClippedSum": {"DpSgdStep"},
    "EmbeddingSum": {"ClassEmbedding"},
    "PrivateLabels": {"LabelResponse"},
    "ValidationCount": {"ValidationScore"},
    "Charge": {"ChargeBook"},
    "ChargeBook": set(),
}
# The only file outside the room that makes a teacher of its parameters, the one that loads them, and the audit that
# swaps one member of an ensemble.
TEACHER_MAKER = "worker/methods/network_teacher.cc"
PARAMETER_READERS = (TEACHER_MAKER, "worker/run/trial_inputs.cc", "worker/audit/transcript.cc")
ASKS_A_TEACHER = re.compile(r"(?:->|\.|::)\s*(?:(?:Member)?Logits|Hint|ForwardWithInternals)\s*\(|&\s*[\w:]*TeacherModel::")
ANSWERS_AS_A_TEACHER = re.compile(
    r"^\s*(?:virtual\s+)?(?:at::Tensor\s+(?:(?:Member)?Logits|Hint)|(?:\w+::)?TeacherInternals\s+ForwardWithInternals)\s*\(")
TEACHER_PARAMETERS = re.compile(r"(?:teacher_?|artifact)(?:->|\.)parameters\b")
# Training that protects labels alone sees the private examples through SealLabels, whose argument is the one place where
# its files name them.
LABEL_PRIVATE = re.compile(r"^worker/methods/label_")
PRIVATE_EXAMPLES = re.compile(r"\bdata\.train\b(?!\.size\(\))")
FORCED_OPEN = re.compile(r"#\s*define\s+(?:private|protected|class)\b")

# Files are made by storage, which replaces nothing but plain files; here besides it, what a process writes before or beside
# the program: the log of a worker and of a process under test, and the mark for a script.
CREATES_A_FILE = re.compile(r"\bO_CREAT\b|\bofstream\b|\bfopen\s*\(|\bmkstemp\s*\(|\bcreat\s*\(")
FILE_MAKERS = ("cluster/worker_process.cc", "cluster/mpi_world.cc", "orchestrator/cli/chaos/chaos_process.cc")
# A command writes where the user said through WriteOutput; these write into folders of the program's own.
WRITES_A_FILE = re.compile(r"\b(?:WriteFileAtomically|WriteNewFile|PublishFile|WriteNpy)\s*\(")
OUTPUT_WRITERS = ("orchestrator/cli/commands/output_file.cc", "orchestrator/cli/commands/chaos_command.cc")

BANNED_SUFFIX = re.compile(r"\b(?:class|struct)\s+\w*(Manager|Helper|Utils?|Handler|Info|Processor)\b")
OF_FUNCTION = re.compile(r"\b((?!Is)[A-Z]\w*[a-z0-9]Of)\(")
TEST_NAME = re.compile(r"(?:TEST(?:_F|_P)?\(\w+, *|\s+def (?=test_))(\w+)")
MAX_TEST_NAME = 50
MAX_FILE_LINES = 800
SIZE_ALLOWED = {}
MAX_ROOM_README_LINES = 15
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
            if target_room and room and target_room != room and not any(
                    target_room == other or target_room.startswith(other + "/") for other in MAY_INCLUDE[room]):
                yield f"{path}:{number}: {room} may not include {target_room} ({target})"
            if target.startswith("tests/"):
                yield f"{path}:{number}: product code may not include tests ({target})"
            for pattern, allowed in FOREIGN:
                if re.search(pattern, target) and not re.search(allowed, path):
                    yield f"{path}:{number}: {target} is confined to {allowed}"


def class_bodies(lines):
    """(name, [(line number, text, access)]) of every class and struct that is defined in `lines`; nested ones too."""
    open_classes, depth, pending = [], 0, None
    for number, line in enumerate(lines, 1):
        code = re.sub(r'//.*|"(?:\\.|[^"\\])*"', "", line)
        head = re.match(r"\s*(?:template\s*<.*>\s*)?(class|struct)\s+(?:\[\[\w+\]\]\s*)?(\w+)\b(?!.*;\s*$)", code)
        if head:
            pending = (head.group(2), head.group(1), code)
        access = re.match(r"\s*(public|protected|private)\s*:", code)
        for entry in open_classes:
            if access and depth == entry["depth"]:
                entry["access"] = access.group(1)
            entry["body"].append((number, code, entry["access"]))
        for sign in re.findall(r"[{}]", code):
            if sign == "{":
                depth += 1
                if pending:
                    name, kind, text = pending
                    open_classes.append({"name": name, "depth": depth, "bases": text, "body": [],
                                         "access": "private" if kind == "class" else "public"})
                    pending = None
            else:
                if open_classes and open_classes[-1]["depth"] == depth:
                    entry = open_classes.pop()
                    yield entry["name"], entry["bases"], entry["body"]
                depth -= 1


def check_sealed_classes(path, lines):
    for name, bases, body in class_bodies(lines):
        for number, code, access in body:
            friend = re.match(r"\s*friend\b\s*(?:class|struct)?\s*([\w:]+)", code)
            if name in SEALED and friend and friend.group(1) not in SEALED[name]:
                yield f"{path}:{number}: {friend.group(1)} may not be a friend of {name}: it would see what {name} seals"
            if "TeacherModel" in bases + name and ANSWERS_AS_A_TEACHER.match(code) and access == "public":
                yield f"{path}:{number}: {name} answers in public; a teacher's answers are protected"
            if re.search(r"\busing\s+[\w:]*TeacherModel::", code):
                yield f"{path}:{number}: {name} opens what TeacherModel protects"


def check_answers(root):
    """Nobody outside the release room can ask a teacher, and nobody inside it but the mechanisms can see what it said."""
    for path in sources(root):
        lines = lines_of(root, path)
        yield from check_sealed_classes(path, lines)
        for number, line in enumerate(lines, 1):
            if FORCED_OPEN.match(line):
                yield f"{path}:{number}: access may not be redefined"
            if path.startswith(RELEASE_ROOM) or not path.startswith("worker/"):
                continue
            if ASKS_A_TEACHER.search(line):
                yield f"{path}:{number}: only {RELEASE_ROOM} may ask a teacher"
            if ANSWERS_AS_A_TEACHER.match(line) and path != TEACHER_MAKER:
                yield f"{path}:{number}: only {TEACHER_MAKER} makes teachers"
            if LABEL_PRIVATE.match(path) and PRIVATE_EXAMPLES.search(line.replace("SealLabels(inputs.data.train)", "")):
                yield f"{path}:{number}: label-private training takes the private examples from SealLabels alone"
            if TEACHER_PARAMETERS.search(line) and path not in PARAMETER_READERS:
                yield f"{path}:{number}: a teacher's parameters are for {TEACHER_MAKER} alone"


def check_writers(root):
    for path in sources(root):
        for number, line in enumerate(lines_of(root, path), 1):
            if not path.startswith("storage/") and path not in FILE_MAKERS and CREATES_A_FILE.search(line):
                yield f"{path}:{number}: files are made by storage alone"
            if path.startswith("orchestrator/cli/") and path not in OUTPUT_WRITERS and WRITES_A_FILE.search(line):
                yield f"{path}:{number}: commands write through WriteOutput of {OUTPUT_WRITERS[0]}"


def check_sizes(root):
    for path in sources(root):
        count = len(lines_of(root, path))
        if count > SIZE_ALLOWED.get(path, MAX_FILE_LINES):
            yield f"{path}:{count}: {count} lines; the limit is {SIZE_ALLOWED.get(path, MAX_FILE_LINES)}"


def check_rooms(root):
    """A room with sources of its own has a README that a reader of the tree finds first."""
    for folder in sorted({os.path.dirname(path) for path in sources(root)} & set(MAY_INCLUDE)):
        path = os.path.join(folder, "README.md")
        if not os.path.exists(os.path.join(root, path)):
            yield f"{path}:1: a room says what lives in it, where to start and who may call it"
        elif folder not in MODULES and len(lines_of(root, path)) > MAX_ROOM_README_LINES:
            yield f"{path}:{len(lines_of(root, path))}: the README of a room has at most {MAX_ROOM_README_LINES} lines"
        if os.path.exists(os.path.join(root, path)):
            for number, line in enumerate(lines_of(root, path), 1):
                for name in re.findall(r"`([\w/]+\.h)`", line):
                    if not any(os.path.exists(os.path.join(root, place, name)) for place in (folder, os.path.dirname(folder), "")):
                        yield f"{path}:{number}: there is no {name}"


FUNCTION = re.compile(r"(?:\[\[nodiscard\]\]\s*)?(?:inline |constexpr |static |template <[^>]*> )*[\w:<>,&*\s]+?[\s&*>](\w+)\(")
NO_FUNCTION = (" ", "#", "//", "return", "using", "namespace", "TEST", "}", "class ", "struct ", "RETORT_")


def functions_of(root, path):
    """(line number, name, whether it is private to the file) of the functions that begin a line of `path`."""
    private = False
    for number, line in enumerate(lines_of(root, path), 1):
        if line == "namespace {":
            private = True
        elif line == "}  // namespace":
            private = False
        match = FUNCTION.match(line)
        if match and not line.startswith(NO_FUNCTION):
            yield number, match.group(1), private


CONSTANT = re.compile(r"\b(k[A-Z]\w*)(?:\[[^\]]*\])?\s*[={]")
TYPE = re.compile(r"(?:template <.*> )?(?:struct|class|enum class|enum) (\w+)")
ALIAS = re.compile(r"using (\w+) = (.*);$")
NAMESPACE = re.compile(r"namespace ([\w:]+) \{")


def parameter_types(text, start):
    """`(const A&, int)` of the declaration whose parenthesis opens at `start`."""
    depth = 0
    for end in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            break
    parameters = re.sub(r"\s*=[^,]*", "", text[start + 1:end])
    return "(" + ",".join(re.sub(r"\b\w+$", "", part.strip()).strip() for part in parameters.split(",")) + ")"


def private_names(root, path):
    """(line number, name) of what the unnamed namespaces of `path` define, by its named namespace; a function's name has
    its parameters' types, an alias's what it stands for."""
    lines = lines_of(root, path)
    private, outer = False, []
    for number, line in enumerate(lines, 1):
        if line == "namespace {":
            private = True
        elif line == "}  // namespace":
            private = False
        elif NAMESPACE.match(line):
            outer.append(NAMESPACE.match(line).group(1))
        elif line.startswith("}  // namespace ") and outer:
            outer.pop()
        elif private and ALIAS.match(line):
            yield number, "::".join(outer) + "::" + "=".join(ALIAS.match(line).groups())
        elif private and line and not line.startswith(NO_FUNCTION[:7]):
            inside = "::".join(outer) + "::"
            kind, function = TYPE.match(line), FUNCTION.match(line)
            if kind:
                yield number, inside + kind.group(1)
            elif re.match(r"(?:constexpr|const|inline|static) ", line) and "(" not in line.split("=")[0]:
                for name in CONSTANT.findall(line):
                    yield number, inside + name
            elif function:
                yield number, inside + function.group(1) + parameter_types(" ".join(lines[number - 1:number + 8]), function.end() - 1)


def header_types(root, path):
    """The types that the named namespaces of a header declare, with these namespaces."""
    outer = []
    for line in lines_of(root, path):
        kind = TYPE.match(line) or re.match(r"using (\w+) =", line)
        if NAMESPACE.match(line):
            outer.append(NAMESPACE.match(line).group(1))
        elif line.startswith("}  // namespace ") and outer:
            outer.pop()
        elif kind and not line.endswith(";") or line.startswith("using ") and kind:
            yield "::".join(outer) + "::" + kind.group(1)


def collisions(root, paths, types):
    """What two of `paths`, or one of them and a header's `types`, call the same. One alias may stand in several files."""
    first = {}
    for path in paths:
        for number, name in private_names(root, path):
            bare = re.split("[(=]", name)[0]
            other, said = first.setdefault(bare if "=" in name else name, (types.get(bare, path), name))
            if other != path and ("=" not in name or said != name or other == types.get(bare)):
                yield f"{path}:{number}: {bare.split('::')[-1]} is in {other}, too"


ONE_TARGET = ("worker", "cluster", "monitoring")  # modules that are compiled as one target; elsewhere a folder is one
OWN_LIBRARY = "worker/cuda/"  # but for this one


def check_hiding(root):
    """Files are compiled in batches. A function private to one file hides a header's function of the same name from the
    others: a call may then find another overload. What two files of a target call the same collides once they share a batch."""
    targets, headers = {}, list(sources(root, (".h",)))
    for path in sources(root, (".cc",)):
        if path.startswith(OWN_LIBRARY):
            continue
        module = path.split("/")[0]
        targets.setdefault(module if module in ONE_TARGET else os.path.dirname(path), []).append(path)
    for target, paths in targets.items():
        types = {}
        for path in headers:
            if path.startswith(target + "/"):
                types.update((name, path) for name in header_types(root, path))
        yield from collisions(root, paths, types)
    rooms = {}
    for path in sources(root):
        rooms.setdefault(os.path.dirname(path), []).append(path)
    for paths in rooms.values():
        yield from hidden_functions(root, paths, [path for path in paths if path.endswith(".h")])
    for target, paths in targets.items():
        yield from hidden_calls(root, target, paths, headers)
    for paths in test_programs(root).values():
        yield from check_test_program(root, paths)


def hidden_functions(root, paths, headers):
    declared = {name: path for path in headers for _, name, _ in functions_of(root, path)}
    for path in (path for path in paths if path.endswith(".cc")):
        for number, name, private in functions_of(root, path):
            if private and name in declared:
                yield f"{path}:{number}: {name} hides that of {declared[name]} from the files of its batch"


def hidden_calls(root, target, paths, headers):
    """The same of a header of another room, where another file of the target calls the function that it declares."""
    declared = {name: path for path in headers if not path.startswith(target + "/") for _, name, _ in functions_of(root, path)}
    own = {path: {name: number for number, name, private in functions_of(root, path) if private} for path in paths}
    for path in paths:
        for name in sorted(own[path].keys() & declared.keys()):
            call = re.compile(rf"(?<![\w.>:]){name}\(")
            callers = [other for other in paths if other != path and name not in own[other]
                       and any(call.search(line) for line in lines_of(root, other))]
            if callers:
                yield f"{path}:{own[path][name]}: {name} hides that of {declared[name]} from {callers[0]}, if they share a batch"


TEST_SOURCES = re.compile(r"\b(?:retort_add_test|retort_module|target_sources|add_executable|add_library)\(\s*(\w+)([^)]*)\)")


def test_programs(root):
    """{target: its files} of what tests/ compiles: every .cc that the CMakeLists.txt of its folders name for it."""
    programs = {}
    for path in files(root, ("tests",), ("CMakeLists.txt",)):
        folder = os.path.dirname(path)
        text = re.sub(r"#.*", "", "\n".join(lines_of(root, path)))
        for target, words in TEST_SOURCES.findall(text.replace("${PROJECT_SOURCE_DIR}/", "//")):
            for word in re.findall(r"[\w./]+\.cc\b", words):
                found = word[2:] if word.startswith("//") else os.path.normpath(os.path.join(folder, word))
                if os.path.exists(os.path.join(root, found)):
                    programs.setdefault(target, []).append(found)
    return programs


def test_headers(root, paths):
    """The headers of tests/ that `paths` include, directly or through one another."""
    found, todo = [], list(paths)
    while todo:
        for match in filter(None, map(INCLUDE.match, lines_of(root, todo.pop()))):
            header = match.group(2)
            if header.startswith("tests/") and header not in found and os.path.exists(os.path.join(root, header)):
                found.append(header)
                todo.append(header)
    return found


def check_test_program(root, paths):
    if len(paths) < 2:
        return
    headers = test_headers(root, paths)
    yield from collisions(root, paths, {name: path for path in headers for name in header_types(root, path)})
    yield from hidden_functions(root, paths, headers)


def check_format(root):
    paths = [path for path in files(root, (*MODULES, "tests"), (".h", ".cc", ".cu"))]
    for start in range(0, len(paths), 100):
        run = subprocess.run(["clang-format", "--dry-run", "--ferror-limit=1", *paths[start:start + 100]], cwd=root,
                             capture_output=True, text=True)
        for line in run.stderr.splitlines():
            match = re.match(r"(.+?:\d+):\d+: (?:warning|error): code should be clang-formatted", line)
            if match:
                yield f"{match.group(1)}: clang-format -i lays this out otherwise"


def check_names(root):
    for path in sources(root):
        for number, line in enumerate(lines_of(root, path), 1):
            match = BANNED_SUFFIX.search(line)
            if match:
                yield f"{path}:{number}: a type's name may not end in {match.group(1)}"
            of = OF_FUNCTION.search(line.split("//")[0])
            if of:
                yield f"{path}:{number}: {of.group(1)}: a function begins with a verb, and its name does not end in Of"
            if re.search(r"\bgetenv\s*\(", line) and not path.endswith("environment.cc"):
                yield f"{path}:{number}: getenv belongs to a module's environment.cc"
    for path in files(root, ("tests",), (".cc", "_test.py")):
        for number, line in enumerate(lines_of(root, path), 1):
            match = TEST_NAME.match(line)
            if match and len(match.group(1)) > MAX_TEST_NAME:
                yield f"{path}:{number}: {match.group(1)} has {len(match.group(1))} characters; a test has at most {MAX_TEST_NAME}"


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
MUTANTS = 77
MUTANT_ROW = re.compile(r"^\| (\d+) \| ([^|]+) \| [^|]+ \| `(\w+)\.(\w+)` \| `([^`]+)` \|$")


PICTURE = "CONTRIBUTING.md"
PICTURE_TOLERANCE = 0.1
FIGURES = re.compile(r"\[([\d,]+), ([\d,]+)\]")


def pictured_rooms(root):
    """(line number, room, files, lines) of the figures in the picture of the rooms: those of a box belong to the folder
    that the box names first."""
    boxes, drawn = {}, False
    for number, line in enumerate(lines_of(root, PICTURE), 1):
        if line.startswith("```"):
            drawn, boxes = False, {}
        drawn = drawn or line.startswith("┌")
        for cell in re.finditer(r"(?<=│)[^│]+", line) if drawn else ():
            words = cell.group().split()
            if words and words[0].split("/")[0] in MODULES and os.path.isdir(os.path.join(root, words[0])):
                boxes[cell.start()] = words[0]
            for count, lines in FIGURES.findall(cell.group()):
                if cell.start() in boxes:
                    yield number, boxes[cell.start()], int(count.replace(",", "")), int(lines.replace(",", ""))


def check_picture(root):
    """The picture of the rooms says how large each module is, within a tenth."""
    pictured = set()
    for number, room, *figures in pictured_rooms(root):
        pictured.add(room)
        paths = [path for path in sources(root) if path.startswith(room + "/")]
        found = len(paths), sum(len(lines_of(root, path)) for path in paths)
        if any(abs(said - real) > PICTURE_TOLERANCE * real for said, real in zip(figures, found)):
            yield f"{PICTURE}:{number}: {room} has [{found[0]}, {found[1]:,}], not [{figures[0]}, {figures[1]:,}]"
    for module in MODULES:
        if module not in pictured and os.path.isdir(os.path.join(root, module)):
            yield f"{PICTURE}:1: the picture of the rooms has no figures of {module}"


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


def shown_alone_by_the_build(root, path):
    """Whether the source file of the same name includes the header before anything else."""
    own = path[:-2] + ".cc"
    if path.startswith("tests/") or not os.path.exists(os.path.join(root, own)):
        return False    # tests may be compiled behind a precompiled header
    first = next((line for line in lines_of(root, own) if line.startswith("#")), "")
    return first.split() == ["#include", f'"{path}"']


def check_headers(root, compiler, flags, scratch, skip):
    os.makedirs(scratch, exist_ok=True)
    jobs = [(root, path, compiler, flags, scratch) for path in sources(root, (".h",))
            if not (skip and re.search(skip, path)) and not shown_alone_by_the_build(root, path)]
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
    parser.add_argument("check", choices=["includes", "headers", "sizes", "names", "readme", "environment", "answers",
                                          "writers", "mutants", "rooms", "hiding", "picture", "format"])
    parser.add_argument("--root", required=True)
    parser.add_argument("--compiler", default="g++", help="may carry a launcher, e.g. 'ccache g++'")
    parser.add_argument("--flag", action="append", default=[], help="compiler flag, repeatable")
    parser.add_argument("--scratch", default=os.path.join(tempfile.gettempdir(), "retort-headers"))
    parser.add_argument("--skip", default="", help="pattern of headers not compiled here")
    parser.add_argument("--retort", default="", help="the program whose flags README may name")
    options = parser.parse_args()
    root = os.path.abspath(options.root)
    if options.check == "format" and not shutil.which("clang-format"):
        print("skipped: no clang-format (bash cluster/setup.sh --tests installs it)")
        return 77
    found = {
        "includes": lambda: check_includes(root),
        "sizes": lambda: check_sizes(root),
        "names": lambda: check_names(root),
        "headers": lambda: check_headers(root, shlex.split(options.compiler), options.flag, options.scratch, options.skip),
        "environment": lambda: check_environment(root),
        "answers": lambda: check_answers(root),
        "writers": lambda: check_writers(root),
        "mutants": lambda: check_mutants(root),
        "rooms": lambda: check_rooms(root),
        "hiding": lambda: check_hiding(root),
        "picture": lambda: check_picture(root),
        "format": lambda: check_format(root),
        "readme": lambda: check_readme(root, options.retort),
    }[options.check]()
    violations = list(found)
    print("\n".join(violations) if violations else f"{options.check}: no violation")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
