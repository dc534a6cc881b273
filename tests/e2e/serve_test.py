"""`retort serve`: the report as a live page that whoever has the token may read, and nobody may change.

usage: serve_test.py --retort PROGRAM --source DIR [--worker SCRIPTED_WORKER] [--keep FOLDER]
With --keep the pictures of the page are left in that folder.
"""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
import browser  # noqa: E402
from sweep_run import PATIENCE, SMALL_DIGITS, parse_options, run_tests, wait_for  # noqa: E402

OPTIONS = None
FOLDER = None

NAPS = """
retort = 1
[trial]
method = "sleep"
steps = {steps}
seconds = {seconds}
[sweep]
name = "{name}"
seeds = [{seeds}]
"""

LEARNING = SMALL_DIGITS + """
method = "dpsgd"
steps = 200000
[sweep]
name = "learning"
seeds = [0]
"""


def path(*names):
    return os.path.join(FOLDER, *names)


def write(name, text):
    with open(path(name), "w", encoding="utf-8") as file:
        file.write(text)
    return path(name)


def retort(*arguments, **options):
    return subprocess.run([OPTIONS.retort, *arguments], cwd=FOLDER, capture_output=True, text=True, check=False, timeout=120,
                          **options)


def run_naps(name, seeds="0, 1", seconds="0.01", steps=1):
    write(name + ".toml", NAPS.format(name=name, steps=steps, seconds=seconds, seeds=seeds))
    ran = retort("run", name + ".toml", "--quiet")
    assert ran.returncode == 0, ran.stderr
    return "results/" + name


def tree(folder):
    """{name: what tells its state} of everything in a folder."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in folders + files:
            facts = os.stat(os.path.join(place, name))
            found[os.path.join(place, name)] = (facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino)
    return found


class Served:
    """A `retort serve` that runs. Use as a context; `url` has the token."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([OPTIONS.retort, "serve", *arguments, "--json"], cwd=FOLDER, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        text = ""
        while not text.rstrip().endswith("}"):
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(f"it ended: {text}{self.process.stderr.read()}")
            text += line
        self.said = json.loads(text)
        self.url = self.said["url"]
        parts = urllib.parse.urlsplit(self.url)
        self.host, self.port, self.token = parts.hostname, parts.port, urllib.parse.parse_qs(parts.query)["token"][0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.stdout.close()
            self.process.stderr.close()

    def ask(self, what, method="GET", token=None):
        """(status, headers, text)."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        token = self.token if token is None else token
        connection.request(method, what + (f"?token={token}" if token else ""))
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        return reply.status, dict(reply.getheaders()), text

    def follow(self):
        return Events(self)


class Events:
    """The stream of a page's changes."""

    def __init__(self, served):
        self.connection = http.client.HTTPConnection(served.host, served.port, timeout=PATIENCE)
        self.connection.request("GET", f"/events?token={served.token}")
        self.reply = self.connection.getresponse()
        assert self.reply.status == 200, self.reply.status
        self.parts = {}

    def next(self):
        """The next event as JSON; None at the end of the stream. `parts` has all parts of the page as of it."""
        lines, deadline = [], time.monotonic() + PATIENCE
        while True:
            line = self.reply.readline()
            if time.monotonic() > deadline:
                raise AssertionError(f"no event within {PATIENCE} s")
            if not line:
                return None
            if line.strip():
                lines.append(line.decode().rstrip("\n"))
                continue
            data = [one[len("data: "):] for one in lines if one.startswith("data: ")]
            lines = []
            if data:
                break
        event = json.loads(data[0])
        self.parts = {key: event["parts"].get(key, self.parts.get(key)) for key in event["order"]}
        return event

    def until(self, condition):
        """The first event for which it holds."""
        deadline = time.monotonic() + PATIENCE
        while (event := self.next()) is not None and time.monotonic() < deadline:
            if condition(event):
                return event
        raise AssertionError("no such event")

    def close(self):
        self.connection.close()


class ServeTest(unittest.TestCase):
    def test_the_page_says_what_the_report_says(self):
        folder = run_naps("said")
        with Served(folder) as served:
            self.assertEqual(served.said["results"], folder)
            self.assertEqual(served.host, "127.0.0.1")
            self.assertEqual(len(served.token), 32)
            events = served.follow()
            event = events.until(lambda e: e["report"] > 0)
            self.assertEqual(event["counts"], {"succeeded": 2})
            status, headers, page = served.ask("/")
            self.assertEqual(status, 200)
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertIn("<h1>Retort sweep said</h1>", page)
            self.assertIn("2 of 2 trials have ended, 2 succeeded", page)
            self.assertIn('id="trials"', page)
            for trial in json.loads(retort("list", "--results", folder, "--json").stdout)["trials"]:
                self.assertIn(trial["name"], page)
            told = json.loads(served.ask("/status.json")[2])
            self.assertEqual(told["counts"], json.loads(retort("status", "--results", folder, "--json").stdout)["counts"])
            events.close()

    def test_without_the_token_nothing_is_told(self):
        folder = run_naps("closed")
        with Served(folder) as served:
            for what in ("/", "/events", "/report", "/status.json", "/other"):
                for token in ("", "0" * 32, served.token[:-1], served.token + "0"):
                    status, _, text = served.ask(what, token=token)
                    self.assertEqual((status, "closed" in text), (403, False), (what, token))
            for method in ("POST", "PUT", "DELETE"):
                self.assertEqual(served.ask("/", method)[0], 405)
            self.assertEqual(served.ask("/")[0], 200)

    def test_a_run_in_another_process_is_seen(self):
        folder = run_naps("more", seeds="0")
        with Served(folder) as served:
            events = served.follow()
            events.until(lambda e: e["counts"] == {"succeeded": 1} and not e["running"] and e["report"] > 0)
            write("more.toml", NAPS.format(name="more", steps=20, seconds=4, seeds="0, 1"))
            with subprocess.Popen([OPTIONS.retort, "run", "more.toml", "--quiet"], cwd=FOLDER) as run:
                events.until(lambda e: e["running"] and e["counts"].get("running"))
                self.assertTrue(any(key.startswith("run-") for key in events.parts), events.parts.keys())
                event = events.until(lambda e: e["finished"] and not e["running"])
                self.assertEqual(run.wait(PATIENCE), 0)
            self.assertEqual(event["counts"], {"succeeded": 2})
            self.assertFalse(any(key.startswith("run-") for key in events.parts))
            events.until(lambda e: e["report"] > 1 or (e["finished"] and "All 2 trials" in served.ask("/report")[2]))
            events.close()

    def test_running_trials_have_curves(self):
        write("learning.toml", LEARNING.format(source=OPTIONS.source))
        with subprocess.Popen([OPTIONS.retort, "run", "learning.toml", "--quiet"], cwd=FOLDER) as run:
            try:
                wait_for(lambda: os.path.exists(path("results", "learning", "journal.log")), "the run begins")
                with Served("results/learning") as served:
                    events = served.follow()
                    events.until(lambda e: any(key.startswith("curves-") for key in e["parts"]))
                    curves = next(html for key, html in events.parts.items() if key.startswith("curves-"))
                    self.assertIn("<svg", curves)
                    self.assertIn("aria-label=", curves)
                    events.close()
            finally:
                run.send_signal(signal.SIGTERM)
                run.wait(PATIENCE)

    def test_nothing_is_written_into_the_folder(self):
        folder = run_naps("kept")
        before = tree(path(folder))
        with Served(folder) as served:
            events = served.follow()
            events.until(lambda e: e["report"] > 0)
            for what in ("/", "/report", "/status.json"):
                self.assertEqual(served.ask(what)[0], 200)
            events.close()
        self.assertEqual(tree(path(folder)), before)

    def test_a_folder_nobody_may_write_to_is_served(self):
        folder = run_naps("closed-off")
        shutil.copytree(path(folder), path("read-only"))
        subprocess.run(["chmod", "-R", "a-w", path("read-only")], check=True)
        with Served("read-only") as served:
            self.assertEqual(served.ask("/")[0], 200)
        subprocess.run(["chmod", "-R", "u+w", path("read-only")], check=True)

    def test_slow_readers_delay_nobody(self):
        folder = run_naps("slow", seeds="0")
        with Served(folder) as served:
            silent = [socket.create_connection((served.host, served.port)) for _ in range(4)]
            for one in silent[:2]:
                one.sendall(f"GET /events?token={served.token} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            silent[2].sendall(b"GET /")
            readers = [served.follow() for _ in range(12)]
            for reader in readers:
                reader.until(lambda e: e["counts"] == {"succeeded": 1})
            began = time.monotonic()
            write("slow.toml", NAPS.format(name="slow", steps=1, seconds=0.01, seeds="0, 1"))
            self.assertEqual(retort("run", "slow.toml", "--quiet").returncode, 0)
            threads = [threading.Thread(target=reader.until, args=(lambda e: e["counts"] == {"succeeded": 2},))
                       for reader in readers]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(PATIENCE)
            print(f"12 readers have the new row {time.monotonic() - began:.1f} s after the run began")
            for one in silent:
                one.close()
            for reader in readers:
                reader.close()

    def test_ctrl_c_ends_it_with_readers_there(self):
        folder = run_naps("ended")
        with Served(folder) as served:
            events = served.follow()
            self.assertIsNotNone(events.next())
            began = time.monotonic()
            served.process.send_signal(signal.SIGINT)
            self.assertEqual(served.process.wait(PATIENCE), 0)
            self.assertLess(time.monotonic() - began, 5)
            while events.next() is not None:
                pass
            self.assertEqual(served.process.stderr.read().count(served.token), 0)
            events.close()

    def test_the_address_is_printed_once(self):
        folder = run_naps("printed")
        with subprocess.Popen([OPTIONS.retort, "serve", folder], cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            line = process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=PATIENCE)
        self.assertRegex(line, r"^http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{32}\n$")
        self.assertEqual(out, "")
        self.assertNotIn("token=", err)
        self.assertIn("Ctrl-C ends it", err)

    def test_what_is_no_results_folder_is_refused(self):
        os.makedirs(path("empty"), exist_ok=True)
        for folder, words in (("empty", "holds no sweep"), ("nowhere", "holds no sweep")):
            ended = retort("serve", folder)
            self.assertEqual(ended.returncode, 3, ended.stderr)
            self.assertIn(words, ended.stderr)
        self.assertEqual(os.listdir(path("empty")), [])

    def test_a_port_in_use_is_said(self):
        folder = run_naps("port")
        with socket.create_server(("127.0.0.1", 0)) as other:
            ended = retort("serve", folder, "--port", str(other.getsockname()[1]))
        self.assertEqual(ended.returncode, 3, ended.stderr)
        self.assertIn("the port is in use", ended.stderr)

    def test_others_reach_it_only_when_that_is_asked_for(self):
        folder = run_naps("far")
        for address in ("0.0.0.0", "::"):
            ended = retort("serve", folder, "--address", address)
            self.assertEqual(ended.returncode, 2, ended.stderr)
            self.assertIn("--allow-remote", ended.stderr)
        ended = retort("serve", folder, "--address", "example.org", "--allow-remote")
        self.assertEqual(ended.returncode, 2, ended.stderr)
        self.assertIn("neither an IPv4 nor an IPv6 address", ended.stderr)
        with Served(folder, "--address", "0.0.0.0", "--allow-remote") as served:
            self.assertEqual(served.ask("/")[0], 200)
            self.assertEqual(served.ask("/", token="")[0], 403)

    def test_what_a_selection_hides_is_not_shown(self):
        head = SMALL_DIGITS.format(source=OPTIONS.source).replace("\nlr = 1\n", "\n")
        write("chosen.toml", head + 'steps = 60\nmethod = "dpsgd"\nreserve_block = 4\n[sweep]\nname = "chosen"\n'
              'grid.lr = [0.5, 1, 2, 4]\n[sweep.select]\ndistribution = "geometric"\nmean = 30\n')
        hidden = path("results", "chosen", "hidden", "run")
        environment = {**os.environ, "RETORT_WORKER": OPTIONS.worker} if OPTIONS.worker else None
        with subprocess.Popen([OPTIONS.retort, "run", "chosen.toml", "--quiet"], cwd=FOLDER, env=environment,
                              stderr=subprocess.DEVNULL) as run:
            try:
                wait_for(lambda: os.path.exists(os.path.join(hidden, "trials")) and os.listdir(os.path.join(hidden, "trials")),
                         "trials are drawn")
                drawn = os.listdir(os.path.join(hidden, "trials"))
                refused = retort("serve", hidden)
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn("private selection", refused.stderr)
                with Served("results/chosen") as served:
                    events = served.follow()
                    shown = json.dumps(events.next()) + served.ask("/")[2] + served.ask("/status.json")[2]
                    for trial in drawn:
                        self.assertNotIn(trial[-16:-8], shown)
                    events.close()
            finally:
                run.send_signal(signal.SIGKILL)
                run.wait(PATIENCE)


@unittest.skipUnless(browser.find_browser(), "this machine has no Chromium")
class BrowserTest(unittest.TestCase):
    def look(self, width):
        write("seen.toml", LEARNING.format(source=OPTIONS.source).replace('"learning"', f'"seen{width}"').replace(
            "seeds = [0]", 'seeds = [0, 1]'))
        results = f"results/seen{width}"
        with subprocess.Popen([OPTIONS.retort, "run", "seen.toml", "--quiet", "--slots", "2"], cwd=FOLDER) as run:
            try:
                wait_for(lambda: os.path.exists(path(results, "journal.log")), "the run begins")
                with Served(results) as served, browser.Browser(browser.find_browser()) as seen:
                    seen.open(served.url, width)
                    seen.wait_for("document.getElementById('link')?.dataset.state === 'live'")
                    seen.wait_for("document.querySelectorAll('#live svg').length >= 2")
                    seen.wait_for("!!document.getElementById('trials')")
                    self.assertLessEqual(seen.evaluate("document.documentElement.scrollWidth"), width)
                    before = seen.evaluate("document.querySelector('#live svg').ariaLabel")
                    seen.wait_for(f"document.querySelector('#live svg').ariaLabel !== {json.dumps(before)}")
                    if OPTIONS.keep:
                        seen.screenshot(os.path.join(OPTIONS.keep, f"serve-{width}.png"))
                        seen.screenshot(os.path.join(OPTIONS.keep, f"serve-{width}-whole.png"), whole=True)
                    for url in seen.asked_for():
                        self.assertTrue(url.startswith(("data:", f"http://127.0.0.1:{served.port}/")), url)
                    self.assertEqual(seen.complaints(), [])
                    served.process.send_signal(signal.SIGINT)
                    served.process.wait(PATIENCE)
                    seen.wait_for("document.getElementById('link').dataset.state === 'lost'")
            finally:
                run.send_signal(signal.SIGTERM)
                run.wait(PATIENCE)

    def test_a_phone_shows_it_live_without_scrolling_aside(self):
        self.look(390)

    def test_a_wide_screen_shows_it_live(self):
        self.look(1300)


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source", worker="", keep="")
    OPTIONS.source = os.path.abspath(OPTIONS.source)
    OPTIONS.retort = os.path.abspath(OPTIONS.retort)
    FOLDER = tempfile.mkdtemp(prefix="retort-serve-")
    os.environ["XDG_CACHE_HOME"] = path("cache")
    sys.exit(run_tests(FOLDER))
