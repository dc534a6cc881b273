#!/usr/bin/env python3
"""watch.sh as people start it: wrong calls, odd folder names, its exit status, protected sweeps, and a real sweep that it
scrapes."""
import glob
import http.server
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from expressions import need
from prometheus import Api, free_port
from sweep_run import all_tests_pass, parse_options, processes, wait_for

NAP = """
retort = 1
[trial]
method = "sleep"
steps = 1500
seconds = 60
[sweep]
name = "watched"
seeds = [0]
"""
USER, PASSWORD = "it's me", "pass: 'word\" #1\\"
WRONG_CALLS = [
    ((), "which results folder"), (("nowhere",), "no targets.json"), (("r", "r"), "one results folder"),
    (("--port",), "needs a number"), (("r", "--port", "0"), "--port 0"), (("r", "--port", "65536"), "--port 65536"),
    (("r", "--port", "99999999999999999999"), "--port 9"), (("r", "--port", "x"), "--port x"),
    (("r", "--interval", "0"), "--interval 0"), (("r", "--interval", "08"), "--interval 08"),
    (("r", "--interval", "-1"), "--interval -1"), (("r", "--no-such"), "--no-such"), (("r", "--auth"), "needs a file"),
    (("r", "--auth", "no-colon"), "user:password"),
]
ODD = ("res[1]", "it's \"so\"", "a*b?", "{x,y} $HOME", "-dash", "back\\slash")


def certificate(path):
    """A certificate for 127.0.0.1 and its key, in one file."""
    done = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                           "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "-", "-out", "-"],
                          capture_output=True, check=True)
    write(path, done.stdout.decode(), 0o600)
    return path


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(text)
    return path


class Page(http.server.BaseHTTPRequestHandler):
    """The endpoint of run 7; another run's page is not here."""

    def do_GET(self):
        here = "run=7" in self.path
        self.send_response(200 if here else 404)
        self.end_headers()
        self.wfile.write(b"retort_gangs 3\n" if here else b"")

    def log_message(self, *_):
        pass


class Watch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="watch_test.")
        self.scratch = os.path.join(self.folder, "scratch")
        os.mkdir(self.scratch)
        self.script = os.path.join(OPTIONS.source, "monitoring/watch.sh")
        self.addCleanup(shutil.rmtree, self.folder)
        self.addCleanup(lambda: self.assertEqual(os.listdir(self.scratch), [], "it leaves something behind"))

    def environment(self, **more):
        return {**os.environ, "TMPDIR": self.scratch, **more}

    def refused(self, *words, **environment):
        """(exit status, what it says) of a call that ends by itself."""
        done = subprocess.run([self.script, *words], cwd=self.folder, env=self.environment(**environment), timeout=60,
                              capture_output=True, text=True)
        self.assertEqual(os.listdir(self.scratch), [], "it leaves something behind")
        return done.returncode, done.stderr

    def results(self, name, *targets, **labels):
        """A results folder whose targets.json names these endpoints."""
        path = os.path.join(self.folder, name)
        os.mkdir(path)
        said = [{"targets": list(targets), "labels": {"sweep": "watched", **labels}}] if targets else []
        write(os.path.join(path, "targets.json"), json.dumps(said))
        return name

    def start(self, *words):
        """The script, and what asks the Prometheus that it runs."""
        port = free_port()
        watch = subprocess.Popen([self.script, *words, "--port", str(port), "--interval", "1"], cwd=self.folder,
                                 env=self.environment(), stdout=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(self.end, watch)
        return watch, Api(port)

    def end(self, watch, how=signal.SIGTERM):
        """Its exit status; no Prometheus of it is left."""
        if watch.poll() is None:
            watch.send_signal(how)
        code = watch.wait(60)
        self.assertFalse(self.prometheus_of(watch))
        return code

    def prometheus_of(self, watch):
        return [pid for pid, (parent, name, _) in processes().items() if parent == watch.pid and name == "prometheus"]

    def page(self, secure=None):
        """Address of a page that is served until the test ends."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
        if secure:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(secure)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return "127.0.0.1:%d" % server.server_address[1]

    def run_sweep(self, *words):
        """The results folder of a running sweep."""
        write(os.path.join(self.folder, "s.toml"), NAP)
        with open(os.path.join(self.folder, "said.txt"), "w", encoding="utf-8") as said:
            run = subprocess.Popen([OPTIONS.retort, "run", "s.toml", "--results", "res[1]", "--slots", "1", "--metrics-listen",
                                    "127.0.0.1:0", *words], cwd=self.folder, stderr=said)
        self.addCleanup(run.wait)
        self.addCleanup(run.terminate)
        targets = os.path.join(self.folder, "res[1]/targets.json")
        wait_for(lambda: run.poll() is not None or os.path.exists(targets), "targets.json of the sweep")
        with open(said.name, encoding="utf-8") as file:
            self.assertIsNone(run.poll(), file.read())
        return "res[1]"

    def test_wrong_calls_are_refused_and_named(self):
        self.results("r")
        write(os.path.join(self.folder, "empty"), "")
        write(os.path.join(self.folder, "no-colon"), "word\n")
        for words, part in WRONG_CALLS:
            code, said = self.refused(*words)
            self.assertEqual(code, 2, said)
            self.assertIn(part, said)
        for words, part in ((("r", "--auth", "absent"), "--auth absent"), (("r", "--auth", "empty"), "empty"),
                            (("r", "--ca", "absent"), "--ca absent")):
            code, said = self.refused(*words)
            self.assertEqual(code, 3, said)
            self.assertIn(part, said)

    def test_a_port_that_is_taken_is_refused(self):
        port = self.page().rsplit(":", 1)[1]
        code, said = self.refused(self.results("r"), "--port", port)
        self.assertEqual(code, 3, said)
        self.assertIn(f"port {port} is taken", said)

    def test_a_prometheus_that_fails_is_a_failure(self):
        programs = os.path.join(self.folder, "programs")
        os.mkdir(programs)
        write(os.path.join(programs, "prometheus"), "#!/bin/sh\nexit 7\n", 0o755)
        code, said = self.refused(self.results("r"), PATH=programs + os.pathsep + os.environ["PATH"])
        self.assertEqual(code, 7, said)
        self.assertIn("ended by itself", said)

    def test_a_prometheus_that_is_killed_is_a_failure(self):
        watch, api = self.start(self.results("r"))
        wait_for(lambda: api.ask("targets"), "Prometheus")
        os.kill(self.prometheus_of(watch)[0], signal.SIGKILL)
        self.assertEqual(watch.wait(60), 128 + signal.SIGKILL)
        self.end(watch)

    def test_every_signal_ends_it_well(self):
        results = self.results("r")
        watches = [(number, *self.start(results)) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
        for number, watch, api in watches:
            wait_for(lambda api=api: api.ask("targets"), "Prometheus")
            self.assertEqual(self.end(watch, number), 0, number)

    def test_folders_with_odd_names_give_their_targets(self):
        address = self.page()
        apis = [(name, self.start("./" + self.results(name, address, __param_run="7"))[1]) for name in ODD]
        for name, api in apis:
            up = wait_for(lambda api=api: api.values('up{job="retort", sweep="watched"}'), f"a target from {name}")
            self.assertEqual([series["value"][1] for series in up], ["1"], name)

    def test_the_page_of_another_run_is_not_taken(self):
        watch, api = self.start(self.results("r", self.page(), __param_run="8"))
        up = wait_for(lambda: api.values("up"), "a scrape")
        self.assertEqual(up[0]["value"][1], "0")
        self.assertFalse(api.values("retort_gangs"))

    def test_a_page_behind_tls_is_trusted_by_certificate(self):
        secure = certificate(os.path.join(self.folder, "page.pem"))
        results = self.results("r", self.page(secure), __param_run="7", __scheme__="https")
        _, api = self.start(results, "--ca", secure)
        _, blind = self.start(results)
        wait_for(lambda: api.values("retort_gangs == 3"), "a scrape")
        self.assertEqual(wait_for(lambda: blind.values("up"), "a scrape")[0]["value"][1], "0")

    def test_a_running_sweep_is_scraped_with_rules(self):
        _, api = self.start(self.run_sweep())
        wait_for(lambda: api.values('retort_trials{sweep="watched", state="running"} == 1'), "the sweep's trial")
        wait_for(lambda: api.values('sweep:retort_trials_left:sum{sweep="watched"} == 1'), "a recording rule")
        self.assertGreater(len(api.ask("rules", type="alert")["groups"][0]["rules"]), 10)

    def test_a_sweep_that_asks_for_a_password_is_scraped(self):
        auth = write(os.path.join(self.folder, "auth"), f"{USER}:{PASSWORD}\nanother line\n", 0o600)
        results = self.run_sweep("--metrics-auth", auth)
        _, api = self.start(results, "--auth", auth)
        _, stranger = self.start(results)
        wait_for(lambda: api.values('up{sweep="watched"} == 1'), "a scrape")
        wait_for(lambda: stranger.values('up{sweep="watched"} == 0'), "a scrape that is refused")
        self.assertEqual([line for _, _, line in processes().values() if PASSWORD in line], [])
        written = glob.glob(self.scratch + "/*/prometheus.yml")
        self.assertEqual([os.stat(path).st_mode & 0o777 for path in written], [0o600, 0o600])
        with open(max(written, key=os.path.getsize), encoding="utf-8") as file:
            self.assertIn("#1", file.read(), "it is there, and nowhere else")

    def test_a_sweep_with_certificate_is_scraped(self):
        auth = write(os.path.join(self.folder, "auth"), f"{USER}:{PASSWORD}\n", 0o600)
        secure = certificate(os.path.join(self.folder, "sweep.pem"))
        _, api = self.start(self.run_sweep("--metrics-auth", auth, "--metrics-tls", secure), "--auth", auth, "--ca", secure)
        wait_for(lambda: api.values('up{sweep="watched"} == 1'), "a scrape")


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    need("prometheus")
    need("openssl")
    sys.exit(0 if all_tests_pass(at_once=4) else 1)
