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


def wide_prose(lines, width):
    """The lines that are wider, but those of a table, a command that can be pasted, or a word that cannot be broken."""
    in_table, found = False, []
    for line, below in zip(lines, [*lines[1:], ""]):
        rule = below.strip("─ ") == "" != below.strip()
        in_table = (in_table or rule) and line.strip() != ""
        command = re.match(r" *(Next: )?retort ", line) or "`" in line
        if len(line) > width and not in_table and not command and " " in line.strip():
            found.append(line)
    return found


class SmallSweep(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        write("naps.toml", SWEEP.format(name="naps", seeds=[0, 1, 2]))
        code, _, err = run_sweep("naps.toml")
        assert code == 0, err


class Output(SmallSweep):
    def test_is_the_same_in_every_environment(self):
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

    def on_forty_columns(self, words, **variables):
        """A command that has ended on a terminal, and the lines that it wrote there, each as one."""
        run = TerminalRun(of_results(words, "r"), 40, 20, FOLDER, XDG_CACHE_HOME=os.path.join(FOLDER, "cache"), **variables)
        run.ended()
        return run, re.sub(r"\x1b\[[0-9]*m", "", run.raw.decode()).replace("\r\n", "\n").split("\n")

    def test_keeps_to_known_escapes_on_forty_columns(self):
        for words in READING:
            for variables in {}, {"NO_COLOR": "1"}, {"TERM": "dumb"}:
                with self.subTest(words=words, variables=variables):
                    run, lines = self.on_forty_columns(words, **variables)
                    self.assertEqual(run.status, 0)
                    self.assertIn("naps" if words[0] in ("status", "plan", "table") else "sleep-s0" if words[0] != "verify"
                                  else "as written", " ".join(" ".join(lines).split()))
                    self.assertEqual(wide_prose(lines, 40), [])
                    if variables:
                        self.assertNotIn(b"\x1b", run.raw)

    def test_that_explains_keeps_to_forty_columns(self):
        votes = ["votes", "--noise", "100", "--queries", "5000", "--delta", "1e-5"]
        for words, code, says in ((["--help"], 0, "Exit codes:"), (["run", "--help"], 0, "--metrics-listen"),
                                  (["epsilon", *votes, "--explain"], 0, "exact-gdp"), (["epsilon", "--papers"], 0, "DPSD"),
                                  (["metrics", "--list"], 0, "retort_build_info"), (["audit", "--help"], 0, "transcript"),
                                  (["repair"], 0, "nothing to repair"), (["doctor"], (0, 3), "file locks")):
            with self.subTest(words=words):
                run, lines = self.on_forty_columns(words)
                self.assertIn(run.status, code if isinstance(code, tuple) else (code,))
                self.assertIn(says, " ".join(" ".join(lines).split()))
                self.assertEqual(wide_prose(lines, 40), [])

    def test_help_is_the_same_wherever_it_is_no_terminal(self):
        for words in ["--help"], ["run", "--help"]:
            expected = finish(words)
            self.assertEqual(expected[0], 0)
            self.assertEqual(finish(words, variables={"COLUMNS": "40"}), expected)
            self.assertGreater(max(map(len, expected[1].decode().splitlines())), 100)


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

    def test_is_said_in_one_line_if_the_signal_is_ignored(self):
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

    def test_report_goes_to_stdout_and_leaves_no_file(self):
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
    SECONDS = 20.0  # of one core of a loaded machine; a walk over all pairs of trials takes minutes

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

    def planned(self, results):
        """The trials of a sweep of which only the first was run."""
        code, _, err = run_sweep("many.toml", "sweep.quota={ trials = 1 }", results=results)
        self.assertEqual(code, 1, err)
        return json.loads(finish(["list", "--json"], results)[1])["trials"]

    def fail_attempts(self, results, trials, detail, retry_at=0.0):
        """Writes down that an attempt of each ended with a crash, for good where nobody retries; `detail` is of its number."""
        now = time.time()
        with open(os.path.join(FOLDER, results, "journal.log"), "ab") as journal:
            for number, trial in enumerate(trials):
                attempt = {"at": now, "trial": trial["trial"], "attempt": 1}
                journal.write(json_record(ATTEMPT_LEASED, {**attempt, "generation": 100 + number, "members": [[0, 0]]}))
                journal.write(json_record(ATTEMPT_ENDED, {
                    **attempt, "succeeded": False, "for_good": not retry_at, "failure": "worker_crash",
                    "detail": detail(number), "metrics": [], "timings": [], "parameters_digest": "", "file": "",
                    "retry_at": retry_at}))

    def report_of(self, results):
        """The page, which is small."""
        page = os.path.join(FOLDER, results + ".html")
        self.quick(["report", "--out", page], results)
        self.assertLess(os.path.getsize(page), 20_000_000)
        with open(page, encoding="utf-8") as file:
            return file.read()

    def expect_few_lines(self, results, counts):
        """Of a sweep that is over. Returns what status says."""
        status = self.quick(["status"], results)
        self.assertIn(f"Trials: 10000, {counts}\n", status)
        self.assertLess(status.count("\n"), 30, status)
        listed = self.quick(["list"], results)
        self.assertEqual(listed.count("\n"), 10_003)
        table = self.quick(["table", "many.toml"], results)
        self.assertLess(table.count("\n"), 30, table)
        return status

    def test_that_all_succeeded_are_shown_in_few_lines(self):
        code, _, err = run_sweep("many.toml", results="succeeded")
        self.assertEqual(code, 0, err)
        self.assertNotIn("Problems", self.expect_few_lines("succeeded", "10000 succeeded"))
        self.report_of("succeeded")
        self.quick(["verify"], "succeeded")

    def test_that_failed_alike_are_told_as_one(self):
        trials = self.planned("alike")
        self.fail_attempts("alike", trials[1:], lambda number: f"Worker process {number} was killed by SIGSEGV. " + "word " * 400)
        status = self.expect_few_lines("alike", "1 succeeded, 9999 failed")
        first = trials[1]["name"]
        self.assertIn(f"  1. 9999 trials failed: worker_crash (Worker process 0 was killed by SIGSEGV), first {first}\n"
                      f"     retort explain {first} --results alike\n", status)
        self.assertNotIn("  2. ", status)
        self.assertIn("word " * 400, self.quick(["explain", first, "--json"], "alike"))
        page = self.report_of("alike")
        self.assertIn("9999 trials failed: worker_crash", page)
        self.assertIn("9,959 more: <code>retort list --where state=failed --results alike</code>", page)

    def test_that_failed_each_in_its_way_are_few_lines_too(self):
        trials = self.planned("apart")
        letters = str.maketrans("0123456789", "abcdefghij")
        self.fail_attempts("apart", trials[1:], lambda number: f"Of {number} ".translate(letters) + "word " * 400)
        self.assertIn("  and 9992 more (--json lists all)\n", self.expect_few_lines("apart", "1 succeeded, 9999 failed"))
        self.assertIn("9,799 more: ", self.report_of("apart"))

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
        self.report_of("many")
        self.quick(["verify"], "many")
        self.quick(["show", "sleep-s9999"], "many")

    def test_that_wait_for_another_attempt_are_counted(self):
        trials = self.planned("waits")
        self.fail_attempts("waits", trials[1:81], lambda number: "", retry_at=time.time() + 50)
        status = self.quick(["status"], "waits")
        self.assertEqual(len(re.findall(r"tried again in \d+ s\n", status)), 20, status)
        self.assertIn("  and 60 more that wait for another attempt (`retort list --results waits` shows all)\n", status)


if __name__ == "__main__":
    OPTIONS = parse_options("retort")
    OPTIONS.retort = os.path.abspath(OPTIONS.retort)
    FOLDER = tempfile.mkdtemp(prefix="retort-harsh-")
    sys.exit(run_tests(FOLDER))
