"""run_docs.py on a scratch tree: what it runs, where, in which order, and what it says of blocks that fail or cannot run."""
import os
import subprocess
import sys
import tempfile
import time
import unittest

RUNNER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_docs.py")


def block(commands, info="sh"):
    return f"```{info}\n{commands}\n```\n"


class CommandsOfPages(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = os.path.join(scratch.name, "tree")
        self.programs = os.path.join(scratch.name, "bin")
        os.makedirs(os.path.join(self.root, "experiments"))
        os.makedirs(os.path.join(self.root, "results"))
        os.makedirs(self.programs)
        self.program = os.path.join(self.programs, "retort")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho the program \"$@\"\n")
        os.chmod(self.program, 0o755)

    def run_pages(self, pages, *options):
        for name, text in pages.items():
            with open(os.path.join(self.root, name), "w", encoding="utf-8") as file:
                file.write(text)
        run = subprocess.run([sys.executable, RUNNER, "--root", self.root, "--retort", self.program, *options],
                             capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    def test_blocks_run_in_order_in_one_folder(self):
        code, output = self.run_pages({
            "a.md": block("retort plan >first") + "<!-- sh\ncat first >second\n-->\n" +
                    block('test "$(cat second)" = "the program plan"\ntest -x build/release/bin/retort'),
            "b.md": block("test ! -e first && test ! -e results && test -d experiments")})
        self.assertEqual(code, 0, output)
        self.assertIn("4 blocks were run, 0 were not, 0 failed", output)

    def test_a_failing_command_fails_its_page(self):
        code, output = self.run_pages({"a.md": "x\n" + block("echo gone astray\nfalse\ntrue") + block("touch on"),
                                       "b.md": block("true")})
        self.assertEqual(code, 1, output)
        self.assertIn("a.md:2: ended with 1\n    gone astray", output)
        self.assertIn("b.md: ok", output)
        self.assertIn("2 blocks were run, 0 were not, 1 failed", output)

    def test_pipe_failures_and_unset_variables_fail(self):
        for commands in ("false | cat", 'echo "$UNSET_HERE"'):
            with self.subTest(commands):
                self.assertEqual(self.run_pages({"a.md": block(commands)})[0], 1)

    def test_a_slow_block_is_killed_with_its_children(self):
        marker = os.path.join(self.root, "alive")
        begun = time.monotonic()
        code, output = self.run_pages({"a.md": block(f"(sleep 3; touch {marker}) &\nsleep 60")}, "--limit", "1")
        self.assertLess(time.monotonic() - begun, 20)
        self.assertEqual(code, 1, output)
        self.assertIn("took more than 1.0 s", output)
        time.sleep(3)
        self.assertFalse(os.path.exists(marker))

    def test_a_terminated_runner_leaves_nothing_running(self):
        alive, begun = os.path.join(self.root, "alive"), os.path.join(self.root, "begun")
        with open(os.path.join(self.root, "a.md"), "w", encoding="utf-8") as file:
            file.write(block(f"touch {begun}\nsleep 3\ntouch {alive}"))
        runner = subprocess.Popen([sys.executable, RUNNER, "--root", self.root, "--retort", self.program],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not os.path.exists(begun) and runner.poll() is None:
            time.sleep(0.05)
        runner.terminate()
        self.assertEqual(runner.wait(20), 143)
        time.sleep(3.5)
        self.assertFalse(os.path.exists(alive))

    def test_unmet_needs_are_listed_named_ones_run(self):
        pages = {"a.md": block("true"), "b.md": block("false", "sh needs=long")}
        code, output = self.run_pages(pages)
        self.assertEqual(code, 0, output)
        self.assertIn("not run: b.md:1 needs long", output)
        code, output = self.run_pages(pages, "--needs", "long")
        self.assertEqual(code, 1, output)
        code, output = self.run_pages(pages, "--needs", "longer")
        self.assertEqual(code, 2, output)

    def test_blocks_of_other_languages_are_not_run(self):
        code, output = self.run_pages({"a.md": block("true") + block("false", "text")})
        self.assertEqual(code, 0, output)

    def test_shown_output_is_what_was_printed_but_for_gaps(self):
        page = block("retort plan   one\necho end") + block("program   plan\nend", "text shown")
        self.assertEqual(self.run_pages({"a.md": page})[0], 0)
        code, output = self.run_pages({"a.md": page + block("never", "text shown")})
        self.assertEqual(code, 1, output)
        self.assertIn("a.md:9: nothing printed: never", output)

    def test_nothing_is_run_is_a_failure(self):
        self.assertEqual(self.run_pages({"a.md": "no commands\n"})[0], 1)

    def test_the_callers_tree_and_home_are_unchanged(self):
        code, output = self.run_pages({"a.md": block(
            "echo x >experiments/new\necho x >~/new\ncase $HOME in *home) ;; *) exit 1 ;; esac")})
        self.assertEqual(code, 0, output)
        self.assertEqual(os.listdir(os.path.join(self.root, "experiments")), [])


if __name__ == "__main__":
    unittest.main()
