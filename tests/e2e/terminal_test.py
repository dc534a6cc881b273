"""What a person sees of `retort run` and `retort status --watch`: on terminals of several kinds, and where there is none.

usage: terminal_test.py --retort PROGRAM
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import parse_options, run_tests  # noqa: E402
from terminal import TerminalRun  # noqa: E402

OPTIONS = None
FOLDER = None

SWEEP = """
retort = 1
[trial]
method = "sleep"
steps = 20
seconds = 0.7
[sweep]
name = "naps"
seeds = [0, 1, 2, 3]
"""
# Says what went wrong, with colours and a bell, and dies.
BAD_WORKER = r"""#!/bin/sh
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "line $i of what went wrong" >&2; done
printf 'the \033[31mlast\033[0m\aword\n' >&2
kill -SEGV $$
"""
STAMP = re.compile(r"\d\d:\d\d:\d\d ")
COLOUR = re.compile(rb"\x1b\[[0-9;]+m")
COUNTS = re.compile(r"(\d)/4 done")


class TerminalTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=FOLDER)
        self.write("naps.toml", SWEEP)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        return os.path.join(self.folder, name)

    def bad_worker(self):
        path = self.write("worker", BAD_WORKER)
        os.chmod(path, 0o755)
        return {"RETORT_WORKER": path}

    def command(self, *words):
        return [OPTIONS.retort, *words, "--results", "r"]

    def run_command(self, *words):
        return self.command("run", "naps.toml", *words, "--slots", "2", "--metrics-listen", "127.0.0.1:0")

    def environment(self, **variables):
        return {"XDG_CACHE_HOME": os.path.join(FOLDER, "cache"), **variables}

    def on_terminal(self, command, width=100, height=30, **variables):
        return TerminalRun(command, width, height, self.folder, **self.environment(**variables))

    def without(self, command, **more):
        return subprocess.Popen(command, cwd=self.folder, text=True, env={**os.environ, **self.environment()}, **more)

    def blocks(self, run):
        """The frames in which the block stood."""
        return [frame for frame in run.frames if any(COUNTS.search(line) for line in frame)]

    def expect_erased(self, run):
        text = "\n".join(run.screen.everything())
        self.assertNotRegex(text, "[█░]|/4 done|next, in")
        self.assertFalse(run.screen.hidden, "the cursor")
        return text


class LiveRun(TerminalTest):
    def test_block_shows_what_runs_and_goes_at_the_end(self):
        run = self.on_terminal(self.run_command(), width=200)
        self.assertEqual(run.ended(), 0)
        blocks = self.blocks(run)
        seen = ["\n".join(frame) for frame in blocks]
        self.assertTrue(any(re.search(r"sleep-s\d +sleep +\d+/20 [█░]{20}", text) for text in seen))
        self.assertTrue(any("2 running" in text for text in seen), seen)
        self.assertTrue(any(re.search(r"next, in ~\d s: sleep-s\d ends", text) for text in seen), seen)
        self.assertTrue(any(re.search(r"~\d+ s left", text) for text in seen), seen)
        counted = [int(COUNTS.search(text)[1]) for text in seen]
        self.assertEqual(counted, sorted(counted))
        for frame in blocks:
            self.assertEqual(sum(bool(COUNTS.search(line)) for line in frame), 1, "drawn once: " + "\n".join(frame))
        self.assertEqual(run.screen.wrapped, [])
        text = self.expect_erased(run)
        for seed in range(4):
            self.assertEqual(text.count(f"sleep-s{seed}: done"), 1, text)
        self.assertRegex(text, r"4 of 4 trials succeeded")
        self.assertRegex(text, r"next: retort table naps\.toml --results r\n*$")

    def test_forty_columns_break_no_line_of_the_block(self):
        for code, variables in (0, {}), (1, self.bad_worker()):
            run = self.on_terminal(self.run_command(f"sweep.seeds=[{code},2,3,4]"), width=40, height=12, **variables)
            self.assertEqual(run.ended(), code)
            self.assertTrue(self.blocks(run))
            for line in run.screen.wrapped:
                self.assertRegex(line, "^(" + STAMP.pattern + "|next: |    the last lines)", "only what is said once may be longer")
            self.expect_erased(run)
        cut = [line for frame in self.blocks(run) for line in frame if line.startswith("again") and line.endswith("…")]
        self.assertEqual({len(line) for line in cut}, {39}, "as long as the screen is wide, but for its last column")

    def test_resized_terminal_shows_one_block(self):
        run = self.on_terminal(self.run_command("trial.seconds=2"))
        run.until(lambda r: any("2/4 done" in line for line in r.screen.visible()), "two trials, and a block below")
        run.resize(40, 20)
        begun = len(run.frames)
        run.until(lambda r: len(r.frames) > begun + 1, "a block for forty columns")
        run.resize(120, 20)
        self.assertEqual(run.ended(), 0)
        for frame in run.frames[begun + 1:]:
            self.assertLessEqual(sum(bool(COUNTS.search(line)) for line in frame), 1, "\n".join(frame))
        text = self.expect_erased(run)
        for seed in range(4):
            self.assertEqual(text.count(f"sleep-s{seed}: done"), 1, text)

    def test_failure_shows_its_log_and_what_to_do(self):
        run = self.on_terminal(self.run_command("sweep.seeds=[0,1]"), **self.bad_worker())
        self.assertEqual(run.ended(), 1)
        text = self.expect_erased(run)
        self.assertRegex(text, r"sleep-s\d: attempt 2 ended: worker_crash: [^\n]*(\n[^\n]*)?(\n[^\n]*)?not tried again")
        self.assertRegex(text, r"the last lines of [^ ]*workers/rank0-slot\d\.log:\n      line 4 of what went wrong\n")
        self.assertEqual(text.count("      the last word\n"), 2, text)
        self.assertNotIn("      line 3 of what went wrong\n", text)
        self.assertRegex(text, "next: `retort status --results r` names the causes; then `retort retry --failed --results r`")
        self.assertIn(b"\x1b[31m", run.raw, "failures are red")
        self.assertNotIn(b"\a", run.raw)

    def test_no_color_has_no_colour(self):
        for words, variables in ([], {"NO_COLOR": "1"}), (["--no-color"], {}):
            self.setUp()
            run = self.on_terminal(self.run_command("sweep.seeds=[0,1]", *words), **self.bad_worker(), **variables)
            self.assertEqual(run.ended(), 1)
            self.assertIsNone(COLOUR.search(run.raw))
            self.assertIn(b"\x1b[?25l", run.raw, "but the block is redrawn")

    def test_ctrl_c_saves_and_says_how_to_go_on(self):
        run = self.on_terminal(self.run_command("trial.seconds=30"))
        run.until(lambda r: "2 running" in "\n".join(r.screen.visible()), "two trials")
        run.press(b"\x03")
        self.assertEqual(run.ended(), 75)
        text = self.expect_erased(run)
        self.assertIn("SIGINT: saving and stopping", text)
        self.assertIn("next: run the same command again; it goes on where it stopped", text)

    def test_terminal_without_utf8_gets_ascii(self):
        run = self.on_terminal(self.run_command(), LC_ALL="C")
        self.assertEqual(run.ended(), 0)
        self.assertTrue(self.blocks(run))
        self.assertTrue(run.raw.isascii())


class PlainRun(TerminalTest):
    def expect_plain(self, text):
        self.assertNotIn("\x1b", text)
        lines = text.replace("\r\n", "\n").splitlines()
        for line in lines[:-1]:
            self.assertRegex(line, "^" + STAMP.pattern)
        self.assertTrue(any("0 of 4 trials done, 2 running" in line for line in lines), text)
        self.assertEqual(sum("sleep-s0: done" in line for line in lines), 1)
        self.assertEqual(lines[-1], "next: retort table naps.toml --results r")

    def test_file_or_pipe_gets_lines(self):
        run = self.without(self.run_command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = run.communicate(timeout=60)
        self.assertEqual((run.returncode, out), (0, ""))
        self.assertNotIn("\r", err)
        self.expect_plain(err)

    def test_dumb_terminal_gets_lines(self):
        run = self.on_terminal(self.run_command(), width=200, TERM="dumb")
        self.assertEqual(run.ended(), 0)
        self.expect_plain(run.raw.decode())

    def test_reader_who_leaves_changes_nothing(self):
        run = self.without(self.run_command(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.assertRegex(run.stderr.readline(), "sweep naps: 4 trials")
        run.stderr.close()
        self.assertEqual(run.wait(60), 0)
        status = subprocess.run(self.command("status"), cwd=self.folder, capture_output=True, text=True, check=True)
        self.assertIn("4 succeeded", status.stdout)

    def test_without_any_descriptor_results_stay_whole(self):
        words = " ".join(self.run_command())
        self.assertEqual(self.without(["sh", "-c", f"{words} <&- >&- 2>&-"]).wait(60), 0)
        for parent, _, files in os.walk(os.path.join(self.folder, "r")):
            for name in files:
                with open(os.path.join(parent, name), "rb") as file:
                    self.assertNotIn(b"sweep naps: ", file.read(), name)


class Watch(TerminalTest):
    def watch(self):
        return self.command("status", "--watch")

    def test_waits_for_the_run_shows_it_and_ends_with_it(self):
        watch = self.on_terminal(self.watch(), width=60)
        watch.until(lambda w: "waiting: r holds no sweep" in " ".join(w.screen.visible()), "the waiting")
        run = self.without(self.run_command("trial.seconds=2"), stderr=subprocess.DEVNULL)
        watch.until(lambda w: self.blocks(w), "a block")
        self.assertEqual(watch.ended(), 0)
        self.assertEqual(run.wait(60), 0)
        text = self.expect_erased(watch)
        self.assertIn("2 running", "\n".join(self.blocks(watch)[0]))
        self.assertIn("sweep naps has ended: 4 of 4 trials succeeded", text)
        self.assertRegex(text, r"Next: retort list --results r\n*$")

    def test_ctrl_c_leaves_the_run_alone(self):
        run = self.without(self.run_command("trial.seconds=3"), stderr=subprocess.DEVNULL)
        watch = self.on_terminal(self.watch())
        watch.until(self.blocks, "a block").press(b"\x03")
        self.assertEqual(watch.ended(), 130)
        self.assertFalse(watch.screen.hidden)
        self.assertEqual(run.wait(60), 0)

    def test_pipe_gets_the_status_when_it_changed(self):
        run = self.without(self.run_command("trial.seconds=8"), stderr=subprocess.DEVNULL)
        watch = self.without(self.watch(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        first = watch.stdout.readline()
        self.assertRegex(first, "^Sweep naps in r: running")
        while "2 running" not in watch.stdout.readline():
            self.assertIsNone(watch.poll())
        watch.stdout.close()
        self.assertEqual(watch.wait(20), 0)
        self.assertIsNone(run.poll(), "nothing has changed that the watch could have told")
        self.assertEqual(run.wait(60), 0)

    def test_results_of_another_version_are_refused(self):
        self.assertEqual(self.without(self.run_command(), stderr=subprocess.DEVNULL).wait(60), 0)
        journal = os.path.join(self.folder, "r", "journal.log")
        with open(journal, "ab") as file:
            file.write(b"\x40\x00\x00")            # of a record that is being written
        watch = self.on_terminal(self.watch())
        self.assertEqual(watch.ended(20), 0)
        self.assertIn("4 of 4 trials succeeded", "\n".join(watch.screen.everything()))
        for header, code in (b"\x02\x00\x01\x00\x00\x00\x00\x00", 2), (b"\xff\xff\xff\xff\xff\xff\xff\xff", 2):
            with open(journal, "r+b") as file:
                file.seek(8)
                file.write(header)
            watch = self.on_terminal(self.watch())
            self.assertEqual(watch.ended(20), code)
            self.assertIn("journal.log", "\n".join(watch.screen.everything()))


if __name__ == "__main__":
    OPTIONS = parse_options("retort")
    OPTIONS.retort = os.path.abspath(OPTIONS.retort)
    FOLDER = tempfile.mkdtemp(prefix="retort-terminal-")
    sys.exit(run_tests(FOLDER, at_once=6))
