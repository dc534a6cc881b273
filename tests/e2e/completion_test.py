#!/usr/bin/env python3
"""Completion in real shells, and manual pages as groff reads them."""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import PATIENCE, all_tests_pass, parse_options

SWEEP = """retort = 1
[trial]
method = "sleep"
steps = 1
seconds = 0.01
[sweep]
name = "drowsy"
seeds = [0, 1]
[profile.brief.trial]
steps = 1
[table.naps]
rows = ["method"]
"""
# What is typed, and what is offered for its last word.
CASES = [
    ("retort pl", {"plan", "plot"}),
    ("retort --results x st", {"status"}),
    ("retort data ", {"check", "clients"}),
    ("retort data check med", {"medmnist"}),
    ("retort epsilon vot", {"votes"}),
    ("retort --res", {"--results"}),
    ("retort run s.toml --slo", {"--slots"}),
    ("retort table s.toml --format m", {"markdown"}),
    ("retort completion z", {"zsh"}),
    ("retort plan s.to", {"s.toml"}),
    ("retort run s.toml --profile b", {"brief"}),
    ("retort table s.toml na", {"naps"}),
    ("retort show --results r ", {"TRIAL 0", "TRIAL 1"}),
    ("retort retry --results r sleep-s0 sleep-s1", {"TRIAL 1"}),
]


def script(shell):
    return subprocess.run([OPTIONS.retort, "completion", shell], capture_output=True, text=True, check=True).stdout


class Zsh:
    """An interactive zsh. What it shows after a tab is the line as it is now, and a list where there are several."""

    def __init__(self, folder, path):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb", "COLUMNS": "200", "PS1": "", "PATH": path})
        self.say("unsetopt zle_bracketed_paste 2>/dev/null; autoload -Uz compinit; compinit -u -D; source ./completion.zsh; "
                 "bindkey '^I' complete-word; setopt list_ambiguous; echo READY$((1+1))\n", "READY2")

    def say(self, text, *until):
        os.write(self.fd, text.encode())
        shown, deadline = "", time.monotonic() + PATIENCE
        while not all(word in shown for word in until) and time.monotonic() < deadline:
            if select.select([self.fd], [], [], 0.1)[0]:
                shown += os.read(self.fd, 65536).decode(errors="replace")
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\x07]", "", shown)

    def offers(self, typed, wanted):
        # The line is taken away by ^U, and its echo tells that all is shown.
        shown = self.say(typed + "\t\t", *wanted)
        self.say("\x15echo DONE$((2+3))\n", "DONE5")
        return shown

    def end(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


class CompletionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.place = cls.folder.name
        with open(os.path.join(cls.place, "s.toml"), "w", encoding="utf-8") as file:
            file.write(SWEEP)
        subprocess.run([OPTIONS.retort, "run", "s.toml", "--results", "r", "--quiet"], cwd=cls.place, check=True)
        names = subprocess.run([OPTIONS.retort, "list", "--names", "--results", "r"], cwd=cls.place, check=True,
                               capture_output=True, text=True).stdout.split()
        trials = cls.trials = {f"TRIAL {i}": name for i, name in enumerate(sorted(names))}
        cls.cases = [(typed, {trials.get(word, word) for word in wanted}) for typed, wanted in CASES]
        cls.path = os.path.dirname(OPTIONS.retort) + ":" + os.environ["PATH"]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def write(self, name, text):
        with open(os.path.join(self.place, name), "w", encoding="utf-8") as file:
            file.write(text)

    def need(self, shell):
        if shutil.which(shell) is None:
            self.skipTest(f"{shell} is not installed")

    def test_bash(self):
        self.write("completion.bash", script("bash") + """
words() { printf '%s\\n' "${COMPREPLY[@]}"; }
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _retort; words; }
""")
        for typed, wanted in self.cases:
            words = typed.split(" ")
            line = "source ./completion.bash; ask " + " ".join(f"'{word}'" for word in words)
            done = subprocess.run(["bash", "--norc", "-c", line], cwd=self.place, capture_output=True, text=True,
                                  env={**os.environ, "PATH": self.path})
            self.assertEqual(done.stderr, "", typed)
            self.assertEqual(set(done.stdout.split()), wanted, typed)

    def test_bash_takes_a_value_after_an_equals_sign(self):
        self.write("completion.bash", script("bash"))
        line = ("source ./completion.bash; COMP_WORDS=(retort table s.toml --format = l); COMP_CWORD=5; _retort; "
                "echo ${COMPREPLY[@]}")
        done = subprocess.run(["bash", "--norc", "-c", line], cwd=self.place, capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("latex\n", ""))

    def test_bash_reads_words_as_it_would_run_them(self):
        self.write("completion.bash", script("bash"))
        shutil.copytree(os.path.join(self.place, "r"), os.path.join(self.place, "r 1"), dirs_exist_ok=True)
        for line, wanted in [("show --results \"'r 1'\" ''", {"TRIAL 0", "TRIAL 1"}), ("show --results 'r\\ 1' ''", {"TRIAL 0", "TRIAL 1"}),
                             ("show --results '\"r 1\"' ''", {"TRIAL 0", "TRIAL 1"}), ("show --results '~/r\\ 1' ''", {"TRIAL 0", "TRIAL 1"}),
                             ("run '~/s.toml' --profile ''", {"brief"}), ("run \"'~/s.toml'\" --profile ''", set())]:
            done = subprocess.run(["bash", "--norc", "-c", f"source ./completion.bash; COMP_WORDS=(retort {line}); "
                                   "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _retort; printf '%s\\n' \"${COMPREPLY[@]}\""],
                                  cwd=self.place, capture_output=True, text=True,
                                  env={**os.environ, "PATH": self.path, "HOME": self.place})
            self.assertEqual(done.stderr, "", line)
            self.assertEqual(set(done.stdout.split()), {self.trials.get(word, word) for word in wanted}, line)

    def test_fish_expands_the_home_folder(self):
        self.need("fish")
        self.write("completion.fish", script("fish"))
        done = subprocess.run(["fish", "--no-config", "-c", "source ./completion.fish; complete -C 'retort run ~/s.toml --profile '"],
                              cwd=self.place, capture_output=True, text=True,
                              env={**os.environ, "PATH": self.path, "HOME": self.place})
        self.assertEqual(done.stderr, "")
        self.assertEqual({line.split("\t")[0] for line in done.stdout.splitlines()}, {"brief"})

    def test_fish(self):
        self.need("fish")
        self.write("completion.fish", script("fish"))
        for typed, wanted in self.cases:
            done = subprocess.run(["fish", "--no-config", "-c", f"source ./completion.fish; complete -C '{typed}'"],
                                  cwd=self.place, capture_output=True, text=True,
                                  env={**os.environ, "PATH": self.path, "HOME": self.place})
            self.assertEqual(done.stderr, "", typed)
            self.assertEqual({line.split("\t")[0] for line in done.stdout.splitlines()}, wanted, typed)

    def test_zsh(self):
        self.need("zsh")
        self.write("completion.zsh", script("zsh"))
        zsh = Zsh(self.place, self.path)
        for typed, wanted in self.cases:
            shown = zsh.offers(typed, wanted)
            for word in wanted:
                self.assertIn(word, shown, typed)
        zsh.end()

    def test_manual_pages_are_read_without_a_warning(self):
        self.need("groff")
        folder = os.path.join(self.place, "man1")
        subprocess.run([OPTIONS.retort, "man", "--all", folder], check=True, capture_output=True)
        pages = sorted(os.listdir(folder))
        self.assertIn("retort.1", pages)
        self.assertIn("retort-run.1", pages)
        for page in pages:
            for device in ("utf8", "ascii"):
                done = subprocess.run(["groff", "-man", f"-T{device}", "-ww", os.path.join(folder, page)],
                                      capture_output=True)
                self.assertEqual((done.returncode, done.stderr), (0, b""), page)

    def test_a_page_reads_as_the_help_says(self):
        self.need("groff")
        page = subprocess.run([OPTIONS.retort, "man", "run"], capture_output=True, check=True).stdout
        shown = subprocess.run(["groff", "-man", "-Tascii", "-P-c"], input=page, capture_output=True).stdout.decode()
        shown = re.sub(r".\x08", "", shown)
        self.assertIn("--time-limit", shown)
        self.assertIn("RETORT_END_TIME", shown)

    def test_pages_that_cannot_be_written_name_the_folder(self):
        self.write("file", "")
        done = subprocess.run([OPTIONS.retort, "man", "--all", os.path.join(self.place, "file", "man1")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("file/man1", done.stderr)

    def test_a_page_of_no_command_names_the_nearest(self):
        done = subprocess.run([OPTIONS.retort, "man", "tabel"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("table", done.stderr)


if __name__ == "__main__":
    OPTIONS = parse_options("retort")
    sys.exit(0 if all_tests_pass() else 1)
