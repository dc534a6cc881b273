"""What the pages of this repository name exists: paths and links, flags and commands of the programs, metrics, keys of a
sweep file, environment variables, constants and functions of the sources. The program itself is asked, by --help,
`schema`, `metrics --list`, and `plan` for every sweep that a page runs or plans. Figures on the papers' pages stand in
RESULTS.md or among the published values.

usage: check_docs.py --root DIR --retort PROGRAM
Prints one line for each violation (page:line: what) and exits 1 when there is any.
"""
import argparse
import csv
import functools
import glob
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

from pages import NEEDS, SKIPPED_FOLDERS, read_blocks, read_code, is_runnable, list_pages, read_page

try:
    import tomllib
except ImportError:  # Python 3.10: blocks of TOML are then not looked into
    tomllib = None

# Where people put what is not shipped.
BROUGHT = ("experiments/configs/zoo",)
LONG_ALONE = {"chaos"}  # commands that nothing makes quick
LANGUAGES = {"sh", "toml", "cpp", "python", "json", "text"}
TABLES = ("data", "teacher", "trial", "sweep", "table", "figure", "profile")
NAMED = ("data", "teacher", "table", "figure", "profile")  # [data.NAME]
FIGURE = re.compile(r"(?<![\d.,])\d+\.\d{1,2}(?![\d.]\d|\d)")  # three decimals are an ε
FILE_ENDS = (".toml", ".h", ".cc", ".md", ".csv", ".py", ".sh", ".h5", ".log", ".json", ".txt")


class Program:
    def __init__(self, path):
        self.path = path

    def output(self, *words, cwd=None):
        absent = os.path.join(tempfile.gettempdir(), "retort-docs-no-data")  # sweeps are planned without it
        return subprocess.run([self.path, *words], capture_output=True, text=True, cwd=cwd,
                              env={**os.environ, "RETORT_DATA": absent, "PICTURES": absent})

    @functools.lru_cache(maxsize=None)
    def refusal(self, root, *words):
        """What `plan` with these words says where it is not even a plan; empty where it is one."""
        with tempfile.TemporaryDirectory() as results:
            run = self.output("plan", *words, "--results", os.path.join(results, "none"), cwd=root)
        return run.stderr.strip().splitlines()[0] if run.returncode == 2 else ""

    @functools.lru_cache(maxsize=None)
    def help(self, *words):
        run = self.output(*words, "--help")
        # Examples name options of other commands too.
        return (run.stdout + run.stderr).partition("\nExamples:")[0] if run.returncode == 0 else None

    @functools.lru_cache(maxsize=None)
    def subcommands(self, *words):
        text = self.help(*words) or ""
        listed = text.partition("Subcommands:")[2].partition("\n\n")[0]
        return tuple(re.findall(r"^  (\S+)", listed, re.M))

    @functools.cached_property
    def metrics(self):
        names = set()
        for name, kind in re.findall(r"^(retort_\w+)  (\w+)", self.output("metrics", "--list").stdout, re.M):
            names.add(name)
            if kind == "histogram":
                names.update(name + end for end in ("_bucket", "_sum", "_count"))
        return names

    @functools.cached_property
    def schema(self):
        return json.loads(self.output("schema").stdout)

    @functools.cached_property
    def every_flag(self):
        flags = set()
        for command in ((), *((name,) for name in self.subcommands())):
            for words in (command, *((*command, name) for name in self.subcommands(*command) if command)):
                flags.update(re.findall(r"--[a-z][\w-]*", self.help(*words) or ""))
        return flags


def resolve_node(schema, node):
    while "$ref" in node:
        place = schema
        for part in node["$ref"].removeprefix("#/").split("/"):
            place = place[part]
        node = place
    return node


def find_child(schema, node, name):
    """The schema of a member; None where there is none of that name, {} where anything may stand."""
    node = resolve_node(schema, node)
    if name in node.get("properties", {}):
        return node["properties"][name]
    rest = node.get("additionalProperties", "properties" not in node)
    if rest is False:
        return None
    return rest if isinstance(rest, dict) else {}


def collect_key_names(schema):
    names, stack = set(), [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            names.update(node.get("properties", {}))
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
    return names


def find_unknown_keys(schema, node, value, path=""):
    if isinstance(value, dict):
        for name, below in value.items():
            child = find_child(schema, node, name)
            if child is None:
                yield f"{path}{name}"
            else:
                yield from find_unknown_keys(schema, child, below, f"{path}{name}.")
    elif isinstance(value, list):
        items = resolve_node(schema, node).get("items", {})
        for below in value:
            yield from find_unknown_keys(schema, items, below, path)


def is_placeholder(token):
    return any(re.fullmatch(r"[A-Z][A-Z_]+", re.split(r"[.\-]", part)[0]) for part in token.split("/"))


def expand(token):
    match = re.search(r"\{([^{}]*,[^{}]*)\}", token)
    if not match:
        return [token]
    return [one for middle in match[1].split(",")
            for one in expand(token[:match.start()] + middle + token[match.end():])]


def check_paths(root, page, code):
    here = os.path.dirname(page)
    for token in re.findall(r"[\w./*{},+-]+", code):
        for path in expand(token.strip(",").rstrip(".").removeprefix("./")):
            first = path.split("/")[0]
            if "/" not in path.strip("/") or is_placeholder(path) or not first or first in ("build", "results", "."):
                continue
            homes = [home for home in {"", here} if os.path.isdir(os.path.join(root, home, first))]
            if (first != ".." and not homes) or path.startswith(BROUGHT):
                continue
            places = [os.path.join(root, home, path) for home in (homes or [here])]
            if not any(glob.glob(place) or glob.glob(place + ".toml") for place in places):  # a sweep by its name
                yield f"{path} does not exist"


def check_links(root, page):
    text = re.sub(r"^```.*?^```", lambda match: "\n" * match[0].count("\n"), read_page(root, page), flags=re.S | re.M)
    for number, line in enumerate(text.splitlines(), 1):
        for figure in re.findall(r'<(?:img|source)\b[^>]*\bsrc(?:set)?="([^"]+)"', line):
            if not os.path.exists(os.path.join(root, os.path.dirname(page), figure)):
                yield number, f"figure {figure} does not exist"
        for link in re.findall(r"\]\(([^)]+)\)", re.sub(r"`[^`]*`", "", line)):
            target, _, anchor = link.partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(page), target)) if target else page
            if "://" in link:
                continue
            if not os.path.exists(os.path.join(root, path)):
                yield number, f"link to {link}, which does not exist"
            elif anchor and anchor not in collect_anchors(root, path):
                yield number, f"link to {link}, which has no such heading"


def collect_anchors(root, page):
    headings = re.findall(r"^#+ +(.*)$", read_page(root, page), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def check_program(root, program, code):
    try:
        words = shlex.split(code, comments=True)
    except ValueError:
        return
    for index, word in enumerate(words):
        if os.path.basename(word) != "retort" or index + 1 >= len(words):
            continue
        end = next((i for i in range(index + 1, len(words)) if words[i] in ("|", "&&", ";", ">", ">>", "||")),
                   len(words))
        after = [word.rstrip(";") for word in words[index + 1:end]]
        command = []
        for name in after:
            if name not in program.subcommands(*command):
                break
            command.append(name)
        if not command and re.fullmatch(r"[a-z]{2,}", after[0]):
            yield f"retort has no command {after[0]}"
            continue
        known = "".join(program.help(*command[:depth]) or "" for depth in range(len(command) + 1))
        for flag in (name.split("=")[0] for name in after if re.match(r"--[a-z]", name)):
            if not re.search(re.escape(flag) + r"(?![\w-])", known):
                yield f"retort {' '.join(command)} has no {flag}"
        yield from check_plan(root, program, after)
    for index, word in enumerate(words):
        if not word.endswith((".sh", ".sbatch")) or not os.path.exists(os.path.join(root, word)):
            continue
        text = read_page(root, word)
        stop = next((i for i in range(index, len(words)) if os.path.basename(words[i]) == "retort"), len(words))
        for flag in (name.split("=")[0] for name in words[index + 1:stop] if name.startswith("--")):
            if flag not in text:
                yield f"{word} has no {flag}"


def check_plan(root, program, words):
    """`run` and `plan` of a sweep file that is there, with the keys and the profile that follow it."""
    if words[0] not in ("run", "plan") or len(words) < 2 or not os.path.exists(os.path.join(root, words[1])):
        return
    profile = [pair for pair in zip(words, words[1:]) if pair[0] == "--profile"]
    keys = [word for word in words[2:] if re.match(r"[a-z][\w.-]*=", word)]
    refusal = program.refusal(root, words[1], *keys, *(profile[0] if profile else ()))
    if refusal:
        yield f"retort {' '.join(words)}: {refusal}"


@functools.lru_cache(maxsize=None)
def read_sources(root):
    ends = (".h", ".cc", ".cu", ".cuh", ".py", ".sh", ".sbatch", ".cmake", "CMakeLists.txt", ".yaml")
    texts = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in (SKIPPED_FOLDERS - {"fixtures"}) and name != "docs"]
        for name in files:
            if name.endswith(ends):
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    texts.append(file.read())
    return "\n".join(texts)


def check_names(root, program, code, inline):
    for name in re.findall(r"(?<![\w/.{$-])retort_[a-z0-9_]+[a-z0-9](?![\w*{(.])", code):
        cmake = re.search(rf"(?:function|add_library|add_executable|NAME|set)\s*\(?\s*{name}\b", read_sources(root))
        if name not in program.metrics and not cmake:
            yield f"there is no metric {name}"
    for name in re.findall(r"\bRETORT_[A-Z0-9_]+\b", code):
        if not re.search(rf"\b{name}\b", read_sources(root)):
            yield f"nothing knows {name}"
    if not inline:
        return
    if re.fullmatch(r"--[a-z][\w-]*( [A-Z.…]+)?", code):
        flag = code.split()[0]
        if flag not in program.every_flag and not re.search(re.escape(flag) + r"(?![\w-])", read_sources(root)):
            yield f"no program has {flag}"
    symbol = re.fullmatch(r"(?:\w+::)*(\w+)\(\)|(k[A-Z]\w+)", code)
    if symbol and not re.search(rf"\b{symbol[1] or symbol[2]}\b", read_sources(root)):
        yield f"no source has {code}"


def check_key(program, code):
    """Inline code: `trial.steps`, `data.mnist.path=/x`, `method = "dpdfd"`."""
    schema = program.schema
    dotted = re.fullmatch(r"((?:%s)(?:\.[\w-]+)+)(\s*=.*)?" % "|".join(TABLES), code)
    if dotted and not dotted[1].endswith(FILE_ENDS) and not is_placeholder(dotted[1].replace(".", "/")):
        node, names = schema, dotted[1].split(".")
        if len(names) == 2 and names[0] in NAMED:
            return
        for name in names:
            node = find_child(schema, node, name)
            if node is None:
                yield f"there is no key {dotted[1]}"
                return
    plain = re.match(r"([a-z][a-z0-9_]{2,})(?:\.[\w-]+)* = [\"\[{\d-]", code)
    if plain and plain[1] not in collect_key_names(schema) and plain[1] not in TABLES:
        yield f"there is no key {plain[1]}"


def check_toml(program, block):
    if tomllib is None:
        return
    try:
        document = tomllib.loads(block.text)
    except tomllib.TOMLDecodeError as error:
        yield f"is no TOML: {error}"
        return
    known = any(name in program.schema["properties"] for name in document)
    places = [program.schema] if known else [find_child(program.schema, program.schema, name) for name in
                                             ("trial", "sweep")] + [
        find_child(program.schema, find_child(program.schema, program.schema, name), "any") for name in NAMED]
    per_place = [list(find_unknown_keys(program.schema, place, document)) for place in places]
    for key in min(per_place, key=len):
        yield f"there is no key {key}"


def check_block(root, program, block, runnable):
    if runnable and block.language not in LANGUAGES:
        yield f"a block of {block.language or 'no language'} in a page whose commands are run: name one of " \
              f"{', '.join(sorted(LANGUAGES))}"
    meant = {"text": ["shown"]}.get(block.language, [])
    for word in block.stray:
        if runnable and word not in meant:
            yield f"'{word}' after {block.language} means nothing"
    for need in block.needs:
        if need not in NEEDS:
            yield f"nothing is known of needs={need}; one of {', '.join(sorted(NEEDS))}"
    if block.language == "sh":
        run = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True)
        if run.returncode != 0:
            yield f"is no shell: {run.stderr.strip()}"
    if block.language == "toml":
        yield from check_toml(program, block)


def check_needs(root):
    """Every command that blocks run which take long is run by one, of any page, that does not."""
    blocks = [block for page in list_pages(root) for block in read_blocks(root, page) if block.language == "sh"]
    quick = {name for block in blocks if "long" not in block.needs for name in list_commands(block)} | LONG_ALONE
    for block in blocks:
        for name in sorted(set(list_commands(block)) - quick):
            yield f"{block.page}:{block.line}: retort {name} is run by blocks alone that take long (needs=long)"


def list_commands(block):
    return re.findall(r"(?:^|[\s;|&(/])retort ([a-z]{2,})", re.sub(r"(^|\s)#.*", "", block.text), re.M)


def check_page(root, program, page):
    runnable = is_runnable(root, page)
    for number, code, fenced in read_code(root, page):
        found = [*check_paths(root, page, code), *check_program(root, program, code),
                 *check_names(root, program, code, not fenced)]
        if not fenced:
            found += check_key(program, code)
        for what in dict.fromkeys(found):
            yield f"{page}:{number}: {what}"
    for number, what in check_links(root, page):
        yield f"{page}:{number}: {what}"
    for block in read_blocks(root, page):
        for what in check_block(root, program, block, runnable):
            yield f"{page}:{block.line}: {what}"


def check_paper_figures(root):
    """The figures of one or two decimals on the papers' pages stand in RESULTS.md, or are published ones."""
    pages = [page for page in list_pages(root) if page.startswith("experiments/papers/")]
    if not pages:
        return
    known = set(FIGURE.findall(read_page(root, "experiments/RESULTS.md")))
    with open(os.path.join(root, "experiments", "reference", "published.csv"), encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            known |= {row["epsilon"], row["value"].removesuffix("K")}
            if row["metric"] == "accuracy":
                known.add(f"{100 * float(row['value']):.2f}")
    for page in pages:
        code = {number for block in read_blocks(root, page) for number in range(block.line, block.end + 1)}
        for number, line in enumerate(read_page(root, page).splitlines(), 1):
            for figure in FIGURE.findall(re.sub(r"section \d\.\d", "", line)) if number not in code else []:
                if figure not in known:
                    yield f"{page}:{number}: {figure} stands neither in experiments/RESULTS.md nor among the published values"


def find_violations(root, program):
    return [*check_needs(root), *check_paper_figures(root), *(what for page in list_pages(root) for what in check_page(root, program, page))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    parser.add_argument("--retort", required=True)
    options = parser.parse_args()
    found = find_violations(os.path.abspath(options.root), Program(options.retort))
    print("\n".join(found) if found else "docs: no violation")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
