"""The Markdown pages of this repository: which there are, their blocks and their code."""
import os
import re

SKIPPED_FOLDERS = {".git", "build", "results", "fixtures"}
SKIPPED_PAGES = {"CHANGELOG.md"}  # it tells of what was, too
# What a block of commands may need that a test's machine may not have (```sh needs=slurm).
NEEDS = {"mpi", "readers", "h5dump", "slurm", "pbs", "kubernetes", "containers", "gpu", "data", "long"}
# A comment of such lines is a block that is run and not shown: what the reader of a page has done before.
HIDDEN_BEGIN, HIDDEN_END = "<!-- sh", "-->"


class Block:
    """Fenced lines. `line` is that of the opening fence, `end` that of the closing one."""

    def __init__(self, page, line, info, lines):
        self.page, self.line, self.end = page, line, line + len(lines) + 1
        self.text = "\n".join(lines) + "\n"
        self.language, *words = info.split() or [""]
        self.needs = [word.removeprefix("needs=") for word in words if word.startswith("needs=")]
        self.stray = [word for word in words if not word.startswith("needs=")]


def list_pages(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in sorted(files):
            path = os.path.relpath(os.path.join(folder, name), root)
            if name.endswith(".md") and path not in SKIPPED_PAGES:
                yield path


def read_page(root, page):
    with open(os.path.join(root, page), encoding="utf-8") as file:
        return file.read()


def read_blocks(root, page):
    """Every block in order; one that is not closed reaches to the end of the page."""
    found, info, closing, lines, begin = [], None, "", [], 0
    for number, line in enumerate(read_page(root, page).splitlines(), 1):
        if info is not None and line.startswith(closing):
            found.append(Block(page, begin, info, lines))
            info = None
        elif info is not None:
            lines.append(line)
        elif line.startswith("```") or line.split(" needs=")[0] == HIDDEN_BEGIN:
            hidden = not line.startswith("```")
            info, closing = (line[len("<!--"):], HIDDEN_END) if hidden else (line[len("```"):], "```")
            lines, begin = [], number
    if info is not None:
        found.append(Block(page, begin, info, lines))
    return found


def is_runnable(root, page):
    return any(block.language == "sh" for block in read_blocks(root, page))


def read_code(root, page):
    """(line, code, whether it is of a block) of every command of a block, its continued lines joined, and of every
    inline code span."""
    lines = read_page(root, page).splitlines()
    fenced = set()
    for block in read_blocks(root, page):
        fenced.update(range(block.line, block.end + 1))
        command, begin = "", block.line + 1
        for number, line in enumerate(block.text.splitlines(), block.line + 1):
            command += line.removesuffix("\\")
            if not line.endswith("\\"):
                yield begin, command, True
                command, begin = "", number + 1
        if command:
            yield begin, command, True
    for number, line in enumerate(lines, 1):
        if number not in fenced:
            for span in re.findall(r"`([^`]+)`", line):
                yield number, span, False
