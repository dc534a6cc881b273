#!/usr/bin/env python3
"""Hostile sweep files, random bytes and command lines: each command that reads refuses them, and what it prints neither
moves a cursor nor turns text."""
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unicodedata
import unittest
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import all_tests_pass, parse_options

HEAD = 'retort = 1\n[trial]\nmethod = "sleep"\nsteps = 1\nseconds = 0.01\n'
# Escapes as TOML writes them: a colour, a cleared screen, a window's title, a bell, line ends, C1 and what turns text.
CONTROLS = [r"\u001b[31m", r"\u001b[2J", r"\u001b]0;x\u0007", r"\n", r"\t", r"\r", r"\u0000", r"\u007f", r"\u009b2J", r"\u0085",
            r"\u202e", r"\u2066", r"\u200f", r"\u2028"]
# Where a sweep file has names and texts; {} is what they hold.
PLACES = ['[data."a{}b"]\n', '[teacher."a{}b"]\n', '[table."a{}b"]\nrows = ["method"]\n', '[figure."a{}b"]\n',
          '[profile."a{}b"]\n', '[sweep]\nname = "a{}b"\n', '[table.t]\nrows = ["method"]\nmetric = "a{}b"\n',
          '[figure.f]\ntitle = "a{}b"\n', '[sweep]\nzip."a{}b" = [{{ steps = 2 }}]\n', '"a{}b" = 1\n', 'network = "a{}b"\n']
READING = [["plan", "FILE"], ["table", "FILE"], ["table", "FILE", "--format", "markdown"], ["table", "FILE", "--format", "latex"],
           ["table", "FILE", "--format", "csv"], ["plot", "FILE"], ["audit", "FILE"], ["run", "FILE"]]
TURNS = {0x061C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


PICTURE = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)) +
           chunk(b"IDAT", zlib.compress(bytes(72))) + chunk(b"IEND", b""))


def moves(character):
    return character != "\n" and (unicodedata.category(character) == "Cc" or ord(character) in TURNS)


class HostileInput(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = folder.name

    def write(self, name, content):
        with open(os.path.join(self.place, name), "wb") as file:
            file.write(content)

    def refuses(self, words, codes=(2,)):
        """What the command says: printable text, which is one document with --json."""
        done = subprocess.run([OPTIONS.retort, *words], cwd=self.place, capture_output=True, timeout=60,
                              env={**os.environ, "XDG_CACHE_HOME": os.path.join(self.place, "cache")})
        self.assertIn(done.returncode, codes, (words, done))
        out, err = done.stdout.decode(), done.stderr.decode()    # valid UTF-8
        if "--json" in words:
            self.assertTrue(json.loads(out)["errors"], words)
        else:
            self.assertEqual([c for c in out + err if moves(c)], [], (words, out, err))
            self.assertIn("error: ", err, words)
        self.assertFalse(os.path.exists(os.path.join(self.place, "results")), words)
        return out + err

    def test_names_and_texts_with_controls_are_refused(self):
        for place in PLACES:
            self.write("s.toml", (HEAD + place.format(r"\u001b[2J")).encode())
            for words in READING:
                said = self.refuses([word.replace("FILE", "s.toml") for word in words])
                self.assertIn("s.toml:", said)
                self.assertIn("control character U+001B", said)
                self.assertIn('as in "ab"', said)

    def test_every_control_is_refused_everywhere(self):
        for place in PLACES:
            for control in CONTROLS:
                self.write("s.toml", (HEAD + place.format(control)).encode())
                self.assertIn("control character U+", self.refuses(["plan", "s.toml"]))
                self.refuses(["plan", "s.toml", "--json"])

    def test_lines_with_controls_are_quoted_without_them(self):
        for line in ["steps = \x1b[2J", "st\u009bps = 3", 'steps = "\u202e"', "steps = 3 # \u2066", "# ε\u009b\nstepz = \"ε\" # \u202e"]:
            self.write("s.toml", (HEAD + line + "\nunknown = 1\n").encode())
            self.refuses(["plan", "s.toml"])

    def test_random_bytes_are_no_sweep(self):
        generator = random.Random(17)
        for size in (1, 20, 300, 5000):
            content = generator.randbytes(size)
            for head in (b"", HEAD.encode()):
                self.write("s.toml", head + b"\xff" + content)
                for words in READING + [["plan", "FILE", "--json"], ["table", "FILE", "--json"]]:
                    self.refuses([word.replace("FILE", "s.toml") for word in words])

    def test_random_bytes_are_no_results(self):
        os.mkdir(os.path.join(self.place, "r"))
        for name in ("journal.log", "ledger.log", "sweep.toml", "summary.json", "results.h5"):
            self.write("r/" + name, random.Random(name).randbytes(3000))
        for words in (["status"], ["list"], ["show", "x"], ["explain", "x"], ["retry", "x"], ["cancel", "x"],
                      ["report", "--out", "page.html"], ["export", "x", "curves", "--format", "csv", "--out", "c.csv"]):
            for more in ([], ["--json"]):
                self.refuses([*words, "--results", "r", *more], codes=(1, 2, 3))

    def test_names_of_files_are_shown_without_controls(self):
        for name in (b"c\x1b[2Jat", "\u202ecat".encode(), b"\xffcat", "\u009b2Jcat".encode()):
            for part in (b"train", b"test"):
                for group in (name, b"dog"):
                    folder = os.path.join(os.fsencode(self.place), b"set", part, group)
                    os.makedirs(folder)
                    for file in (b"0.png", name + b"1.png"):
                        with open(os.path.join(folder, file), "wb") as picture:
                            picture.write(PICTURE if file == b"0.png" else b"none")
            done = subprocess.run([OPTIONS.retort, "data", "check", "pictures", "set"], cwd=self.place, capture_output=True, timeout=60,
                                  env={**os.environ, "XDG_CACHE_HOME": os.path.join(self.place, "cache")})
            said = (done.stdout + done.stderr).decode()     # valid UTF-8
            self.assertIn("dog", said)
            self.assertEqual([c for c in said if moves(c)], [], said)
            shutil.rmtree(os.path.join(self.place, "set"))

    def test_what_never_ends_is_no_sweep(self):
        for path in ("/dev/zero", "/dev/full"):
            self.assertIn("larger than 16 MiB", self.refuses(["plan", path]))

    def test_words_are_quoted_without_controls(self):
        self.write("s.toml", HEAD.encode())
        for word in ["a\x1b[2Jb", "\x1b]0;title\x07", "\u202eabc", "\u009b2J", b"\xff\xfe", "a\nb\x07"]:
            word = word if isinstance(word, bytes) else word.encode()
            for words in ([word], ["--" .encode() + word], [b"plan", word], [b"plan", b"s.toml", word],
                          [b"plan", b"s.toml", word + b"=1"], [b"plan", b"s.toml", b"trial." + word + b"=1"],
                          [b"plan", b"s.toml", b"trial.network=" + word], [b"plan", b"s.toml", b"--profile", word],
                          [b"table", b"s.toml", word], [b"table", b"s.toml", b"--format", word], [b"plot", b"s.toml", word],
                          [b"status", b"--results", word], [b"list", b"--where", word], [b"show", word], [b"data", word],
                          [b"data", b"check", word, word], [b"man", word], [b"completion", word], [b"epsilon", word],
                          [b"run", b"s.toml", b"--grace", word], [b"report", b"--results", word]):
                self.refuses([part.decode("utf-8", "surrogateescape") if isinstance(part, bytes) else part for part in words],
                             codes=(2, 3))


if __name__ == "__main__":
    OPTIONS = parse_options("retort")
    OPTIONS.retort = os.path.abspath(OPTIONS.retort)
    sys.exit(0 if all_tests_pass() else 1)
