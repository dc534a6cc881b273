"""The commit that a build says it is of: WriteRevision.cmake over work trees in every state.

usage: revision_test.py --cmake PROGRAM --script WriteRevision.cmake
"""
import argparse
import os
import re
import subprocess
import tempfile


def git(folder, *arguments):
    own = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *own, "-C", folder, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Tree:
    def __init__(self, options, folder):
        self.options, self.folder, self.out = options, folder, os.path.join(folder, "out.cc")

    def revision(self, source=None):
        subprocess.run([self.options.cmake, "-D", f"SOURCE={source or self.folder}", "-D", f"OUT={self.out}", "-P",
                        self.options.script], check=True)
        with open(self.out, encoding="utf-8") as file:
            return re.search(r'return "(.*)";', file.read()).group(1)

    def commit(self, text):
        write(os.path.join(self.folder, "tracked"), text)
        git(self.folder, "add", "tracked")
        git(self.folder, "commit", "-q", "-m", "one")
        return git(self.folder, "rev-parse", "--short=8", "HEAD")


def expect(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {got!r}, expected {want!r}")


def check(tree):
    expect(tree.revision(), "", "a folder that is no work tree")
    git(tree.folder, "init", "-q")
    first = tree.commit("a")
    expect(tree.revision(), first, "a clean tree, but for a file that nobody tracks")
    before = os.stat(tree.out).st_mtime_ns
    tree.revision()
    expect(os.stat(tree.out).st_mtime_ns, before, "the same revision is not written again")
    write(os.path.join(tree.folder, "tracked"), "b")
    expect(tree.revision(), first + "-dirty", "a changed file")
    second = tree.commit("b")
    expect(tree.revision(), second, "the next commit")
    inner = os.path.join(tree.folder, "unpacked")
    os.mkdir(inner)
    expect(tree.revision(inner), "", "sources unpacked in somebody else's work tree")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--script", required=True)
    with tempfile.TemporaryDirectory() as folder:
        check(Tree(parser.parse_args(), os.path.realpath(folder)))


if __name__ == "__main__":
    main()
