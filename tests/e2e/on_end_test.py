"""`retort run --on-end CMD` and `--on-stall CMD`: told once at each end of a sweep, also after a resume, and once a stall;
never in the way of it.

usage: on_end_test.py --retort PROGRAM --source DIR
"""
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import PATIENCE, SMALL_DIGITS, parse_options, run_tests, wait_for  # noqa: E402

OPTIONS = None
FOLDER = None

NAPS = """
retort = 1
[trial]
method = "sleep"
steps = {steps}
seconds = {seconds}
checkpoint_every = "0s"
[sweep]
name = "{name}"
seeds = [{seeds}]
"""
SELECTING = """
steps = 12
method = "dpsgd"
[sweep]
name = "selecting"
grid.lr = [0.5, 1]
[sweep.select]
distribution = "geometric"
mean = 4
"""
TELL = 'echo "$RETORT_SWEEP $RETORT_OUTCOME $RETORT_SUCCEEDED/$RETORT_TRIALS $RETORT_EXIT_CODE" >> "$RETORT_RESULTS.told"'


class OnEndTest(unittest.TestCase):
    def write(self, name, seeds="0, 1", seconds="0.01", steps=1):
        with open(os.path.join(FOLDER, name + ".toml"), "w", encoding="utf-8") as file:
            file.write(NAPS.format(name=name, seeds=seeds, seconds=seconds, steps=steps))
        return name + ".toml"

    def run_sweep(self, sweep, *words, on_end=TELL):
        return subprocess.run([OPTIONS.retort, "run", sweep, "--on-end", on_end, *words], cwd=FOLDER, capture_output=True,
                              text=True, check=False, timeout=120)

    def told(self, name):
        path = os.path.join(FOLDER, "results", name + ".told")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()

    def test_an_end_is_told_once(self):
        sweep = self.write("once")
        for _ in range(3):
            self.assertEqual(self.run_sweep(sweep).returncode, 0)
        self.assertEqual(self.told("once"), ["once succeeded 2/2 0"])
        self.assertEqual(subprocess.run([OPTIONS.retort, "verify", "--results", "results/once"], cwd=FOLDER, check=False,
                                        capture_output=True).returncode, 0)

    def test_a_resumed_sweep_is_told_when_it_has_ended(self):
        sweep = self.write("resumed", seeds="0", steps=40, seconds="3")
        with subprocess.Popen([OPTIONS.retort, "run", sweep, "--quiet", "--on-end", TELL], cwd=FOLDER) as run:
            wait_for(lambda: os.path.exists(os.path.join(FOLDER, "results", "resumed", "targets.json")), "it runs")
            run.send_signal(signal.SIGTERM)
            self.assertEqual(run.wait(PATIENCE), 75)
        self.assertEqual(self.told("resumed"), [])
        for _ in range(2):
            self.assertEqual(self.run_sweep(sweep).returncode, 0)
        self.assertEqual(self.told("resumed"), ["resumed succeeded 1/1 0"])

    def test_another_trial_makes_another_end(self):
        self.assertEqual(self.run_sweep(self.write("grown", seeds="0")).returncode, 0)
        self.assertEqual(self.run_sweep(self.write("grown", seeds="0, 1")).returncode, 0)
        self.assertEqual(self.told("grown"), ["grown succeeded 1/1 0", "grown succeeded 2/2 0"])

    def test_its_failure_changes_nothing(self):
        ended = self.run_sweep(self.write("failing"), "--json", on_end="echo words; exit 9")
        self.assertEqual(ended.returncode, 0)
        self.assertIn("--on-end failed: it ended with exit code 9", ended.stderr)
        self.assertEqual(json.loads(ended.stdout)["exit_code"], 0)
        self.assertIn("words", ended.stderr)

    def test_failed_trials_are_a_failed_sweep(self):
        sweep = self.write("cancelled", seeds="0, 1", steps=60, seconds="3")
        with subprocess.Popen([OPTIONS.retort, "run", sweep, "--quiet", "--on-end", TELL], cwd=FOLDER) as run:
            wait_for(lambda: os.path.exists(os.path.join(FOLDER, "results", "cancelled", "targets.json")), "it runs")
            done = subprocess.run([OPTIONS.retort, "cancel", "sleep-s1", "--results", "results/cancelled"], cwd=FOLDER,
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            code = run.wait(PATIENCE)
        self.assertEqual(self.told("cancelled"), [f"cancelled {'succeeded' if code == 0 else 'failed'} 1/2 {code}"])

    def test_a_sweep_file_with_errors_has_no_end(self):
        with open(os.path.join(FOLDER, "wrong.toml"), "w", encoding="utf-8") as file:
            file.write("retort = 1\nnothing = 2\n")
        ended = self.run_sweep("wrong.toml", on_end="touch told-of-nothing")
        self.assertEqual(ended.returncode, 2)
        self.assertFalse(os.path.exists(os.path.join(FOLDER, "told-of-nothing")))

    def stall(self, name, command, steps=1, seconds="4", after="1s"):
        return subprocess.run([OPTIONS.retort, "run", self.write(name, seeds="0", steps=steps, seconds=seconds), "--on-stall",
                               command, "--stall-after", after], cwd=FOLDER, capture_output=True, text=True, check=False,
                              timeout=120)

    def test_a_stall_is_told_once(self):
        tell = 'echo "$RETORT_OUTCOME $RETORT_TRIALS ($RETORT_EXIT_CODE): $RETORT_MESSAGE" >> "$RETORT_RESULTS.told"'
        ended = self.stall("stalled", tell)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        (line,) = self.told("stalled")
        self.assertRegex(line, r"^stalled 1 \(\): no trial has made a step for \d.* s: sleep-s0-\w{8} is at step 0 of \d+$")
        self.assertIn("no trial has made a step for", ended.stderr)
        self.assertNotIn("was killed", ended.stderr)

    def test_steps_that_go_on_are_no_stall(self):
        ended = self.stall("steady", 'touch "$RETORT_RESULTS.stalled"', steps=90, seconds="9", after="7s")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertFalse(os.path.exists(os.path.join(FOLDER, "results", "steady.stalled")))

    def test_a_stalls_command_is_never_in_the_way(self):
        began = time.monotonic()
        ended = self.stall("slowly", "echo words; sleep 100")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertLess(time.monotonic() - began, 60)
        self.assertIn("words", ended.stderr)
        self.assertIn("the command of --on-stall was killed, since the run has ended", ended.stderr)
        ended = self.stall("badly", "exit 9")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("the command of --on-stall failed: it ended with exit code 9", ended.stderr)

    @unittest.skipUnless(shutil.which("curl"), "no curl")
    def test_the_pages_webhook_posts_one_object(self):
        posted = []

        class Hook(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                posted.append((self.headers["Content-Type"], json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        with open(os.path.join(OPTIONS.source, "orchestrator/cli/HOWTO.md"), encoding="utf-8") as page:
            script = page.read().split("cat > tell.sh <<'END'\n")[1].split("END\n")[0]
        with open(os.path.join(FOLDER, "tell.sh"), "w", encoding="utf-8") as file:
            file.write(script)
        with http.server.HTTPServer(("127.0.0.1", 0), Hook) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            hook = f"HOOK=http://127.0.0.1:{server.server_port}/ sh tell.sh"
            sweep = self.write("hooked", seeds="0", seconds="4")
            ended = subprocess.run([OPTIONS.retort, "run", sweep, "--on-end", hook, "--on-stall", hook, "--stall-after", "1s"],
                                   cwd=FOLDER, capture_output=True, text=True, check=False, timeout=120)
            server.shutdown()
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual([kind for kind, _ in posted], ["application/json"] * 2)
        self.assertEqual([told["outcome"] for _, told in posted], ["stalled", "succeeded"])
        self.assertEqual([told["sweep"] for _, told in posted], ["hooked"] * 2)
        self.assertIn("no trial has made a step", posted[0][1]["message"])

    def test_a_selection_tells_of_no_stall(self):
        with open(os.path.join(FOLDER, "selecting.toml"), "w", encoding="utf-8") as file:
            file.write(SMALL_DIGITS.format(source=OPTIONS.source).replace("\nlr = 1\n", "\n") + SELECTING)
        ended = subprocess.run([OPTIONS.retort, "run", "selecting.toml", "--results", "selecting", "--on-stall", "true"],
                               cwd=FOLDER, capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("--on-stall: a selection tells nothing", ended.stderr)
        self.assertFalse(os.path.exists(os.path.join(FOLDER, "selecting")))

    def test_time_until_a_stall_needs_its_command(self):
        ended = subprocess.run([OPTIONS.retort, "run", self.write("alone"), "--stall-after", "1s"], cwd=FOLDER,
                               capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("--on-stall", ended.stderr)


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    OPTIONS.retort, OPTIONS.source = os.path.abspath(OPTIONS.retort), os.path.abspath(OPTIONS.source)
    FOLDER = tempfile.mkdtemp(prefix="retort-on-end-")
    os.environ["XDG_CACHE_HOME"] = os.path.join(FOLDER, "cache")
    sys.exit(run_tests(FOLDER, at_once=2))
