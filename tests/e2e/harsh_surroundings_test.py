"""Terminals that are narrow, dumb or absent, pipes that nobody reads to the end, and sweeps of ten thousand trials.

usage: harsh_surroundings_test.py --retort PROGRAM
"""
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from record_log import ATTEMPT_ENDED, ATTEMPT_LEASED, json_record  # noqa: E402
from sweep_run import parse_options, run_tests  # noqa: E402
from terminal import TerminalRun  # noqa: E402

OPTIONS = None
FOLDER = None

SWEEP = """
retort = 1
[trial]
method = "sleep"
steps = 1
seconds = 0.002
[sweep]
name = "{name}"
seeds = {seeds}
"""
READING = (["status"], ["list"], ["show", "sleep-s0"], ["explain", "sleep-s0"], ["table", "naps.toml"], ["plan", "naps.toml"],
           ["verify"])
TALKING = READING + (["report", "--out", "-"], ["table", "naps.toml", "--format", "json"], ["list", "--json"], ["schema"],
                     ["metrics", "--list"], ["--help"], ["epsilon", "--papers"])


def environment(**variables):
    kept = {name: value for name, value in os.environ.items()
            if name not in ("NO_COLOR", "COLUMNS", "LC_ALL", "LC_CTYPE", "LANG", "TERM")}
    return {**kept, "XDG_CACHE_HOME": os.path.join(FOLDER, "cache"), **variables}


def of_results(words, results):
    about_none = words[0] in ("schema", "metrics", "--help", "epsilon")
    return [OPTIONS.retort, *words] + ([] if about_none else ["--results", results])


def start(words, results="r", **more):
    variables = more.pop("variables", {})
    return subprocess.Popen(of_results(words, results), cwd=FOLDER, env=environment(**variables), **more)


def finish(words, results="r", **more):
    """Exit status, stdout and stderr, as bytes."""
    process = start(words, results, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def write(name, text):
    with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as file:
        file.write(text)


def run_sweep(name, *words, results="r", **variables):
    return finish(["run", name, *words, "--slots", "2", "--metrics-listen", "127.0.0.1:0"], results, variables=variables)


class SmallSweep(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        write("naps.toml", SWEEP.format(name="naps", seeds=[0, 1, 2]))
        code, _, err = run_sweep("naps.toml")
        assert code == 0, err


class Output(SmallSweep):
    def test_is_the_same_whatever_the_surroundings_say_of_terminals_and_languages(self):
        for words in READING:
            expected = finish(words)
            self.assertEqual(expected[0], 0, expected)
            self.assertNotIn(b"\x1b", expected[1] + expected[2])
            expected[1].decode("utf-8")
            for variables in ({"LC_ALL": "C"}, {"LANG": "C", "TERM": "dumb"}, {"LC_ALL": "xx_YY.nonsense"}, {"NO_COLOR": "1"},
                              {"TERM": "xterm-256color"}, {"TERM": ""}, {"COLUMNS": "-3"}, {"COLUMNS": "9" * 30}):
                with self.subTest(words=words, variables=variables):
                    self.assertEqual(finish(words, variables=variables), expected)

    def test_needs_no_descriptor(self):
        for words in READING:
            line = " ".join(of_results(words, "r"))
            for closed in "<&-", "<&- >&-", "<&- 2>&-", "<&- >&- 2>&-":
                done = subprocess.run(["sh", "-c", f"{line} {closed}"], cwd=FOLDER, env=environment(), capture_output=True,
                                      timeout=60, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, b""), (words, closed))
                self.assertEqual(done.stdout == b"", ">&-" in closed.replace("2>&-", ""), (words, closed))

    def test_keeps_to_known_escapes_on_forty_columns_and_to_none_without_colour(self):
        for words in READING:
            for variables in {}, {"NO_COLOR": "1"}, {"TERM": "dumb"}:
                with self.subTest(words=words, variables=variables):
                    run = TerminalRun(of_results(words, "r"), 40, 20, FOLDER, XDG_CACHE_HOME=os.path.join(FOLDER, "cache"),
                                      **variables)
                    self.assertEqual(run.ended(), 0)
                    self.assertIn("naps" if words[0] in ("status", "plan", "table") else "sleep-s0" if words[0] != "verify"
                                  else "as written", "\n".join(run.screen.everything()))
                    if variables:
                        self.assertNotIn(b"\x1b", run.raw)


class ClosedPipe(SmallSweep):
    def unread(self, words, **more):
        """How a program ends whose stdout nobody reads, and what it says."""
        reader, writer = os.pipe()
        os.close(reader)
        process = start(words, stdout=writer, stderr=subprocess.PIPE, **more)
        os.close(writer)
        err = process.communicate(timeout=60)[1]
        return process.returncode, err.decode()

    def test_ends_a_command_as_other_tools_end(self):
        for words in TALKING:
            with self.subTest(words=words):
                self.assertEqual(self.unread(words), (-signal.SIGPIPE, ""))

    def test_is_said_in_one_line_where_the_signal_is_ignored(self):
        for words in TALKING:
            with self.subTest(words=words):
                code, err = self.unread(words, restore_signals=False)  # Python ignores it, and so does its child
                self.assertEqual((code, err), (3, "error: stdout cannot be written (is its disk full?)\n"))

    def test_gives_the_first_lines_to_who_wants_no_more(self):
        for words, first in ((["list"], b"trial "), (["metrics", "--list"], b"retort_"), (["report", "--out", "-"], b"<!doctype ")):
            process = start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertTrue(process.stdout.read(10).startswith(first[:10]))
            process.stdout.close()
            err = process.stderr.read()
            process.stderr.close()
            self.assertIn(process.wait(60), (0, -signal.SIGPIPE))
            self.assertEqual(err, b"")

    def test_report_goes_to_stdout_by_either_name_and_leaves_no_file(self):
        before = sorted(os.listdir(FOLDER))
        for name in "-", "/dev/stdout":
            code, out, err = finish(["report", "--out", name])
            self.assertEqual((code, err), (0, b""))
            self.assertTrue(out.startswith(b"<!doctype html>") and out.rstrip().endswith(b"</html>"))
            code, out, err = finish(["report", "--json", "--out", name])
            self.assertEqual(code, 2, err)
            self.assertIn("--json", json.loads(out)["errors"][0]["message"])
        self.assertEqual(sorted(os.listdir(FOLDER)), before)


class TenThousandTrials(unittest.TestCase):
    SECONDS = 5.0  # of one core

    @classmethod
    def setUpClass(cls):
        write("many.toml", SWEEP.format(name="many", seeds=list(range(10_000))))

    def quick(self, words, results):
        """What a command says; it takes little time."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        code, out, err = finish(words, results)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertEqual(code, 0, err)
        self.assertLess(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, self.SECONDS, words)
        return out.decode()

    def test_are_shown_in_seconds_and_few_lines(self):
        plan = self.quick(["plan", "many.toml"], "many")
        self.assertIn("Trials: 10,000, of which 10,000 to run", plan)
        self.assertLess(plan.count("\n"), 100)
        code, _, err = run_sweep("many.toml", "sweep.quota={ trials = 3 }", results="many")
        self.assertEqual(code, 1, err)
        status = self.quick(["status"], "many")
        self.assertIn("Trials: 10000, 9997 queued, 3 succeeded", status)
        self.assertLess(status.count("\n"), 30)
        listed = self.quick(["list"], "many")
        self.assertEqual(listed.count("\n"), 10_003)
        self.assertTrue(listed.endswith("\n10000 trials\n"))
        self.assertEqual(self.quick(["list", "--where", "state=succeeded"], "many").count("\n"), 6)
        table = self.quick(["table", "many.toml"], "many")
        self.assertIn("0 of 10000", table)
        self.assertNotIn("failed", table)
        self.assertLess(table.count("\n"), 30)
        page = os.path.join(FOLDER, "many.html")
        self.quick(["report", "--out", page], "many")
        self.assertLess(os.path.getsize(page), 20_000_000)
        self.quick(["verify"], "many")
        self.quick(["show", "sleep-s9999"], "many")

    def test_that_wait_for_another_attempt_are_counted_and_not_all_told(self):
        code, _, err = run_sweep("many.toml", "sweep.quota={ trials = 1 }", results="waits")
        self.assertEqual(code, 1, err)
        trials = json.loads(finish(["list", "--json"], "waits")[1])["trials"]
        now = time.time()
        with open(os.path.join(FOLDER, "waits", "journal.log"), "ab") as journal:
            for number, trial in enumerate(trials[1:81]):
                attempt = {"at": now, "trial": trial["trial"], "attempt": 1}
                journal.write(json_record(ATTEMPT_LEASED, {**attempt, "generation": 100 + number, "members": [[0, 0]]}))
                journal.write(json_record(ATTEMPT_ENDED, {
                    **attempt, "succeeded": False, "for_good": False, "failure": "worker_crash", "detail": "", "metrics": [],
                    "timings": [], "parameters_digest": "", "file": "", "retry_at": now + 50}))
        status = self.quick(["status"], "waits")
        self.assertEqual(len(re.findall(r"tried again in \d+ s\n", status)), 20, status)
        self.assertIn("  and 60 more that wait for another attempt (`retort list` shows all)\n", status)


if __name__ == "__main__":
    OPTIONS = parse_options("retort")
    OPTIONS.retort = os.path.abspath(OPTIONS.retort)
    FOLDER = tempfile.mkdtemp(prefix="retort-harsh-")
    sys.exit(run_tests(FOLDER))
