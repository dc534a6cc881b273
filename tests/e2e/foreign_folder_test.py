"""Results folders that are not as a run leaves them: of other clocks, copied while they were written, of other versions.

usage: foreign_folder_test.py --retort PROGRAM --source DIR
"""
import fcntl
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from packed_journal import JournalReader  # noqa: E402
from record_log import JOURNAL, LEDGER, at_time, change_journal, header, json_record, record, records, time_of  # noqa: E402
from sweep_run import SMALL_DIGITS, parse_options, run_tests, wait_for  # noqa: E402

OPTIONS = None
FOLDER = None
YEAR = 3.15e7   # seconds

NAPS = """
retort = 1
[trial]
method = "sleep"
steps = 2
seconds = {seconds}
[sweep]
name = "naps"
seeds = {seeds}
"""
DIGITS = SMALL_DIGITS + """
checkpoint_every = "50ms"
[sweep]
name = "digits"
seeds = [0, 1, 2]
zip.row = [{{ method = "dpsgd", steps = 30 }}]
"""
CRASH = "terminate called|Assertion|what\\(\\)|Traceback|Segmentation"


def environment():
    return {**os.environ, "XDG_CACHE_HOME": os.path.join(FOLDER, "cache")}


def retort(*words, results):
    return subprocess.run([OPTIONS.retort, *words, "--results", results], cwd=FOLDER, env=environment(), capture_output=True,
                          text=True, timeout=60, check=False)


def start(sweep, results):
    return subprocess.Popen([OPTIONS.retort, "run", sweep, "--results", results, "--slots", "2", "--metrics-listen",
                             "127.0.0.1:0"], cwd=FOLDER, env=environment(), stderr=subprocess.DEVNULL)


def write(name, text):
    with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as file:
        file.write(text)


def path(*names):
    return os.path.join(FOLDER, *names)


def cut(name, last):
    with open(name, "r+b") as file:
        file.truncate(os.path.getsize(name) - last)


class Folders(unittest.TestCase):
    def copy(self, source):
        name = self.id().rsplit(".", 1)[1] + "." + source
        shutil.rmtree(path(name), ignore_errors=True)
        shutil.copytree(path(source), path(name))
        return name

    def text(self, *words, results, codes=(0,)):
        done = retort(*words, results=results)
        self.assertIn(done.returncode, codes, (words, done.stderr, done.stdout))
        self.assertNotRegex(done.stderr, CRASH)
        return done.stdout


class Clocks(Folders):
    """`ended` has finished; `stopped` was killed when one trial of three had ended, and others ran."""

    @classmethod
    def setUpClass(cls):
        write("short.toml", NAPS.format(seconds=0.01, seeds=[0, 1, 2]))
        write("long.toml", NAPS.format(seconds=0.8, seeds=[0, 1, 2]))
        assert start("short.toml", "ended").wait(60) == 0
        run = start("long.toml", "stopped")
        wait_for(lambda: "1 succeeded" in retort("status", results="stopped").stdout or
                 "2 succeeded" in retort("status", results="stopped").stdout, "a trial")
        run.kill()
        run.wait()

    def report(self, results):
        page = path("page.html")
        self.text("report", "--out", page, results=results)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        section = text[text.index('id="timings"'):]
        return re.sub("<[^>]*>", " ", section[:section.index("</section>")])

    def expect_sane(self, results):
        """No time is negative, and none is longer than the runs can have been."""
        told = [self.text(*words, results=results)
                for words in (["status"], ["explain", "sleep-s0"], ["show", "sleep-s2"], ["table", "long.toml"], ["list"])]
        told.append(self.report(results))
        for text in told:
            text = re.sub(r"lies [^\n]* in the future", "", text)
            self.assertNotRegex(text, r"(^|[ (~])[-−]\d|nan|\binf\b|\d (h|min)\b")
        wall, hours = re.search(r"took ([0-9.]+) s of wall clock and ([0-9.]+) device-hours", told[-1]).groups()
        self.assertLess(float(wall), 30)
        self.assertLess(float(hours), 0.01)
        left = json.loads(self.text("status", "--json", results=results))["eta_seconds"]
        self.assertTrue(left is None or 0 <= left["low"] <= left["high"] < 60, left)
        return told[0]

    def expect_goes_on(self, results):
        self.assertEqual(start("short.toml" if "ended" in results else "long.toml", results).wait(60), 0)
        self.assertIn("3 succeeded", self.text("status", results=results))
        self.assertIn("3 rows, 0 attempt files, 0 checkpoints, 0 ledger entries: all as written",
                      self.text("verify", results=results))
        self.report(results)

    def changed(self, source, change):
        """A copy whose events have other times: change(index, time)."""
        name = self.copy(source)
        change_journal(path(name, "journal.log"), lambda i, kind, payload: at_time(payload, change(i, time_of(payload))))
        return name

    def test_journal_from_the_future_is_told_as_of_its_end(self):
        for source in "ended", "stopped":
            results = self.changed(source, lambda i, at: at + 10 * YEAR)
            self.assertRegex(self.expect_sane(results), r"the newest event lies 36\d\d d [^\n]*in the future of this\s+machine's clock")
            self.expect_goes_on(results)

    def test_journal_whose_times_go_back_takes_no_time(self):
        now = time.time()
        for source in "ended", "stopped":
            results = self.changed(source, lambda i, at: now - 100 * i)
            self.expect_sane(results)
            self.expect_goes_on(results)

    def test_clock_put_back_costs_no_device_hours(self):
        for source in "ended", "stopped":
            with open(path(source, "journal.log"), "rb") as file:
                half = len(records(file.read())) // 2
            results = self.changed(source, lambda i, at: at - (1e5 if i > half else 0))
            self.expect_sane(results)
            self.expect_goes_on(results)

    def test_times_of_files_do_not_matter(self):
        results = self.copy("stopped")
        before = [retort(*words, results=results).stdout for words in (["status"], ["list"], ["verify"])]
        for parent, _, names in os.walk(path(results)):
            for name in names:
                os.utime(os.path.join(parent, name), (time.time() + YEAR,) * 2)
        self.assertEqual([retort(*words, results=results).stdout for words in (["status"], ["list"], ["verify"])], before)
        self.expect_sane(results)
        self.expect_goes_on(results)

    def test_run_whose_clock_is_ahead_is_not_late(self):
        results = self.changed("stopped", lambda i, at: at + 0.01 * YEAR)
        with open(path(results, "lock"), "a", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)    # as who runs it holds it
            status = self.expect_sane(results)
        self.assertIn("running", status)
        self.assertNotIn("has written nothing", status)
        self.assertNotIn(" ago", status)


class CopiedWhileWritten(Folders):
    @classmethod
    def setUpClass(cls):
        write("digits.toml", DIGITS.format(source=OPTIONS.source))
        run = start("digits.toml", "whole")
        cls.copies = []
        while run.poll() is None:
            time.sleep(0.2)
            if os.path.exists(path("whole", "journal.log")):
                cls.copies.append(f"copy{len(cls.copies)}")
                subprocess.run(["cp", "-r", path("whole"), path(cls.copies[-1])], check=False, stderr=subprocess.DEVNULL)
        assert run.returncode == 0
        cls.attempt = glob.glob(path("whole", "trials/*-s0-*/attempt-1"))[0][len(path("whole")) + 1:]

    def read_all(self, results, report=(0,), verify=(0,)):
        """What the commands say: status, list, show, table, report's warnings, verify."""
        told = {words[0]: self.text(*words, results=results)
                for words in (["status"], ["list"], ["show", "dpsgd-digits-s0"], ["table", "digits.toml"])}
        done = retort("report", "--out", path(results + ".html"), results=results)
        self.assertIn(done.returncode, report, done.stderr)
        self.assertNotRegex(done.stderr, CRASH)
        return {**told, "report": done.stderr, "verify": self.text("verify", results=results, codes=verify)}

    def test_copies_at_any_moment_are_read(self):
        self.assertGreater(len(self.copies), 2)
        for results in self.copies[::1 + len(self.copies) // 16]:    # a busy machine gives a hundred
            with self.subTest(results=results):
                for words in ["status"], ["list"], ["table", "digits.toml"]:
                    self.text(*words, results=results)
                # A file may have come, or gone, between the journal's copy and its own.
                self.text("report", "--out", path("page.html"), results=results, codes=(0, 1))
                self.text("verify", results=results, codes=(0, 1))

    def test_torn_journal_loses_its_last_record(self):
        results = self.copy("whole")
        cut(path(results, "journal.log"), 11)
        self.assertRegex(self.read_all(results)["verify"], r"note: journal\.log ends in \d+ bytes of an unfinished record")
        self.assertEqual(start("digits.toml", results).wait(60), 0)
        self.assertRegex(self.text("verify", results=results), " 3 rows, 3 attempt files, [^\n]*: all as written\n$")

    def test_missing_attempt_is_named_by_all(self):
        results = self.copy("whole")
        lost = self.attempt + "/attempt.h5"
        os.remove(path(results, lost))
        told = self.read_all(results, report=(1,), verify=(1,))
        self.assertIn("Trials: 3, 3 succeeded", told["status"])
        self.assertIn(f"missing  {lost}: the row names it", told["show"])
        self.assertEqual(json.loads(self.text("show", "dpsgd-digits-s0", "--json", results=results))["missing_file"], lost)
        self.assertRegex(told["report"], f"^warning: dpsgd-digits-s0-[^\n]*{lost}': No such file")
        self.assertIn(f"damage: {lost}: is missing", told["verify"])

    def test_half_attempt_is_named(self):
        results = self.copy("whole")
        cut(path(results, self.attempt, "attempt.h5"), 1000)
        told = self.read_all(results, report=(1,), verify=(1,))
        for text in told["report"], told["verify"]:
            self.assertIn("does not end in its seal: it was cut short or changed", re.sub(r"\s+", " ", text))

    def test_half_files_under_temporary_names_are_nothing(self):
        results = self.copy("whole")
        before = self.read_all(results)
        for name in "results.h5.tmp", "sweep.toml.tmp", self.attempt + "/attempt.h5.tmp":
            write(os.path.join(results, name), "half")
        after = self.read_all(results)
        for name in "status", "list", "table", "verify", "report":
            self.assertEqual(after[name], before[name])

    def test_empty_journal_is_no_finished_sweep(self):
        results = self.copy("whole")
        cut(path(results, "journal.log"), os.path.getsize(path(results, "journal.log")))
        status = self.text("status", results=results)
        self.assertIn(f"No sweep is recorded in {results}: its journal.log is empty\n", status)
        self.assertNotIn(": finished", status)
        self.assertIn("Next: restore journal.log from a copy\n", status)
        lost = r"journal\.log is empty, and ledger\.log holds 3 reservations of trials that it must have known"
        self.assertRegex(re.sub(r"\s+", " ", status), lost)
        self.assertFalse(json.loads(self.text("status", "--json", results=results))["finished"])
        self.assertRegex(re.sub(r"\s+", " ", self.text("verify", results=results, codes=(1,))), "damage: journal.log: " + lost)
        os.remove(path(results, "ledger.log"))
        shutil.rmtree(path(results, "trials"))
        self.assertEqual(start("digits.toml", results).wait(60), 0, "as of a run that was killed in its first moment")

    def test_journal_before_its_plan_is_not_finished(self):
        results = self.copy("whole")
        journal = path(results, "journal.log")
        with open(journal, "rb") as file:
            first = records(file.read())[0][1]
        cut(journal, os.path.getsize(journal) - len(header() + record(1, first)))
        status = self.text("status", results=results)
        self.assertRegex(status, f"^Sweep [a-z]+ in {re.escape(results)}: stopped\n")
        self.assertIn("Next: restore journal.log from a copy\n", status)
        self.assertIn("journal.log ends before its plan, and ledger.log holds 3 reservations", re.sub(r"\s+", " ", status))
        os.remove(path(results, "ledger.log"))
        status = self.text("status", results=results)
        self.assertRegex(status, f"^Sweep [a-z]+ in {re.escape(results)}: stopped\n")
        self.assertRegex(status, "Next: retort run [^\n]+\n$")
        self.assertNotIn("Time left: about", status)


class OtherVersions(Folders):
    @classmethod
    def setUpClass(cls):
        write("short.toml", NAPS.format(seconds=0.01, seeds=[0, 1]))
        assert start("short.toml", "now").wait(60) == 0

    def test_folder_of_format_1_is_read_and_goes_on(self):
        results, reader = self.copy("now"), JournalReader()
        os.remove(path(results, "results.h5"))
        with open(path(results, "journal.log"), "rb") as file:
            events = [(kind, reader.event(kind, payload)) for kind, payload in records(file.read())]
        self.assertEqual((events[0][0], events[0][1]["format_version"]), (1, 2))
        events[0][1]["format_version"] = 1
        with open(path(results, "journal.log"), "wb") as file:
            file.write(header(JOURNAL) + b"".join(json_record(kind, event) for kind, event in events))
        for words in (["status"], ["list"], ["list", "--json"], ["show", "sleep-s1"], ["table", "short.toml"]):
            self.assertEqual(self.text(*words, results=results), self.text(*words, results="now").replace("now", results))
        self.assertIn("damage: results.h5: is missing", self.text("verify", results=results, codes=(1,)))
        write("more.toml", NAPS.format(seconds=0.01, seeds=[0, 1, 2]))
        self.assertEqual(start("more.toml", results).wait(60), 0)
        self.assertIn("3 rows", self.text("verify", results=results))

    def expect_refused(self, results, message):
        for words in (["status"], ["list"], ["show", "sleep-s0"], ["table", "short.toml"], ["report"], ["verify"], ["repair"],
                      ["run", "short.toml"], ["plan", "short.toml"], ["retry", "--failed"]):
            done = retort(*words, results=results)
            self.assertEqual((done.returncode, done.stdout), (2, ""), (words, done.stderr))
            self.assertRegex(done.stderr, "(?m)^error: [^\n]*" + message)
        done = retort("verify", "--json", results=results)
        self.assertRegex(json.loads(done.stdout)["errors"][0]["message"], message)

    def test_folder_of_a_later_format_is_refused(self):
        results = self.copy("now")

        def later(index, kind, payload):
            return json.dumps({**json.loads(payload), "format_version": 9}).encode() if kind == 1 else payload
        change_journal(path(results, "journal.log"), later)
        before = os.listdir(path(results))
        self.expect_refused(results, "the results folder has format 9, this retort reads formats up to 2: use the retort that wrote it")
        self.assertEqual(os.listdir(path(results)), before)

    def test_log_of_a_later_format_is_refused(self):
        for kind, name in (JOURNAL, "journal.log"), (LEDGER, "ledger.log"):
            results = self.copy("now")
            with open(path(results, name), "r+b") as file:
                file.write(header(kind, version=7))
            self.expect_refused(results, f"/{name}' has log format version 7; this retort reads version 1")


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    OPTIONS.retort = os.path.abspath(OPTIONS.retort)
    FOLDER = tempfile.mkdtemp(prefix="retort-foreign-")
    sys.exit(run_tests(FOLDER))
