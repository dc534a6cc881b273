"""Disks that are full or read-only: every command says what is wrong, leaves no half file, and loses nothing.

usage: disks_test.py --retort PROGRAM --source DIR
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from own_mounts import SmallDisk, enter_own_mounts  # noqa: E402
from sweep_run import SMALL_DIGITS, parse_options, run_tests  # noqa: E402

OPTIONS = None
FOLDER = None

NAPS = """
retort = 1
[trial]
method = "sleep"
steps = 1
seconds = 0.002
[sweep]
name = "naps"
seeds = {seeds}
"""
DIGITS = SMALL_DIGITS + """
[sweep]
name = "digits"
seeds = [0]
zip.row = [{{ method = "dpsgd", steps = 4 }}]
"""
STDOUT_FULL = "error: stdout cannot be written (is its disk full?)\n"


def retort(*words, **more):
    more = {"stdout": subprocess.PIPE, "cwd": FOLDER, **more}
    environment = {**os.environ, "XDG_CACHE_HOME": os.path.join(FOLDER, "cache"), **more.pop("variables", {})}
    return subprocess.run([OPTIONS.retort, *words], stderr=subprocess.PIPE, text=True, timeout=120, check=False,
                          env=environment, **more)


def run_sweep(name, results):
    return retort("run", name, "--results", results, "--slots", "2", "--metrics-listen", "127.0.0.1:0")


def write(name, text):
    with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as file:
        file.write(text)


def rows(results):
    trials = json.loads(retort("list", "--results", results, "--json").stdout)["trials"]
    return {trial["row_digest"] for trial in trials if trial["state"] == "succeeded" and trial["row_digest"]}


def files(folder):
    return {os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names}


class DisksTest(unittest.TestCase):
    def disk(self, name, size):
        disk = SmallDisk(os.path.join(FOLDER, name), size)
        self.addCleanup(disk.end)
        return disk

    def expect_full(self, done, folder):
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("No space left on device. The disk is full: free some space", done.stderr)
        self.assertRegex(done.stderr, rf"\d\.\d MiB are free in '[^']*{folder}[^']*'\.")


class FullDisk(DisksTest):
    def test_run_stops_and_the_same_line_goes_on(self):
        write("naps.toml", NAPS.format(seeds=list(range(300))))
        disk = self.disk("full", "3m")
        results = os.path.join(disk.path, "r")
        disk.fill(left=128 << 10)
        self.expect_full(run_sweep("naps.toml", results), "full")
        before = rows(results)
        self.assertTrue(0 < len(before) < 300, len(before))
        self.assertEqual(retort("status", "--results", results).returncode, 0)
        verified = retort("verify", "--results", results)
        self.assertEqual(verified.returncode, 0, verified.stdout)
        disk.fill()                             # and not a byte is left
        again = run_sweep("naps.toml", results)
        self.expect_full(again, "full")
        self.assertEqual(rows(results), before)
        disk.make_room()
        self.assertEqual(run_sweep("naps.toml", results).returncode, 0)
        after = rows(results)
        self.assertEqual(len(after), 300)
        self.assertLessEqual(before, after)
        verified = retort("verify", "--results", results)
        self.assertRegex(verified.stdout, "^[^\n]* 300 rows, [^\n]*: all as written\n$")

    def test_trial_without_room_is_tried_again(self):
        write("digits.toml", DIGITS.format(source=OPTIONS.source))
        disk = self.disk("tight", "20m")
        results = os.path.join(disk.path, "r")
        disk.fill(left=8 << 20)                 # that much stays free for the logs
        run = run_sweep("digits.toml", results)
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertRegex(run.stderr, r"The disk is full: [^\n]*fit into the \d\.\d MiB that are left for '[^']*tight/r/")
        self.assertIn("next: make room on the disk of", run.stderr)
        disk.make_room()
        run = run_sweep("digits.toml", results)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(retort("verify", "--results", results).returncode, 0)

    def test_nothing_half_lies_under_a_final_name(self):
        write("digits.toml", DIGITS.format(source=OPTIONS.source))
        self.assertEqual(run_sweep("digits.toml", "r").returncode, 0)
        disk = self.disk("out", "1m")
        disk.fill()
        before = files(disk.path)
        out = os.path.join(disk.path, "it")
        name = "dpsgd-digits-s0"
        for words in (["report", "--out", out], ["plot", "digits.toml", "--out", out + "s"],
                      ["plot", "digits.toml", "--out", disk.path], ["export", name, "student", "--format", "torch", "--out", out],
                      ["export", name, "student", "--format", "npz", "--out", out],
                      ["export", name, "curves", "--format", "csv", "--out", out],
                      ["export", name, "ledger", "--format", "csv", "--out", out]):
            with self.subTest(words=words):
                self.expect_full(retort(*words, "--results", "r"), "out")
                self.assertEqual(files(disk.path), before)
        page = os.path.join(disk.path, "page.html")
        disk.make_room()
        self.assertEqual(retort("report", "--out", page, "--results", "r").returncode, 0)
        with open(page, encoding="utf-8") as file:
            whole = file.read()
        disk.fill()
        self.expect_full(retort("report", "--out", page, "--results", "r"), "out")
        with open(page, encoding="utf-8") as file:
            self.assertEqual(file.read(), whole, "the page that was there stays")

    def test_stdout_that_is_full_is_an_error(self):
        write("naps.toml", NAPS.format(seeds=[0]))
        self.assertEqual(run_sweep("naps.toml", "n").returncode, 0)
        for words in (["table", "naps.toml", "--results", "n"], ["table", "naps.toml", "--results", "n", "--format", "latex"],
                      ["list", "--results", "n"], ["list", "--results", "n", "--json"], ["status", "--results", "n"],
                      ["show", "sleep-s0", "--results", "n"], ["plan", "naps.toml"], ["verify", "--results", "n"],
                      ["report", "--out", "-", "--results", "n"], ["schema"], ["metrics", "--list"], ["--help"],
                      ["epsilon", "votes", "--noise", "100", "--queries", "10", "--delta", "1e-5"]):
            with self.subTest(words=words), open("/dev/full", "w", encoding="utf-8") as full:
                done = retort(*words, stdout=full)
                self.assertEqual((done.returncode, done.stderr), (3, STDOUT_FULL))


class ReadOnly(DisksTest):
    def setUp(self):
        write("naps.toml", NAPS.format(seeds=[0, 1]))
        disk = self.disk(self.id().rsplit(".", 1)[1], "3m")
        self.folder = disk.path
        shutil.copy(os.path.join(FOLDER, "naps.toml"), self.folder)
        self.assertEqual(run_sweep("naps.toml", os.path.join(self.folder, "results/naps")).returncode, 0)
        disk.make_read_only()

    # No variable tells of a home that can be written; which of them do makes no difference.
    def here(self, *words):
        homeless = {name: value for name, value in os.environ.items()
                    if name not in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
        homes = {}, {"HOME": "/nonexistent"}, {"HOME": self.folder, "XDG_CACHE_HOME": self.folder + "/cache"}
        ends = [subprocess.run([OPTIONS.retort, *words], cwd=self.folder, env={**homeless, **home}, capture_output=True,
                               text=True, timeout=60, check=False) for home in homes]
        for end in ends[1:]:
            self.assertEqual((end.returncode, end.stdout), (ends[0].returncode, ends[0].stdout), end.stderr)
        return ends[0]

    def test_what_reads_needs_nothing_that_can_be_written(self):
        before = files(self.folder)
        for words in (["status"], ["list"], ["show", "sleep-s0"], ["explain", "sleep-s0"],
                      ["table", "naps.toml"], ["plan", "naps.toml"], ["verify"]):
            with self.subTest(words=words):
                done = self.here(*words)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotRegex(done.stderr, "error|Read-only|cache|nonexistent")
        page = os.path.join(FOLDER, "elsewhere.html")
        self.assertEqual(self.here("report", "--out", page).returncode, 0)
        self.assertTrue(os.path.getsize(page) > 1000)
        self.assertEqual(files(self.folder), before)

    def test_what_writes_says_where_it_may_not(self):
        for words in (["report"], ["run", "naps.toml"], ["run", "naps.toml", "--results", "new"], ["retry", "--failed"],
                      ["cancel", "sleep-s0"], ["repair", "--apply"]):
            with self.subTest(words=words):
                done = self.here(*words)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertRegex(done.stderr, r"error: Cannot create [^\n]*: Read-only file system\. The file system is mounted "
                                              r"read-only: choose a writable folder with --results DIR, or remount it\.\n$")

    def test_run_may_lie_elsewhere(self):
        done = self.here("run", "naps.toml", "--metrics-listen", "127.0.0.1:0", "--results", os.path.join(FOLDER, "free"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stderr, "error|warning|Read-only")


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    enter_own_mounts()
    OPTIONS.retort = os.path.abspath(OPTIONS.retort)
    FOLDER = tempfile.mkdtemp(prefix="retort-disks-")
    sys.exit(run_tests(FOLDER))
