"""What another user of the same host can do to a sweep: hold its metrics port, pose as a member of its gangs, take its locks.
Where this is not run by root, the stranger is this user, from whom less can be kept.

usage: strangers_test.py --retort PROGRAM --source DIR
"""
import fcntl
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from stranger import Stranger, connect, hold, is_another_user, listeners, pose_as_members, say_too_much  # noqa: E402
from sweep_run import SMALL_DIGITS, SweepRun, parse_options, processes, run_tests, wait_for  # noqa: E402

OPTIONS = None
FOLDER = None
NAPS = """
retort = 1
[trial]
method = "sleep"
steps = 4
[sweep]
name = "naps"
seeds = [{seeds}]
grid.seconds = [{seconds}]
"""
GANGS = SMALL_DIGITS + """\
steps = 20
method = "dpsgd"
devices = 2
[sweep]
name = "gangs"
seeds = [0, 1, 2]
"""


class Run(SweepRun):
    def __init__(self, name, sweep, *words, limit=None, umask=0o022):
        self.retort = OPTIONS.retort
        self.results = os.path.join(FOLDER, name)
        self.log = self.results + ".log"
        path = self.results + ".toml"
        with open(path, "w", encoding="utf-8") as file:
            file.write(sweep)
        command = [OPTIONS.retort, "run", path, "--results", self.results, "--metrics-listen", "127.0.0.1:0", *words]
        if limit:
            command = ["bash", "-c", f'ulimit {limit}; exec "$@"', "bash", *command]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stderr=log, stdout=subprocess.DEVNULL, start_new_session=True, umask=umask,
                                            env={**os.environ, "XDG_CACHE_HOME": os.path.join(FOLDER, "cache")})

    def address(self):
        def named():
            if self.process.poll() is not None:
                raise AssertionError("the run ended early: " + self.text())
            try:
                with open(os.path.join(self.results, "targets.json"), encoding="utf-8") as file:
                    return [one for entry in json.load(file) for one in entry["targets"]]
            except FileNotFoundError:
                return []
        host, port = wait_for(named, self.text)[0].split(":")
        return host, int(port)


def scrape(address, seconds=5):
    with urllib.request.urlopen(f"http://{address[0]}:{address[1]}/metrics", timeout=seconds) as reply:
        return reply.read()


class Strangers(unittest.TestCase):
    def stranger(self, act):
        one = Stranger(act)
        self.addCleanup(one.end)
        return one

    def test_eleven_hundred_slow_connections_end_nothing(self):
        run = Run("flooded", NAPS.format(seeds=", ".join(map(str, range(24))), seconds=0.4), "--slots", "2", limit="-n 1024")
        address = run.address()
        for _ in range(4):
            self.stranger(hold(address, 280))
        seen = most_open = 0
        while run.process.poll() is None:
            try:
                most_open = max(most_open, len(os.listdir(f"/proc/{run.process.pid}/fd")))
                if is_another_user():
                    self.assertIn(b"retort_trials", scrape(address))
                    seen += 1
            except OSError:                     # unless it has just ended
                wait_for(lambda: run.process.poll() is not None, "its end", 5)
            time.sleep(0.2)
        self.assertEqual(run.end(), 0, run.text())
        self.assertLess(most_open, 64 + 64)
        if is_another_user():
            self.assertGreater(seen, 5)
        self.assertEqual({(t["state"], t["attempts"]) for t in run.trials()}, {("succeeded", 1)})

    def test_a_run_may_open_files_up_to_the_hard_limit(self):
        run = Run("limits", NAPS.format(seeds="0", seconds=20), limit="-S -n 50")
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        run.address()
        workers = wait_for(lambda: [pid for pid, (parent, name, _) in processes().items()
                                    if parent == run.process.pid and name.startswith("retort-")], run.text)
        for pid in [run.process.pid, *workers]:
            self.assertEqual(resource.prlimit(pid, resource.RLIMIT_NOFILE), (hard, hard))
        run.process.terminate()
        self.assertEqual(run.end(), 75, run.text())

    def test_who_speaks_slowly_is_cut_off(self):
        run = Run("slow", NAPS.format(seeds="0", seconds=40))
        address = run.address()
        begin, slow = time.monotonic(), connect(address)
        slow.settimeout(1)
        try:
            while time.monotonic() < begin + 30:
                slow.send(b"G")
                try:
                    if not slow.recv(4096):
                        break
                except TimeoutError:
                    pass
        except OSError:
            pass
        self.assertGreater(time.monotonic(), begin + 10)
        self.assertLess(time.monotonic(), begin + 25)
        slow.close()
        run.process.terminate()
        self.assertEqual(run.end(), 75, run.text())

    def test_requests_refused_at_the_end_crash_no_run(self):
        for i in range(4):
            run = Run(f"refused{i}", NAPS.format(seeds=", ".join(map(str, range(6))), seconds=0.2), "--slots", "2")
            address = run.address()
            strangers = [self.stranger(say_too_much(address)) for _ in range(3)]
            self.assertEqual(run.end(), 0, run.text())
            for stranger in strangers:
                stranger.end()

    def test_a_gang_lets_no_stranger_in(self):
        if not is_another_user():
            self.skipTest("only root can be somebody else")
        for rubbish in (b"", b"\xff" * 4096, None):
            self.stranger(pose_as_members(listeners(), rubbish))
        run = Run("gangs", GANGS.format(source=OPTIONS.source), "--slots", "2")
        self.assertEqual(run.end(120), 0, run.text())
        self.assertEqual([(t["state"], t["attempts"]) for t in run.trials()], [("succeeded", 1)] * 3, run.text())

    def test_nobody_else_can_hold_a_lock(self):
        run = Run("locks", NAPS.format(seeds="0", seconds=0.01), "--share")
        self.assertEqual(run.end(), 0, run.text())
        told = tempfile.TemporaryFile()

        def take(until):
            for folder, _, names in os.walk(run.results):
                for name in names:
                    path = os.path.join(folder, name)
                    if "lock" not in name:
                        continue
                    try:
                        held = os.open(path, os.O_RDONLY)
                        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        os.write(told.fileno(), path.encode() + b"\n")
                    except PermissionError:
                        os.write(told.fileno(), b".")
            os.write(told.fileno(), b"!")
            time.sleep(until - time.monotonic())
        if not is_another_user():
            self.skipTest("only root can be somebody else")
        os.chmod(FOLDER, 0o755)
        self.stranger(take)
        wait_for(lambda: os.pread(told.fileno(), 4096, 0).endswith(b"!"), "the stranger", 20)
        self.assertEqual(os.pread(told.fileno(), 4096, 0), b".!")
        self.assertEqual(Run("locks", NAPS.format(seeds="0, 1", seconds=0.01), "--share").end(), 0)


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    FOLDER = tempfile.mkdtemp(prefix="retort-strangers-")
    sys.exit(run_tests(FOLDER))
